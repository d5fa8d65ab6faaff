"""Stored images to denoise, and what they become in one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from restoration_cases import shipped_picture, with_noise

from epitomes import Noise, write
from epitomes.epitome import Epitome
from epitomes.formats import Picture, read
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import Method, Plan

SIGMA = 20.0


def grey(height: int = 150, width: int = 170) -> NDArray[np.uint16]:
    """A noisy image of 16 bits; the noise has level 200."""
    clean = np.tile(shipped_picture(), (2 + height // 256, 2 + width // 256))[30 : 30 + height, 40 : 40 + width]
    return np.asarray(np.clip(np.rint(10 * with_noise(clean, SIGMA) + 300), 0, 65535), np.uint16)


def volume() -> NDArray[np.float32]:
    """Planes that move."""
    planes = [np.roll(shipped_picture()[:44, :40], k, axis=1) for k in range(12)]
    return np.asarray(with_noise(np.stack(planes), SIGMA), np.float32)


def flat_epitome() -> Epitome:
    return natural(windows((20, 15, 15), (8, 8)))


def deep_epitome() -> Epitome:
    return smooth_noise(windows((4, 7, 7, 7), (4, 4, 4)))


def stored(folder: Path, pixels: NDArray[Any], axes: str = "") -> Path:
    path = folder / "noisy.zarr"
    write(path, Picture(pixels, axes))
    return path


def untiled(path: Path, method: Method, noise: Noise) -> NDArray[Any]:
    """The image in one piece, by the road that all images take."""
    picture = read(path)
    return Plan(method=method, noise=noise, layout=picture.layout).run(picture.pixels, threads=1).image
