"""Pictures to restore, and how well that was done."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from epitomes import kernels, read
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration import Estimate

Doubles = NDArray[np.float64]

whole_methods = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole images")


def psnr(clean: ArrayLike, image: ArrayLike) -> float:
    """Peak signal-to-noise ratio in dB, for a peak of 255."""
    error = np.asarray(image, np.float64) - np.asarray(clean, np.float64)
    return 20 * math.log10(255) - 10 * math.log10(float(np.mean(error**2)))


def white_noise(shape: tuple[int, ...], seed: int = 0) -> Doubles:
    return np.random.default_rng(seed).standard_normal(shape)


def with_noise(clean: NDArray[Any], sigma: float, seed: int = 0) -> Doubles:
    return np.asarray(clean + sigma * white_noise(clean.shape, seed), np.float64)


@functools.cache
def shipped_picture() -> Doubles:
    """The picture inside the library, 256 x 256."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path:
        return np.asarray(read(path).pixels, np.float64)


def grey(name: str, side: int = 80) -> Doubles:
    """A piece of a picture inside scikit-image."""
    data = pytest.importorskip("skimage.data")
    top, left = {"camera": (150, 150), "coins": (50, 50)}[name]
    return np.asarray(getattr(data, name)()[top : top + side, left : left + side], np.float64)


def colours(side: int = 64) -> Doubles:
    """A piece of a face, from scikit-image."""
    data = pytest.importorskip("skimage.data")
    return np.asarray(data.astronaut()[20 : 20 + side, 180 : 180 + side], np.float64)


@dataclass(frozen=True)
class MeanOnly:
    """A method of somebody else: every plane becomes its mean."""

    label: str = "mean"

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        return 2

    def run(self, image: Any, sigma: float, *, channels: bool = False, **_: Any) -> Estimate:
        return Estimate(np.full(image.shape, image.mean()), natural(windows((42, 42), (8, 8))), None, 0.0)


class Progress:
    """A callback that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    def __call__(self, fraction: float, stage: str) -> None:
        self.told.append((fraction, stage))

    @property
    def fractions(self) -> list[float]:
        return [fraction for fraction, _ in self.told]

    @property
    def stages(self) -> list[str]:
        return [stage for _, stage in self.told]
