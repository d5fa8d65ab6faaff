"""psnr: known values, the same number computed another way, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio

from epitomes.validation import psnr


@pytest.mark.parametrize(("error", "expected"), [(255.0, 0.0), (25.5, 20.0), (-2.55, 40.0), (0.0, math.inf)])
def test_known_values(error: float, expected: float) -> None:
    clean = np.zeros((10, 12))
    assert psnr(clean, clean + error) == pytest.approx(expected)


@pytest.mark.parametrize("peak", [1.0, 255.0, 65535.0])
def test_it_is_that_of_scikit_image(peak: float, rng: np.random.Generator) -> None:
    clean = peak * rng.random((2, 40, 30, 3))
    noisy = clean + 0.1 * peak * rng.standard_normal(clean.shape)
    expected = peak_signal_noise_ratio(clean, noisy, data_range=peak)
    assert psnr(clean, noisy, peak=peak) == pytest.approx(expected, rel=1e-12)


def test_estimates_are_not_clipped_and_bytes_do_not_wrap() -> None:
    clean = np.zeros((4, 4), np.uint8)
    assert psnr(clean, clean - 300.0) < 0
    assert psnr(clean, clean + np.uint8(51)) == psnr(clean + np.uint8(51), clean) == pytest.approx(20 * math.log10(5))


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"image needs the shape of clean, \(4, 4\), got \(4,\)"):
        psnr(np.zeros((4, 4)), np.zeros(4))
    with pytest.raises(ValueError, match="peak must be a finite number > 0, got 0"):
        psnr(np.zeros(4), np.ones(4), peak=0.0)
    with pytest.raises(TypeError, match="clean must hold real numbers"):
        psnr(["a"], ["b"])
