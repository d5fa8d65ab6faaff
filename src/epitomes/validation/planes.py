"""What all measures share: checked arrays, noise levels per pixel, planes `(H, W, C)`, and smoothing along them."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import as_floats
from epitomes.layout import Layout
from epitomes.noise.model import Noise
from epitomes.noise.parameters import as_parameter

Floats = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)

CLIPPED = 1e-3  # share of equal pixels at one end of the range from which the image counts as clipped there
REACH = 2.5  # standard deviations; farther from an end, noise is hardly ever clipped
LEAST_SIDE = 16  # pixels, so that local means have enough to average


def doubles(name: str, value: ArrayLike) -> Floats:
    """`value` as finite float64 numbers, in which everything is computed here."""
    return np.asarray(as_floats(name, value, dtype=np.float64), np.float64)


def as_noise(noise: Noise | ArrayLike) -> Noise:
    """The noise model: `noise` itself, or Gaussian noise of that standard deviation."""
    return noise if isinstance(noise, Noise) else Noise(sigma=as_parameter("noise", noise, zero=False))


def levels(noise: Noise, means: Floats, layout: Layout | None = None) -> Floats:
    """The standard deviation of white noise at every pixel of an image with these means."""
    if not noise.is_white:
        if noise.spectrum is None:
            raise ValueError("the noise is correlated, and white noise is needed: judge the result with audit")
        raise ValueError("the noise has a spectrum, and white noise is needed: whiten both images with noise.stabilise")
    return deviations(noise, means, layout)


def deviations(noise: Noise, means: Floats, layout: Layout | None = None) -> Floats:
    """The standard deviation of the noise at every pixel of an image with these means, white or not."""
    found = noise.std(means, layout)
    if not (found > 0).all():
        raise ValueError("the noise level is 0 at some pixels: give a positive level everywhere")
    return found


def same_shape(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """`value` as float64 numbers of exactly `shape`, the shape of the noisy image."""
    found = doubles(name, value)
    if found.shape != shape:
        raise ValueError(f"{name} needs the shape of noisy, {shape}, got {found.shape}")
    return found


def unclipped(noisy: Floats, restored: Floats, sigma: Floats, reach: float = REACH) -> NDArray[np.bool_]:
    """Pixels whose noise is not clipped: far from the ends of the range, if the image is clipped there.

    An end that one pixel in a thousand has is not there by chance: 8-bit files end at 0 and 255, masks are constant.
    """
    trusted = np.ones(noisy.shape, bool)
    for end in (noisy.min(), noisy.max()):
        if np.count_nonzero(noisy == end) > max(2.0, CLIPPED * noisy.size):
            trusted &= np.abs(restored - end) > reach * sigma
    return trusted if trusted.mean() >= CLIPPED else np.ones(noisy.shape, bool)  # nothing else is left


def plane_layout(shape: tuple[int, ...], channel_axis: int | None, spatial: int | None) -> Layout:
    """The array as a stack of planes: the first axis of volumes counts planes."""
    layout = Layout.of(shape, channel_axis, spatial)
    if layout.spatial == 1:
        raise ValueError(f"images or volumes are needed, got signals: shape {shape} with one spatial axis")
    planes = Layout.of(shape, channel_axis, 2)
    if min(sides := planes.picture_shape[:2]) < LEAST_SIDE:
        hint = ": if the last axis holds colours, pass channel_axis=-1" if sides[1] <= 4 else ""
        raise ValueError(f"planes need at least {LEAST_SIDE} pixels along both axes, got {sides}{hint}")
    return planes


def as_plane(image: NDArray[Number], layout: Layout) -> NDArray[Number]:
    """The image as `(H, W, C)`; the planes of stacks and volumes are taken for channels."""
    canonical = layout.canonical(image)
    stacked = len(layout.stack_shape)
    return np.moveaxis(canonical, (stacked, stacked + 1), (0, 1)).reshape(*layout.picture_shape[:2], -1)


def from_plane(plane: Floats, layout: Layout) -> Floats:
    """The inverse of `as_plane`."""
    sides, channels = layout.picture_shape[:2], layout.picture_shape[2:]
    stacked = len(layout.stack_shape)
    whole = plane.reshape(*sides, *layout.stack_shape, *channels)
    return np.ascontiguousarray(layout.original(np.moveaxis(whole, (0, 1), (stacked, stacked + 1))))


def smooth(plane: Floats, width: float) -> Floats:
    """A Gaussian mean of standard deviation `width` along the two sides of a plane, mirrored at its borders."""
    out: Floats = gaussian_filter(plane, (width, width, 0.0)[: plane.ndim], mode="reflect")
    return out


def pixels_in(width: float) -> float:
    """How many pixels a Gaussian mean averages: the variance of white noise falls by this factor."""
    return 4 * math.pi * width**2


def detail(plane: Floats, width: float) -> Floats:
    """The local energy of detail finer than `width` pixels."""
    return smooth((plane - smooth(plane, width)) ** 2, width)
