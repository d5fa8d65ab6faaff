"""BM3D by its authors' package (closed native code, its own licence), the usual reference for denoising."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from benchmarks.rivals import installed

Image = NDArray[np.floating]
SMOOTHING = 2.0  # frequencies, of a measured spectrum


def denoiser(noisy: NDArray[Any], sigma: float, threads: int) -> Callable[[], Image] | None:
    """Return both stages with the default profile, for a grey or an RGB image; None if it is not installed."""
    if not installed("bm3d", "bm3d"):
        return None
    import bm3d

    method, image = bm3d.bm3d if noisy.ndim == 2 else bm3d.bm3d_rgb, noisy.astype(np.float64)
    return lambda: np.asarray(method(image, sigma, _profile(threads)))


def told_spectrum(noisy: NDArray[Any], noise: Image, threads: int) -> Callable[[], Image] | None:
    """Return BM3D for an RGB image, told the spectrum of the noise; None if it is not installed.

    The spectrum is that of the opponent colours, in which it works: computed from those of red, green and blue it would
    miss their correlation. The noise may be that of a larger image.
    """
    if not installed("bm3d", "bm3d"):
        return None
    import bm3d

    if not hasattr(np, "trapz"):  # bm4d 4.2 needs it, and NumPy 2.4 has it no more
        np.trapz = np.trapezoid
    opponent, high, low, _, matrix = bm3d.rgb_to(noisy.astype(np.float64), "opp")
    power = spectrum(noise @ matrix.T / (high - low), noisy.shape[:2])

    def run() -> Image:
        estimate = bm3d.bm3d(opponent, power, _profile(threads))
        return np.asarray(bm3d.rgb_to(estimate, "opp", True, high, low)[0])

    return run


def spectrum(noise: Image, shape: tuple[int, ...]) -> Image:
    """Compute the mean of `|fft2|^2` over blocks `shape` of the noise `(H, W, C)`, smoothed over frequencies."""
    starts = [range(0, side - width + 1, width) for side, width in zip(noise.shape, shape, strict=False)]
    blocks = [noise[y : y + shape[0], x : x + shape[1]] for y in starts[0] for x in starts[1]]
    power = np.mean([np.abs(np.fft.fft2(block, axes=(0, 1))) ** 2 for block in blocks], axis=0)
    return gaussian_filter(power, (SMOOTHING, SMOOTHING, 0), mode="wrap")


def _profile(threads: int) -> Any:
    import bm3d

    profile = bm3d.BM3DProfile()
    profile.num_threads = threads
    return profile
