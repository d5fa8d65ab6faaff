"""The door of this package: images come in as float64 planes, and their scale is set aside."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import as_floats

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plane:
    """A grey image, `scale * pixels + middle`. Whatever its units, the pixels have mean 0 and deviation 1."""

    pixels: Floats
    middle: float
    scale: float  # 0: the image is constant


def planes(image: ArrayLike, channel_axis: int | None, *, least: int) -> list[Plane]:
    """The one plane of a grey image, or each channel; at least `least` pixels along both axes."""
    pixels = as_floats("image", image, dtype=np.float64)
    if channel_axis is None:
        if pixels.ndim != 2:
            raise ValueError(
                f"image needs 2 axes, got shape {pixels.shape}: name the colour axis, for example channel_axis=-1, or "
                "give one plane at a time"
            )
        found = pixels[None]
    else:
        if pixels.ndim != 3 or not -3 <= channel_axis < 3:
            raise ValueError(
                f"image needs 3 axes, channel_axis being one of them, got shape {pixels.shape} and "
                f"channel_axis={channel_axis}"
            )
        found = np.moveaxis(pixels, channel_axis, 0)
    if min(found.shape[1:]) < least:
        raise ValueError(f"image needs at least {least} pixels along both axes, got planes of shape {found.shape[1:]}")
    return [standard(np.asarray(plane, np.float64)) for plane in found]


def standard(plane: Floats) -> Plane:
    """The plane without its scale. A power of two goes first: it costs no bits, and squares stay finite."""
    exponent = math.frexp(float(np.abs(plane).max()))[1]
    small = np.ldexp(plane, -exponent)
    middle, scale = float(small.mean()), float(small.std())
    if small.max() == small.min():
        return Plane(np.zeros_like(plane), float(plane.flat[0]), 0.0)
    return Plane((small - middle) / scale, math.ldexp(middle, exponent), math.ldexp(scale, exponent))
