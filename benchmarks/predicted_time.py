"""Predicted and real time: twelve images of 0.01 to 24 megapixels, grey and RGB, with noise of sigma 1 to 50.

The images are made from one photograph by mirroring. Each is planned and denoised by "auto" with its noise level told;
those above two megapixels with "fast". A prediction is right within a factor of 1.5. The second part denoises 50 small
files by the command line, one after the other and on all cores, and compares time and bytes.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.scale import LUMINANCE, photograph
from epitomes import plan
from epitomes.formats import write

# megapixels, channels and sigma
CASES = (
    (0.01, 1, 10.0),
    (0.01, 3, 25.0),
    (0.05, 1, 1.0),
    (0.1, 3, 5.0),
    (0.25, 1, 50.0),
    (0.3, 3, 20.0),
    (1.0, 1, 10.0),
    (1.0, 3, 2.0),
    (2.0, 1, 1.0),
    (6.0, 1, 50.0),
    (12.0, 3, 25.0),
    (24.0, 1, 15.0),
)
QUICK = 4  # cases
LARGE = 2.0  # megapixels, above which "auto" would take very long
FACTOR = 1.5
FILES, SIDE = 50, 96


@dataclass(frozen=True)
class Prediction:
    """One image."""

    megapixels: float
    channels: int
    sigma: float
    method: str
    planning: float  # seconds
    predicted: float
    real: float
    ratio: float
    right: bool


@dataclass(frozen=True)
class Batch:
    """Many small files."""

    files: int
    one_by_one: float  # seconds
    at_once: float
    ratio: float
    same_bytes: bool


def run(options: Options) -> Iterator[Prediction | Batch]:
    """Yield a row for each image, and one for the files."""
    _, colour, _ = photograph(options.images)
    for megapixels, channels, sigma in CASES[:QUICK] if options.quick else CASES:
        yield predicted(colour, megapixels, channels, sigma, options.threads)
    yield batch(colour, 8 if options.quick else FILES)


def predicted(colour: NDArray[np.float32], megapixels: float, channels: int, sigma: float, threads: int) -> Prediction:
    """Plan and denoise one image."""
    high = round(np.sqrt(megapixels * 1e6 * 3 / 4))
    wide = round(megapixels * 1e6 / high)
    clean = mirrored(colour if channels == 3 else (colour @ LUMINANCE).astype(np.float32), high, wide)
    noisy = clean + np.random.default_rng(0).normal(0, sigma, clean.shape).astype(np.float32)
    axis = -1 if channels == 3 else None
    began = time.perf_counter()
    made = plan(noisy, sigma, channel_axis=axis, preset="fast" if megapixels > LARGE else "auto", threads=threads)
    planning = time.perf_counter() - began
    real = made.run(noisy, threads=threads).seconds
    assert made.seconds is not None
    ratio = made.seconds / real
    return Prediction(
        megapixels, channels, sigma, made.method.label, planning, made.seconds, real, ratio, 1 / FACTOR < ratio < FACTOR
    )


def mirrored(image: NDArray[np.float32], high: int, wide: int) -> NDArray[np.float32]:
    """An image of another size: a part of this one, or this one with its mirror images beside it."""
    beyond = [(0, max(0, want - have)) for want, have in zip((high, wide), image.shape, strict=False)]
    return np.pad(image, [*beyond, (0, 0)][: image.ndim], mode="symmetric")[:high, :wide]


def batch(colour: NDArray[np.float32], n: int) -> Batch:
    """Denoise small files by two commands."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(n):
            top, left = (int(rng.integers(0, side - SIDE)) for side in colour.shape[:2])
            part = (colour @ LUMINANCE)[top : top + SIDE, left : left + SIDE] + rng.normal(0, 15, (SIDE, SIDE))
            write(folder / f"{number:02d}.png", np.clip(np.rint(part), 0, 255).astype(np.uint8))
        seconds = []
        for goal, threads in (("one", 1), ("all", os.cpu_count() or 1)):
            words = ["denoise", *map(str, sorted(folder.glob("*.png"))), "-o", str(folder / goal)]
            environment = os.environ | {"EPITOMES_NUM_THREADS": str(threads)}
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "epitomes", *words], check=True, capture_output=True, env=environment)
            seconds.append(time.perf_counter() - began)
        names = [path.name for path in (folder / "one").iterdir()]
        same = len(names) == n and filecmp.cmpfiles(folder / "one", folder / "all", names, shallow=False)[0] == names
        return Batch(n, seconds[0], seconds[1], seconds[0] / seconds[1], bool(same))
