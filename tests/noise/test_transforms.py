"""Sigma maps and spectra: noise becomes even and white, and the way back is exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import convolve
from skimage import data

from epitomes import denoise
from epitomes.noise import kernel_spectrum, sample_spectrum, stabilised, whitened

BLUR = np.array([[0.25, 0.5, 0.25]]).T * np.array([[0.25, 0.5, 0.25]])


def colour(white: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """White noise through a kernel, periodically."""
    return np.fft.ifft2(np.fft.fft2(white) * np.fft.fft2(kernel, white.shape)).real


class TestStabilised:
    def test_noise_becomes_even(self, rng: np.random.Generator) -> None:
        levels = np.linspace(1, 9, 200)[:, None] * np.linspace(1, 2, 200)
        even = stabilised(levels * rng.standard_normal((200, 200)), levels)
        assert even.sigma == pytest.approx(np.sqrt(np.mean(levels**2)))
        for part in (even.image[:50], even.image[150:], even.image[:, :50]):
            assert part.std() == pytest.approx(even.sigma, rel=0.03)

    def test_there_and_back(self, rng: np.random.Generator) -> None:
        image, levels = rng.standard_normal((9, 7)), rng.uniform(0.1, 30, (9, 7))
        even = stabilised(image, levels)
        np.testing.assert_allclose(even.back(even.image), image, rtol=1e-14)
        assert not np.allclose(even.image, image)

    @pytest.mark.parametrize("axis", [0, 2, -1])
    def test_per_channel_or_frame(self, axis: int, rng: np.random.Generator) -> None:
        image = rng.standard_normal((3, 5, 3))
        even = stabilised(image, [1.0, 2.0, 4.0], axis=axis)
        lines = np.moveaxis(even.image / image, axis, 0)
        for line, level in zip(lines, [1.0, 2.0, 4.0], strict=True):
            np.testing.assert_allclose(line, even.sigma / level)
        np.testing.assert_allclose(even.back(even.image), image, rtol=1e-14)

    def test_equal_levels_change_nothing(self, rng: np.random.Generator) -> None:
        image = rng.standard_normal((4, 4)).astype(np.float32)
        even = stabilised(image, np.full((4, 4), 3.0))
        np.testing.assert_array_equal(even.image, image)
        assert even.sigma == pytest.approx(3.0) and even.image.dtype == np.float32

    def test_extreme_levels(self) -> None:
        assert stabilised(np.ones((1, 2)), np.array([[1e200, 1e200]])).sigma == pytest.approx(1e200)

    @pytest.mark.parametrize(
        ("levels", "axis", "words"),
        [
            (np.ones((4, 5)), None, r"needs shape \(4, 4\)"),
            (np.ones(4), None, "name the axis"),
            (np.ones(3), 0, "one number per place on axis 0"),
            (np.ones(4), 2, "axis 2"),
            (np.eye(4), None, "must be positive, got 0"),
            (np.full((4, 4), np.nan), None, "16 NaN"),
        ],
    )
    def test_errors(self, levels: np.ndarray, axis: int | None, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            stabilised(np.zeros((4, 4)), levels, axis=axis)

    def test_back_needs_the_same_shape(self) -> None:
        with pytest.raises(ValueError, match=r"needs shape \(4, 4\)"):
            stabilised(np.zeros((4, 4)), np.ones((4, 4))).back(np.zeros((4, 5)))

    def test_it_helps_a_denoiser(self) -> None:
        clean = data.camera()[100:196, 100:196].astype(np.float64)
        levels = np.linspace(5, 50, 96) * np.ones((96, 1))
        noisy = clean + levels * np.random.default_rng(0).standard_normal(clean.shape)
        even = stabilised(noisy, levels)
        with_map = even.back(denoise(even.image, even.sigma, method="paper").image)
        without = denoise(noisy, even.sigma, method="paper").image
        assert np.mean((with_map - clean) ** 2) < 0.8 * np.mean((without - clean) ** 2)


class TestWhitened:
    @pytest.mark.parametrize("shape", [(64, 64), (63, 40), (40, 63), (33, 35)])
    def test_there_and_back(self, shape: tuple[int, int], rng: np.random.Generator) -> None:
        image = 1000 + rng.standard_normal(shape)
        spectrum = kernel_spectrum(BLUR, shape, sigma=4) + 0.01
        white = whitened(image, spectrum)
        np.testing.assert_allclose(white.back(white.image), image, rtol=1e-12)
        assert not np.allclose(white.image, image)

    def test_float32_comes_back_as_it_was(self, rng: np.random.Generator) -> None:
        image = rng.integers(0, 60_000, (50, 50)).astype(np.float32)
        white = whitened(image, kernel_spectrum(BLUR, image.shape) + 1e-4)
        assert white.image.dtype == np.float64
        back = white.back(white.image)
        assert back.dtype == np.float32
        np.testing.assert_array_equal(back, image)

    def test_noise_becomes_white(self, rng: np.random.Generator) -> None:
        noise = colour(rng.standard_normal((256, 256)), 8 * BLUR) + 0.1 * rng.standard_normal((256, 256))
        white = whitened(noise, kernel_spectrum(BLUR, noise.shape, sigma=8) + 0.01)
        assert white.sigma == pytest.approx(noise.std(), rel=0.02)
        assert white.image.std() == pytest.approx(white.sigma, rel=0.02)
        for lag in ((0, 1), (1, 0), (1, 1), (0, 2)):
            shifted = np.roll(white.image, lag, axis=(0, 1))
            assert abs(np.mean(white.image * shifted)) / white.image.var() < 0.02
            assert np.mean(noise * np.roll(noise, lag, axis=(0, 1))) / noise.var() > 0.1  # it was not before

    def test_white_noise_is_left_alone(self, rng: np.random.Generator) -> None:
        image = rng.standard_normal((20, 30))
        white = whitened(image, np.full((20, 30), 9.0))
        assert white.sigma == pytest.approx(3.0)
        np.testing.assert_allclose(white.image, image, atol=1e-12)

    def test_no_noise_in_the_mean_is_allowed(self, rng: np.random.Generator) -> None:
        spectrum = np.ones((20, 30))
        spectrum[0, 0] = 0
        image = 5 + rng.standard_normal((20, 30))
        white = whitened(image, spectrum)
        assert white.image.mean() == pytest.approx(image.mean())

    def test_errors(self) -> None:
        image, flat = np.zeros((8, 8)), np.ones((8, 8))
        hole, lopsided = flat.copy(), flat.copy()
        hole[2, 3] = hole[6, 5] = 0
        lopsided[1, 2] = 2
        for spectrum, words in [
            (hole, "vanishes at 2 of 64 frequencies"),
            (kernel_spectrum(np.array([[1.0, 1.0]]), (8, 8)), "vanishes at 8 of 64"),
            (lopsided, "opposite frequencies"),
            (-flat, "positive, got -1"),
            (0 * flat, "positive, got 0"),
            (np.ones((8, 5)), r"needs shape \(8, 8\)"),
            (np.full((8, 8), np.inf), "infinite"),
        ]:
            with pytest.raises(ValueError, match=words):
                whitened(image, spectrum)
        with pytest.raises(ValueError, match=r"needs shape \(8, 8\)"):
            whitened(image, flat).back(np.zeros((8, 9)))

    def test_it_helps_a_denoiser(self) -> None:
        clean = data.camera()[100:196, 100:196].astype(np.float64)
        noise = colour(np.random.default_rng(0).standard_normal(clean.shape), 50 * BLUR)
        noise += 2 * np.random.default_rng(1).standard_normal(clean.shape)
        white = whitened(clean + noise, kernel_spectrum(BLUR, clean.shape, sigma=50) + 4)
        with_spectrum = white.back(denoise(white.image, white.sigma, method="paper").image)
        without = denoise(clean + noise, white.sigma, method="paper").image
        assert np.mean((with_spectrum - clean) ** 2) < 0.9 * np.mean((without - clean) ** 2)


class TestSpectra:
    def test_kernel(self, rng: np.random.Generator) -> None:
        """Against the periodogram of simulated noise, averaged."""
        expected = kernel_spectrum(BLUR, (12, 15), sigma=3)
        draws = np.stack([colour(3 * rng.standard_normal((12, 15)), BLUR) for _ in range(4000)])
        measured = np.mean(np.abs(np.fft.fft2(draws)) ** 2, axis=0) / (12 * 15)
        np.testing.assert_allclose(measured, expected, rtol=0.15, atol=1e-6)
        assert expected.mean() == pytest.approx(9 * np.sum(BLUR**2))  # the variance of a pixel

    def test_sample(self, rng: np.random.Generator) -> None:
        noise = 7 + convolve(5 * rng.standard_normal((400, 300)), BLUR, mode="wrap") + rng.standard_normal((400, 300))
        found = sample_spectrum(noise[:200, :200], noise.shape)
        assert found.shape == noise.shape and found.min() >= 0
        assert found.mean() == pytest.approx(noise[:200, :200].var(), rel=1e-9)
        white = whitened(noise, found)
        centred = white.image - white.image.mean()
        assert centred.std() == pytest.approx(white.sigma, rel=0.05)
        for lag in ((0, 1), (1, 0), (1, 1), (0, 2)):
            assert abs(np.mean(centred * np.roll(centred, lag, axis=(0, 1)))) / centred.var() < 0.04

    def test_sample_by_the_definition(self, rng: np.random.Generator) -> None:
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

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match="smaller than"):
            kernel_spectrum(np.ones((3, 9)), (8, 8))
        with pytest.raises(ValueError, match="smaller than"):
            sample_spectrum(np.ones((30, 30)), (24, 24))
        with pytest.raises(ValueError, match="more than 12 pixels"):
            sample_spectrum(np.ones((12, 30)), (30, 30))
        with pytest.raises(ValueError, match="reach must be at least 1"):
            sample_spectrum(np.ones((30, 30)), (20, 20), reach=0)
