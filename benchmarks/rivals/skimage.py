"""Denoisers of scikit-image that find sigma by themselves, with the settings that its examples advise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import installed

Image = NDArray[np.floating]
STRENGTH = 0.8  # of the fast mode of non-local means, in units of sigma
PATCH_SIZE, PATCH_DISTANCE = 5, 6


def denoisers(noisy: NDArray[Any]) -> dict[str, Callable[[], Image]]:
    """Return the methods by name, for an image of 0 to 255; empty if it is not installed."""
    if not (installed("skimage", "scikit-image") and installed("pywt", "PyWavelets")):
        return {}
    from skimage.restoration import denoise_nl_means, denoise_wavelet, estimate_sigma

    image = noisy.astype(np.float64) / 255
    axis = -1 if noisy.ndim == 3 else None

    def wavelets() -> Image:
        return 255 * denoise_wavelet(
            image, method="BayesShrink", rescale_sigma=True, convert2ycbcr=axis is not None, channel_axis=axis
        )

    def means() -> Image:
        sigma = float(estimate_sigma(image, average_sigmas=True, channel_axis=axis))
        return 255 * denoise_nl_means(
            image, PATCH_SIZE, PATCH_DISTANCE, STRENGTH * sigma, sigma=sigma, fast_mode=True, channel_axis=axis
        )

    return {"skimage wavelets": wavelets, "skimage non-local means": means}
