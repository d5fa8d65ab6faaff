"""Planes: grey float64 images of mean 0 and standard deviation 1, in which all estimation is done."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_PLANES = 32  # of a volume or stack that are measured, where a sample is enough


@dataclass(frozen=True, eq=False)
class Plane:
    """A grey image, `scale * pixels + mean`. Whatever its units, the pixels have mean 0 and standard deviation 1."""

    pixels: Floats
    mean: float
    scale: float  # 0: the image is constant


def standardise(image: ArrayLike) -> Plane:
    """The plane of a grey image. It is divided by a power of two first: that is exact, and squares stay finite."""
    image = np.ascontiguousarray(image, np.float64)
    exponent = math.frexp(float(np.abs(image).max()))[1]
    small = np.ldexp(image, -exponent)
    mean, scale = float(small.mean()), float(small.std())
    if small.max() == small.min():
        return Plane(np.zeros_like(image), float(image.flat[0]), 0.0)
    return Plane((small - mean) / scale, math.ldexp(mean, exponent), math.ldexp(scale, exponent))


def require_side(shape: tuple[int, ...], least: int) -> None:
    """Refuse planes of `shape` that are shorter than `least` along one of their two axes."""
    if min(shape) < least:
        hint = "if the last axis holds colours, pass channel_axis=-1" if 1 < shape[1] <= 4 else "give the noise level"
        raise ValueError(f"image needs at least {least} pixels along both axes, got planes of shape {shape}: {hint}")


def evenly_spaced(n: int, most: int) -> list[int]:
    """Up to `most` of n numbers from 0, evenly spaced, with the first and the last."""
    count = min(n, most)
    return sorted({round(each * (n - 1) / max(1, count - 1)) for each in range(count)})
