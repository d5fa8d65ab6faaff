"""Long noise is measured at half the size and at a quarter; other noise at two scales."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

from epitomes import Noise, denoise, estimate_noise
from epitomes.noise.correlated import measure_correlated
from epitomes.validation import psnr


def blurred_noise(shape: tuple[int, ...], blur: float, sigma: float, rng: np.random.Generator) -> np.ndarray:
    noise = gaussian_filter(rng.standard_normal(shape), blur)
    return sigma * noise / noise.std()


def picture() -> np.ndarray:
    return data.coins()[:256, :256].astype(np.float64)


@pytest.mark.parametrize(("blur", "scales"), [(1.0, 2), (2.0, 3)])
def test_long_noise_has_a_third_scale(blur: float, scales: int, rng: np.random.Generator) -> None:
    clean = picture()
    found = estimate_noise(clean + blurred_noise(clean.shape, blur, 20.0, rng))
    assert found.blocks is not None
    assert found.blocks.n_scales == scales


@pytest.mark.slow
def test_the_low_frequencies_of_long_noise_are_found(rng: np.random.Generator) -> None:
    clean = picture()
    noise = blurred_noise(clean.shape, 2.0, 20.0, rng)
    found, truth = measure_correlated(clean + noise), measure_correlated(noise)
    assert found is not None
    assert truth is not None
    for scale in (0, 1, 2):
        low = (slice(0, 3), slice(0, 3)) if scale else (slice(0, 2), slice(0, 2))
        measured, expected = (each.spectrum.power[scale][low].ravel()[1:] for each in (found, truth))
        assert 0.6 < np.median(np.sqrt(measured / expected)) < 1.5


@pytest.mark.slow
def test_long_noise_is_removed_and_detail_kept(rng: np.random.Generator) -> None:
    clean = picture()
    noisy = clean + blurred_noise(clean.shape, 2.0, 20.0, rng)
    found = denoise(noisy, preset="balanced")
    assert psnr(clean, found, peak=255) > psnr(clean, noisy, peak=255) + 0.7
    white = denoise(noisy, noise=Noise.gaussian(60.0), preset="fast")
    assert psnr(clean, found, peak=255) > psnr(clean, white, peak=255)
