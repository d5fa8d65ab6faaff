"""Planes: the layout `(H, W, C)` that every local measure works on, the noise level of each pixel, and smoothing."""

from __future__ import annotations

import math
import operator
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import as_floats

Floats = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)

CLIPPED = 1e-3  # share of equal pixels at one end of the range that are too many for noise
REACH = 2.5  # standard deviations: farther from an end, noise is hardly ever cut off
LEAST_SIDE = 16  # pixels: below, a local mean has nothing to average


def doubles(name: str, value: ArrayLike) -> Floats:
    """`value` as finite float64 numbers, in which all that is measured here is computed."""
    return np.asarray(as_floats(name, value, dtype=np.float64), np.float64)


def levels(sigma: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """The noise level of every pixel: `sigma` is one number, or anything that broadcasts to the image."""
    given = doubles("sigma", sigma)
    if not (given > 0).all():
        raise ValueError(f"sigma must be above 0 everywhere, got {given.min():g} as its least value")
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(
            f"sigma must be one number or broadcast to the image of shape {shape}, got shape {given.shape}"
        ) from None


def same_shape(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """`value` as float64 numbers of exactly `shape`, the shape of the noisy image."""
    found = doubles(name, value)
    if found.shape != shape:
        raise ValueError(f"{name} needs the shape of noisy, {shape}, got {found.shape}")
    return found


def unclipped(noisy: Floats, restored: Floats, sigma: Floats) -> NDArray[np.bool_]:
    """Pixels far enough from the ends of the range, if noise was cut off there; elsewhere noise is not what sigma says.

    An end at which one pixel in a thousand lies is no accident: 8-bit files end at 0 and 255, and masks are constant.
    """
    trusted = np.ones(noisy.shape, bool)
    for end in (noisy.min(), noisy.max()):
        if np.count_nonzero(noisy == end) > max(2.0, CLIPPED * noisy.size):
            trusted &= np.abs(restored - end) > REACH * sigma
    return trusted if trusted.mean() >= CLIPPED else np.ones(noisy.shape, bool)  # nothing else to go by


def channels_of(shape: tuple[int, ...], channel_axis: int | None) -> int | None:
    """The axis of the channels, None for a grey plane. A last axis of three or four is taken for colour."""
    if channel_axis is None:
        axis = 2 if len(shape) == 3 and shape[2] in (3, 4) else None
    else:
        axis = operator.index(channel_axis)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"channel_axis {axis} is outside the axes of an image of shape {shape}")
        axis %= len(shape)
    sides = shape if axis is None else shape[:axis] + shape[axis + 1 :]
    if len(sides) != 2:
        raise ValueError(
            f"noisy must be one plane, (H, W) or (H, W, C), got shape {shape}: give one plane at a time, or name the "
            "axis of its channels with channel_axis"
        )
    if min(sides) < LEAST_SIDE:
        raise ValueError(f"noisy needs sides of at least {LEAST_SIDE} pixels to be judged, got shape {shape}")
    return axis


def as_plane(image: NDArray[Number], axis: int | None) -> NDArray[Number]:
    """The image as `(H, W, C)`."""
    return image[..., None] if axis is None else np.moveaxis(image, axis, -1)


def from_plane(plane: Floats, axis: int | None) -> Floats:
    """A plane `(H, W, C)` in the layout of the image again."""
    return plane[..., 0] if axis is None else np.ascontiguousarray(np.moveaxis(plane, -1, axis))


def smooth(plane: Floats, width: float) -> Floats:
    """A Gaussian mean of standard deviation `width` along the two sides of a plane, mirrored at its borders."""
    out: Floats = gaussian_filter(plane, (width, width, 0.0)[: plane.ndim], mode="reflect")
    return out


def pixels_in(width: float) -> float:
    """How many pixels a Gaussian mean averages: the variance of white noise falls by this factor."""
    return 4 * math.pi * width**2


def detail(plane: Floats, width: float) -> Floats:
    """The local energy of what is finer than `width` pixels."""
    return smooth((plane - smooth(plane, width)) ** 2, width)
