"""Pictures and denoisers that the tests of validation share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, median_filter
from skimage import data

from epitomes.restoration import denoise

Doubles = NDArray[np.float64]
Filter = Callable[[NDArray[Any]], NDArray[Any]]


def picture(name: str, width: int = 256) -> Doubles:
    """The middle of a picture of scikit-image, 0 to 255, grey or colour as it is."""
    pixels = np.asarray(getattr(data, name)(), np.float64)
    rows, columns = (slice(max(0, (side - width) // 2), (side - width) // 2 + width) for side in pixels.shape[:2])
    return pixels[rows, columns]


def add_noise(clean: Doubles, sigma: float, seed: int) -> Doubles:
    return clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)


def fast(sigma: float) -> Filter:
    """The paper's method with the shipped epitome: it jumps, as pursuits do."""
    return lambda image: denoise(image, sigma, preset="fast", channel_axis=-1 if image.ndim == 3 else None)


def gaussian(width: float) -> Filter:
    return lambda image: gaussian_filter(image, (width, width, 0)[: image.ndim])


def median(side: int) -> Filter:
    return lambda image: median_filter(image, (side, side, 1)[: image.ndim])


def soft(sigma: float) -> Filter:
    """Wavelets of scikit-image, a threshold per scale."""
    from skimage.restoration import denoise_wavelet

    return lambda image: denoise_wavelet(image, sigma=sigma, method="BayesShrink", wavelet="sym4")
