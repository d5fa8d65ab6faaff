"""Spectra of noise, from kernels and from samples, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import convolve

from epitomes.noise import Noise, kernel_spectrum, sample_spectrum
from epitomes.noise.spectrum import normalised, whitening_filter

BLUR = np.array([[0.25, 0.5, 0.25]]).T * np.array([[0.25, 0.5, 0.25]])


def colour(white: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """White noise through a kernel, periodically."""
    return np.fft.ifft2(np.fft.fft2(white) * np.fft.fft2(kernel, white.shape)).real


@pytest.mark.slow
def test_kernel(rng: np.random.Generator) -> None:
    """Against the periodogram of simulated noise, averaged."""
    expected = kernel_spectrum(BLUR, (12, 15), sigma=3)
    draws = np.stack([colour(3 * rng.standard_normal((12, 15)), BLUR) for _ in range(4000)])
    measured = np.mean(np.abs(np.fft.fft2(draws)) ** 2, axis=0) / (12 * 15)
    np.testing.assert_allclose(measured, expected, rtol=0.15, atol=1e-6)
    assert expected.mean() == pytest.approx(9 * np.sum(BLUR**2))  # the variance of a pixel


def test_sample(rng: np.random.Generator) -> None:
    noise = 7 + convolve(5 * rng.standard_normal((400, 300)), BLUR, mode="wrap") + rng.standard_normal((400, 300))
    found = sample_spectrum(noise[:200, :200], noise.shape)
    assert found.shape == noise.shape and found.min() >= 0
    assert found.mean() == pytest.approx(noise[:200, :200].var(), rel=1e-9)
    white = Noise.from_spectrum(found).stabilise(noise)
    centred = white.image - white.image.mean()
    assert centred.std() == pytest.approx(white.sigma, rel=0.05)
    for lag in ((0, 1), (1, 0), (1, 1), (0, 2)):
        assert abs(np.mean(centred * np.roll(centred, lag, axis=(0, 1)))) / centred.var() < 0.04


def test_sample_by_the_definition(rng: np.random.Generator) -> None:
    """Covariances as plain sums, faded as Parzen says, and the Fourier sum written out."""
    noise = rng.standard_normal((6, 7))
    centred = np.pad(noise - noise.mean(), 2)
    lags = range(-2, 3)
    fade = {0: 1.0, 1: 1 - 6 / 9 * (1 - 1 / 3), 2: 2 * (1 - 2 / 3) ** 3}
    covariance = {
        (i, j): np.sum(centred * np.roll(centred, (i, j), axis=(0, 1))) / 42 * fade[abs(i)] * fade[abs(j)]
        for i in lags
        for j in lags
    }
    found = sample_spectrum(noise, (5, 8), reach=2)
    for u, v in [(0, 0), (1, 3), (4, 7)]:
        total = sum(c * np.cos(2 * np.pi * (u * i / 5 + v * j / 8)) for (i, j), c in covariance.items())
        assert found[u, v] == pytest.approx(max(total, 0.0), abs=1e-12)


def test_errors() -> None:
    with pytest.raises(ValueError, match="smaller than"):
        kernel_spectrum(np.ones((3, 9)), (8, 8))
    with pytest.raises(ValueError, match="smaller than"):
        sample_spectrum(np.ones((30, 30)), (24, 24))
    with pytest.raises(ValueError, match="more than 12 pixels"):
        sample_spectrum(np.ones((12, 30)), (30, 30))
    with pytest.raises(ValueError, match="reach must be at least 1"):
        sample_spectrum(np.ones((30, 30)), (20, 20), reach=0)


def test_normalised(rng: np.random.Generator) -> None:
    power = kernel_spectrum(BLUR, (9, 12), sigma=3) + 0.5
    spectrum, sigma = normalised(power)
    assert spectrum.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(sigma**2 * spectrum, power)
    np.testing.assert_allclose(whitening_filter(spectrum) ** 2 * spectrum[:, :7], 1.0)
    assert normalised(power * 1e300)[1] == pytest.approx(sigma * 1e150)


def test_impossible_spectra() -> None:
    flat = np.ones((8, 8))
    hole, lopsided = flat.copy(), flat.copy()
    hole[2, 3] = hole[6, 5] = 0
    lopsided[1, 2] = 2
    for power, words in [
        (hole, "vanishes at 2 of 64 frequencies"),
        (kernel_spectrum(np.array([[1.0, 1.0]]), (8, 8)), "vanishes at 8 of 64"),
        (lopsided, "opposite frequencies"),
        (-flat, "positive, got -1"),
        (0 * flat, "positive, got 0"),
        (np.ones(8), "spectrum needs 2 axes"),
        (np.full((8, 8), np.inf), "infinite"),
    ]:
        with pytest.raises(ValueError, match=words):
            Noise.from_spectrum(power)
