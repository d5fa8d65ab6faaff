"""Noise whose level is known but differs: from place to place, channel to channel, or frame to frame.

Dividing by the levels makes the noise even, and whatever was denoised is multiplied back:

    even = stabilised(image, sigma_map)
    clean = even.back(denoise(even.image, even.sigma).image)

The picture is divided, too. A map that changes slowly does no harm; at a sharp edge of the map the picture gets an
edge, which the way back removes, at some loss beside it. A map that is wrong by a tenth is noise that is wrong by a
tenth. For noise that follows brightness take `anscombe`: it needs no map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats
from epitomes.noise.door import Floats


@dataclass(frozen=True, eq=False)
class Stabilised:
    """An image with even noise, and the way back."""

    image: Array  # of float32 for float32 and short integers, else float64
    sigma: float  # of its noise: the root mean square of the levels, so that the units stay
    levels: Floats  # of the noise before; of the shape of the image, or broadcast against it

    def back(self, image: ArrayLike) -> Array:
        """`image`, which is even, for example denoised, with its own levels again."""
        pixels = as_floats("image", image)
        if pixels.shape != self.image.shape:
            raise ValueError(f"image needs shape {self.image.shape}, as the stabilised one, got {pixels.shape}")
        return np.asarray(pixels * (self.levels / self.sigma), pixels.dtype)


def stabilised(image: ArrayLike, sigma_map: ArrayLike, *, axis: int | None = None) -> Stabilised:
    """Even out noise of standard deviation `sigma_map`, of the shape of the image or one number per place on `axis`.

    `stabilised(rgb, [4.0, 3.0, 6.0], axis=-1)` has levels per channel; with frames first, `axis=0` has them per frame.
    """
    pixels = as_floats("image", image)
    levels = np.asarray(as_floats("sigma_map", sigma_map), np.float64)
    if axis is not None:
        if not -pixels.ndim <= axis < pixels.ndim or levels.shape != (pixels.shape[axis],):
            raise ValueError(
                f"sigma_map needs one number per place on axis {axis} of an image of shape {pixels.shape}, got shape "
                f"{levels.shape}"
            )
        levels = np.moveaxis(levels.reshape(-1, *[1] * (pixels.ndim - 1)), 0, axis)
    elif levels.shape != pixels.shape:
        raise ValueError(
            f"sigma_map needs shape {pixels.shape}, as the image, got {levels.shape}: name the axis if it holds one "
            "number per channel or frame"
        )
    if levels.min() <= 0:
        first = tuple(int(i) for i in np.unravel_index(int(np.argmin(levels)), levels.shape))
        raise ValueError(
            f"sigma_map must be positive, got {levels.min():g} at index {first}: use a small level instead"
        )
    largest = float(levels.max())  # squares of any levels stay finite
    sigma = largest * math.sqrt(float(np.mean(np.square(levels / largest))))
    return Stabilised(np.asarray(pixels * (sigma / levels), pixels.dtype), sigma, levels)
