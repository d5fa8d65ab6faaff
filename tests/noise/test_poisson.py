"""Poisson-Gaussian noise: simulated with known truth, transformed, and taken back without bias."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, poisson
from skimage import data

from epitomes.noise import (
    PoissonGaussian,
    anscombe,
    brightness,
    fit_poisson_gaussian,
    inverse_anscombe,
)
from epitomes.noise._anscombe import _series, _summed, _table
from epitomes.noise.poisson import growth

MANY = 400_000


def camera(model: PoissonGaussian, peak: float, seed: int = 0, crop: int = 512) -> np.ndarray:
    """The picture as that camera would see it, its brightest pixel `peak` counts."""
    rng = np.random.default_rng(seed)
    light = data.camera()[:crop, :crop] * (peak / 255)
    return model.gain * rng.poisson(light) + model.offset + model.read_noise * rng.standard_normal(light.shape)


class TestModel:
    def test_variance(self, rng: np.random.Generator) -> None:
        model = PoissonGaussian(2.5, 100.0, 5.0)
        pixels = 2.5 * rng.poisson(30, MANY) + 100 + 5 * rng.standard_normal(MANY)
        assert model.variance(pixels.mean()) == pytest.approx(pixels.var(), rel=0.01)
        np.testing.assert_allclose(model.variance([[90.0, 100.0]]), 25.0)  # no light is no shot noise

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ((-1.0, 0.0, 1.0), "gain must be"),
            ((1.0, np.nan, 1.0), "offset must be"),
            ((1.0, 0.0, -1.0), "read_noise must be"),
            ((0.0, 0.0, 0.0), "both 0"),
        ],
    )
    def test_errors(self, values: tuple[float, float, float], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            PoissonGaussian(*values)


class TestFit:
    @pytest.mark.parametrize(
        ("model", "peak"),
        [(PoissonGaussian(1.0), 4), (PoissonGaussian(1.0), 100), (PoissonGaussian(2.5, 100.0, 5.0), 100)],
    )
    def test_truth_is_found(self, model: PoissonGaussian, peak: float) -> None:
        image = camera(model, peak)
        fit = fit_poisson_gaussian(image)
        assert fit.reliable, fit.reason
        assert fit.gain_low <= model.gain <= fit.gain_high
        assert fit.model.gain == pytest.approx(model.gain, rel=0.1)
        levels = np.quantile(image, [0.1, 0.5, 0.9])
        np.testing.assert_allclose(fit.model.variance(levels), model.variance(levels), rtol=0.12, atol=0.02)

    def test_a_known_offset_gives_the_read_noise(self) -> None:
        fit = fit_poisson_gaussian(camera(PoissonGaussian(1.0, 50.0, 4.0), 100), offset=50.0)
        assert fit.model.offset == 50.0
        assert fit.model.read_noise == pytest.approx(4.0, rel=0.1)

    def test_scale(self) -> None:
        image = camera(PoissonGaussian(1.0), 50, crop=160)
        first = fit_poisson_gaussian(image)
        for factor in (8.0, 2.0**900, 2.0**-900):
            second = fit_poisson_gaussian(factor * image)
            assert second.model.gain == factor * first.model.gain
            assert second.model.read_noise == factor * first.model.read_noise
            assert second.gain_high == factor * first.gain_high
            assert second.reliable == first.reliable

    def test_noise_that_does_not_grow(self, rng: np.random.Generator) -> None:
        fit = fit_poisson_gaussian(data.camera() + 10 * rng.standard_normal((512, 512)))
        assert not fit.reliable and fit.reason
        np.testing.assert_allclose(fit.model.variance([30.0, 120.0, 200.0]), 100.0, rtol=0.15)

    def test_small_images_are_doubted(self) -> None:
        assert "too few" in fit_poisson_gaussian(camera(PoissonGaussian(1.0), 50, crop=40)).reason

    def test_errors(self) -> None:
        assert not fit_poisson_gaussian(data.shepp_logan_phantom()).reliable
        for image in (np.ones((40, 40)), np.add.outer(np.arange(40), np.arange(40))):
            with pytest.raises(ValueError, match="no noise"):
                fit_poisson_gaussian(image)
        with pytest.raises(ValueError, match="at least 14 pixels"):
            fit_poisson_gaussian(np.ones((13, 40)))
        with pytest.raises(ValueError, match="2 axes"):
            fit_poisson_gaussian(np.ones((40, 40, 3)))

    def test_line_ignores_texture(self, rng: np.random.Generator) -> None:
        """A third of the points far above the line, where texture is; least squares would follow them."""
        level = np.linspace(10, 100, 24)
        variance = 2 * level + 30
        variance *= 1 + 0.03 * rng.standard_normal(24)
        variance[rng.permutation(24)[:8]] *= 3
        found = brightness.line(brightness.Points(level, variance, np.full(24, 0.05)))
        assert found.slope == pytest.approx(2.0, rel=0.05)
        assert found.at_zero == pytest.approx(30.0, abs=5)
        assert found.agree.sum() == 16
        assert growth(found, brightness.Points(level, variance, np.full(24, 0.05))) == pytest.approx(4.6, rel=0.15)


class TestTransform:
    @pytest.mark.parametrize("counts", [5.0, 20.0, 200.0])
    def test_noise_becomes_even(self, counts: float, rng: np.random.Generator) -> None:
        model = PoissonGaussian(3.0, 40.0, 6.0)
        pixels = 3 * rng.poisson(counts, MANY) + 40 + 6 * rng.standard_normal(MANY)
        assert anscombe(pixels, model).std() == pytest.approx(1.0, abs=0.03)

    @pytest.mark.parametrize("read_noise", [0.0, 0.4, 1.0, 4.0])
    @pytest.mark.parametrize("counts", [0.5, 1.0, 3.0, 12.0, 150.0])
    def test_the_inverse_has_no_bias(self, counts: float, read_noise: float) -> None:
        """The mean of the transform over simulated pixels, taken back: within 1 % and what the simulation allows."""
        rng = np.random.default_rng(1)
        model = PoissonGaussian(2.0, -7.0, 2 * read_noise)
        pixels = 2 * rng.poisson(counts, MANY) - 7 + 2 * read_noise * rng.standard_normal(MANY)
        even = anscombe(pixels, model)
        found = (inverse_anscombe([even.mean()], model)[0] + 7) / 2
        chance = 4 * even.std() / np.sqrt(MANY) * even.mean() / 2  # four standard errors, in counts
        assert abs(found - counts) <= 0.01 * counts + (chance if read_noise > 1 else 0)

    @pytest.mark.parametrize("counts", [0.5, 0.9, 2.0, 7.0, 40.0, 300.0, 1e5])
    def test_closed_form(self, counts: float) -> None:
        """Makitalo and Foi's approximation for counts without reading, which shares nothing with a table."""
        mean = np.interp(counts, *_table(0.0))
        root = np.sqrt(1.5)
        closed = mean**2 / 4 + root / 4 / mean - 11 / 8 / mean**2 + 5 / 8 * root / mean**3 - 1 / 8
        assert inverse_anscombe([mean], PoissonGaussian(1.0))[0] == pytest.approx(closed, rel=0.01)

    @pytest.mark.parametrize(
        ("counts", "reading"), [(0.0, 0.0), (0.7, 0.0), (30.0, 0.0), (0.0, 0.5), (2.0, 1.5), (20.0, 3.0)]
    )
    def test_sums_are_expectations(self, counts: float, reading: float) -> None:
        """The mean of the transform by adaptive integration, count by count."""

        def root(x: float) -> float:
            return float(2 * np.sqrt(max(x + 0.375 + reading**2, 0.0)))

        total = 0.0
        for k in range(int(counts + 10 * np.sqrt(counts) + 15)):
            edge = -(k + 0.375 + reading**2) / reading if reading else 0.0
            mean = quad(lambda n, k=k: root(k + reading * n) * norm.pdf(n), max(edge, -9), 9)[0] if reading else root(k)
            total += poisson.pmf(k, counts) * mean
        assert _summed(np.array([counts]), reading)[0] == pytest.approx(total, abs=1e-9)

    @pytest.mark.parametrize("reading", [0.0, 2.0, 9.0])
    def test_series_joins_the_sums(self, reading: float) -> None:
        counts = np.array([100.0, 101.0]) - reading**2
        np.testing.assert_allclose(_series(counts, reading), _summed(counts, reading), atol=2e-6)

    @pytest.mark.parametrize("reading", [0.0, 0.3, 5.0, 40.0])
    def test_table_rises(self, reading: float) -> None:
        counts, means = _table(reading)
        assert np.all(np.diff(counts) > 0) and np.all(np.diff(means) > 0)

    def test_far_beyond_the_table(self) -> None:
        assert inverse_anscombe([2 * np.sqrt(1e13)], PoissonGaussian(1.0))[0] == pytest.approx(1e13, rel=1e-12)

    def test_darkness(self) -> None:
        """Less than the mean of darkness, even a negative estimate, is darkness."""
        found = inverse_anscombe([-3.0, 0.0, 0.5, _table(0.0)[1][0]], PoissonGaussian(2.0, 10.0))
        np.testing.assert_allclose(found, 10.0)

    def test_gaussian_noise_alone(self) -> None:
        image, model = np.array([[1.0, 7.0]]), PoissonGaussian(0.0, 3.0, 2.0)
        np.testing.assert_allclose(anscombe(image, model), [[-1.0, 2.0]])
        np.testing.assert_allclose(inverse_anscombe(anscombe(image, model), model), image)

    def test_dtypes_and_inputs(self) -> None:
        model = PoissonGaussian(1.0)
        image = np.arange(12, dtype=np.uint8).reshape(3, 4)
        kept = image.copy()
        even = anscombe(image, model)
        assert even.dtype == np.float32 and even.shape == image.shape
        assert inverse_anscombe(even, model).dtype == np.float32
        assert anscombe(image.astype(np.int64), model).dtype == np.float64
        np.testing.assert_array_equal(image, kept)
        with pytest.raises(ValueError, match="NaN"):
            anscombe([np.nan], model)
        with pytest.raises(ValueError, match="NaN"):
            inverse_anscombe([np.inf], model)

    def test_a_picture_through_any_denoiser(self) -> None:
        """Means over windows as the denoiser: the plain inverse, `even^2 / 4 - 3/8`, loses a sixth of the light."""
        light = np.full((300, 300), 0.8)
        counts = np.random.default_rng(0).poisson(light)
        model = PoissonGaussian(1.0)
        even = anscombe(counts, model).astype(np.float64).reshape(30, 10, 30, 10).mean(axis=(1, 3))
        assert inverse_anscombe(even, model).mean() == pytest.approx(0.8, rel=0.02)
        assert np.mean(even**2 / 4 - 0.375) < 0.8 * 0.85
