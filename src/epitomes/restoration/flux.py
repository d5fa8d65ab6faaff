"""Fluxes: in fields of stars or spots on a flat background, what an object holds in total is kept.

Every denoiser takes a little of the wings of faint objects for noise: 2 to 4 % of the flux of a star of 10 to 25 sigma.
It is in the residual, spread over the pixels of the object. The local mean of the residual over these pixels is given
back. That costs hardly any noise, because many pixels share it, and none at all in the background.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, gaussian_filter, uniform_filter

from epitomes.checks import Array
from epitomes.restoration.whole_image import WholeImage

BOX = 7  # pixels, in which the contrast of the estimate is measured
FAINT, CLEAR = 0.2, 0.5  # contrast in units of the noise: below it there is background, above it an object
WIDTH = 3.0  # pixels: standard deviation of the local mean
MOST_OBJECTS = 0.25  # share of the image: more is a picture, not a field
FLAT = 0.5  # quartile range of the background, in units of the noise
PEAK = 10.0  # height of the brightest object, in units of the noise
BRIGHTEST = 1e6  # in units of the noise: what is above it counts as much, so that squares do not overflow
REACH = BOX // 2 + 12  # pixels: how far the fluxes of a pixel come from, four widths of the local mean and a box
SAMPLE = 1024  # side of the part in the middle that shows whether an image is a field

Weights = NDArray[np.float32]


def with_fluxes(noisy: Array, estimate: Array, sigma: float, whole: WholeImage | None = None) -> Array:
    """The estimate of an image with white noise; with the fluxes of its objects if it is a field of them.

    Of a part of an image, `whole` says whether that is a field, and how bright its background is.
    """
    if whole is not None and whole.background is None:
        return estimate
    if whole is None and (noisy.ndim != 2 or not is_field(_middle(estimate), sigma)):
        return estimate
    weight = _objects(estimate, sigma, None if whole is None else whole.background)
    residual = np.asarray(noisy, np.float32) - estimate.astype(np.float32)
    share = np.maximum(gaussian_filter(weight, WIDTH), np.float32(1e-3))
    return np.asarray(estimate + weight * gaussian_filter(weight * residual, WIDTH) / share, estimate.dtype)


def is_field(estimate: Array, sigma: float) -> bool:
    """Whether a denoised image shows bright objects on a flat background."""
    if not is_bright(estimate, sigma):  # most pictures are told at once
        return False
    weight = _objects(estimate, sigma)
    background, objects = estimate[weight == 0], estimate[weight == 1]
    if not objects.size or weight.mean() > MOST_OBJECTS or not background.size:
        return False
    low, middle, high = np.quantile(background, (0.25, 0.5, 0.75))
    return bool(high - low < FLAT * sigma and np.median(objects) > middle and objects.max() > middle + PEAK * sigma)


def is_bright(image: Array, sigma: float) -> bool:
    """Whether something is bright enough to be an object of a field."""
    level = np.median(image[::4, ::4])  # of the background, within a sigma, if this is a field
    return bool(image.max() > level + (PEAK - 1) * sigma)


def background_of(estimate: Array, sigma: float) -> float | None:
    """The level of the background, if a denoised image shows a field of objects."""
    middle = _middle(estimate)
    return float(np.median(middle)) if is_field(middle, sigma) else None


def _objects(estimate: Array, sigma: float, background: float | None = None) -> Weights:
    """1 where the estimate has contrast, 0 where it is flat; `background` is that of the whole, for a part of it."""
    level = np.median(estimate) if background is None else background
    even = np.clip((estimate - level) / sigma, -BRIGHTEST, BRIGHTEST).astype(np.float32)
    mean = uniform_filter if background is None else _box_mean
    variance = mean(np.square(even), BOX) - np.square(mean(even, BOX))
    return np.asarray(np.clip((np.sqrt(np.maximum(variance, 0)) - FAINT) / (CLEAR - FAINT), 0, 1), np.float32)


def _box_mean(values: Weights, side: int) -> Weights:
    """Means over boxes, each summed by itself: `uniform_filter` moves its sums along, from the border of a part on."""
    ones = np.full(side, 1 / side)
    for axis in range(values.ndim):
        values = correlate1d(values, ones, axis)
    return values


def _middle(image: Array) -> Array:
    top, left = (max(0, (side - SAMPLE) // 2) for side in image.shape)
    return image[top : top + SAMPLE, left : left + SAMPLE]
