"""Pairs of a noisy and a clean image. In a folder, these are the files NAME_real.* and NAME_mean.*."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pictures import SUFFIXES, middle

NOISY, CLEAN = "_real", "_mean"  # ends of the names, before the suffix

Image = NDArray[Any]  # (H, W) or (H, W, 3), 0 to 255


@dataclass(frozen=True, eq=False)
class Pair:
    """A noisy image and its truth."""

    name: str
    noisy: Image  # uint8 or float32
    clean: Image

    @property
    def noise(self) -> NDArray[np.float64]:
        """What was added to the clean image."""
        return self.noisy.astype(np.float64) - self.clean

    @property
    def rms(self) -> float:
        """Root mean square of the noise."""
        return float(np.sqrt(np.mean(self.noise**2)))

    @property
    def channel_axis(self) -> int | None:
        """Axis of the colours, if there are any."""
        return -1 if self.noisy.ndim == 3 else None

    def cropped(self, rows: slice, columns: slice) -> Pair:
        """Cut the same part of both."""
        return Pair(self.name, *(np.ascontiguousarray(image[rows, columns]) for image in (self.noisy, self.clean)))

    def middle(self, width: int) -> Pair:
        """Cut the same square from the middle of both."""
        return Pair(self.name, middle(self.noisy, width), middle(self.clean, width))


def read_pairs(folder: Path) -> list[Pair]:
    """Read all pairs of a folder, by name."""
    files = {file.stem: file for file in sorted(folder.glob("*")) if file.suffix.lower() in SUFFIXES}
    names = [stem.removesuffix(NOISY) for stem in files if stem.endswith(NOISY)]
    if lonely := [name for name in names if name + CLEAN not in files]:
        raise SystemExit(f"{folder} holds {lonely[0]}{NOISY} without {lonely[0]}{CLEAN}: add it, or remove the other")
    return [Pair(name, read_image(files[name + NOISY]), read_image(files[name + CLEAN])) for name in names]


def read_image(file: Path) -> NDArray[np.uint8]:
    """Read an 8-bit image, grey or in colour."""
    from PIL import Image as Pillow

    with Pillow.open(file, formats=["PNG", "JPEG"]) as image:
        return np.asarray(image if image.mode == "L" else image.convert("RGB"))
