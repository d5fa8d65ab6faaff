"""The Anscombe transform: noise of standard deviation 1, and an inverse without bias."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, poisson

from epitomes.noise import Noise, anscombe, inverse_anscombe
from epitomes.noise._anscombe import MAX_TABLES, _series, _summed, _table

MANY = 400_000


@pytest.mark.parametrize("counts", [5.0, 20.0, 200.0])
def test_noise_becomes_even(counts: float, rng: np.random.Generator) -> None:
    noise = Noise.poisson_gaussian(3.0, 40.0, 6.0)
    pixels = 3 * rng.poisson(counts, MANY) + 40 + 6 * rng.standard_normal(MANY)
    assert anscombe(pixels, noise).std() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("read_noise", [0.0, 0.4, 1.0, 4.0])
@pytest.mark.parametrize("counts", [0.5, 1.0, 3.0, 12.0, 150.0])
def test_the_inverse_has_no_bias(counts: float, read_noise: float) -> None:
    """The mean of the transform over simulated pixels, taken back: within 1 % and what the simulation allows."""
    rng = np.random.default_rng(1)
    noise = Noise.poisson_gaussian(2.0, -7.0, 2 * read_noise)
    pixels = 2 * rng.poisson(counts, MANY) - 7 + 2 * read_noise * rng.standard_normal(MANY)
    even = anscombe(pixels, noise)
    found = (inverse_anscombe([even.mean()], noise)[0] + 7) / 2
    chance = 4 * even.std() / np.sqrt(MANY) * even.mean() / 2  # four standard errors, in counts
    assert abs(found - counts) <= 0.01 * counts + (chance if read_noise > 1 else 0)


@pytest.mark.parametrize("counts", [0.5, 0.9, 2.0, 7.0, 40.0, 300.0, 1e5])
def test_closed_form(counts: float) -> None:
    """Makitalo and Foi's approximation for counts without reading, which shares nothing with a table."""
    mean = np.interp(counts, *_table(0.0))
    root = np.sqrt(1.5)
    closed = mean**2 / 4 + root / 4 / mean - 11 / 8 / mean**2 + 5 / 8 * root / mean**3 - 1 / 8
    assert inverse_anscombe([mean], Noise.poisson_gaussian(1.0))[0] == pytest.approx(closed, rel=0.01)


@pytest.mark.parametrize(
    ("counts", "reading"), [(0.0, 0.0), (0.7, 0.0), (30.0, 0.0), (0.0, 0.5), (2.0, 1.5), (20.0, 3.0)]
)
def test_sums_are_expectations(counts: float, reading: float) -> None:
    """The mean of the transform by adaptive integration, count by count."""

    def root(x: float) -> float:
        shifted = x + 0.375 + reading**2
        return float(2 * np.sqrt(shifted) if shifted > 0.375 else np.sqrt(0.375) + shifted / np.sqrt(0.375))

    total = 0.0
    for k in range(int(counts + 10 * np.sqrt(counts) + 15)):
        corner = -(k + reading**2) / reading if reading else 0.0
        pieces = [(-9, np.clip(corner, -9, 9)), (np.clip(corner, -9, 9), 9)] if reading else []
        mean = sum(quad(lambda n, k=k: root(k + reading * n) * norm.pdf(n), *piece)[0] for piece in pieces)
        total += poisson.pmf(k, counts) * (mean if reading else root(k))
    assert _summed(np.array([counts]), reading)[0] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("reading", [0.0, 2.0, 9.0])
def test_series_joins_the_sums(reading: float) -> None:
    counts = np.array([100.0, 101.0]) - reading**2
    np.testing.assert_allclose(_series(counts, reading), _summed(counts, reading), atol=2e-6)


@pytest.mark.parametrize("reading", [0.0, 0.3, 5.0, 40.0])
def test_table_rises(reading: float) -> None:
    counts, means = _table(reading)
    assert np.all(np.diff(counts) > 0) and np.all(np.diff(means) > 0)


def test_far_beyond_the_table() -> None:
    assert inverse_anscombe([2 * np.sqrt(1e13)], Noise.poisson_gaussian(1.0))[0] == pytest.approx(1e13, rel=1e-12)


@pytest.mark.parametrize("read_noise", [0.0, 0.4, 1.0, 4.0])
@pytest.mark.parametrize("below", [0.3, 2.0, 30.0, 300.0])
def test_pixels_below_the_offset_are_not_raised(below: float, read_noise: float, rng: np.random.Generator) -> None:
    """Their transforms differ, and the mean comes back without bias, however far below the offset it is."""
    noise = Noise.poisson_gaussian(2.0, 10.0, 2 * read_noise)
    pixels = 10 - 2 * below + 2 * read_noise * rng.standard_normal(MANY)
    even = anscombe(pixels, noise)
    chance = 5 * 2 * read_noise / np.sqrt(MANY)
    assert inverse_anscombe([even.mean()], noise)[0] == pytest.approx(pixels.mean(), abs=1e-9 + chance)
    assert np.all(np.diff(even[np.argsort(pixels)]) >= 0)
    assert even.std() > 0 or read_noise == 0


def test_the_inverse_rises_through_zero_counts() -> None:
    for read_noise in (0.0, 0.5, 3.0):
        means = np.linspace(-5, 8, 2001)
        found = inverse_anscombe(means, Noise.poisson_gaussian(1.0, 0.0, read_noise))
        steps = np.diff(found)
        assert steps.min() > 0 and steps.max() < 0.1
        assert found[0] < 0 < found[-1]


def test_gaussian_noise_alone() -> None:
    image, noise = np.array([[1.0, 7.0]]), Noise.poisson_gaussian(0.0, 3.0, 2.0)
    np.testing.assert_allclose(anscombe(image, noise), [[-1.0, 2.0]])
    np.testing.assert_allclose(inverse_anscombe(anscombe(image, noise), noise), image)


def test_dtypes_and_inputs() -> None:
    noise = Noise.poisson_gaussian(1.0)
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    kept = image.copy()
    even = anscombe(image, noise)
    assert even.dtype == np.float32 and even.shape == image.shape
    assert inverse_anscombe(even, noise).dtype == np.float32
    assert anscombe(image.astype(np.int64), noise).dtype == np.float64
    np.testing.assert_array_equal(image, kept)
    with pytest.raises(ValueError, match="NaN"):
        anscombe([np.nan], noise)
    with pytest.raises(ValueError, match="NaN"):
        inverse_anscombe([np.inf], noise)


def test_a_picture_through_any_denoiser() -> None:
    """Means over windows as the denoiser: the plain inverse, `even^2 / 4 - 3/8`, loses a sixth of the light."""
    light = np.full((300, 300), 0.8)
    counts = np.random.default_rng(0).poisson(light)
    noise = Noise.poisson_gaussian(1.0)
    even = anscombe(counts, noise).astype(np.float64).reshape(30, 10, 30, 10).mean(axis=(1, 3))
    assert inverse_anscombe(even, noise).mean() == pytest.approx(0.8, rel=0.02)
    assert np.mean(even**2 / 4 - 0.375) < 0.8 * 0.85


def test_parameters_per_channel(rng: np.random.Generator) -> None:
    """Each channel as if it were alone, whether its noise grows with brightness or not."""
    gain, offset, sigma = [2.0, 0.0, 0.5], [10.0, 3.0, 0.0], [1.0, 4.0, 0.0]
    image = 20 + 5 * rng.random((9, 8, 3))
    even = anscombe(image, Noise.poisson_gaussian(gain, offset, sigma))
    back = inverse_anscombe(even, Noise.poisson_gaussian(gain, offset, sigma))
    for each in range(3):
        alone = Noise.poisson_gaussian(gain[each], offset[each], sigma[each])
        np.testing.assert_allclose(even[..., each], anscombe(image[..., each], alone), rtol=1e-14)
        np.testing.assert_allclose(back[..., each], inverse_anscombe(even[..., each], alone), rtol=1e-14)


def test_an_offset_per_pixel(rng: np.random.Generator) -> None:
    offset = rng.uniform(90, 110, (30, 40))
    light = rng.poisson(25, (30, 40)).astype(float)
    even = anscombe(2 * light + offset, Noise.poisson_gaussian(2.0, offset, 1.0))
    np.testing.assert_allclose(even, anscombe(2 * light, Noise.poisson_gaussian(2.0, 0.0, 1.0)), rtol=1e-12)


def test_wrong_noise(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="needs white noise"):
        anscombe(np.ones((4, 4)), Noise.from_spectrum(np.ones((4, 4))))
    with pytest.raises(ValueError, match="both 0"):
        anscombe(np.ones((4, 4)), Noise())
    with pytest.raises(ValueError, match=r"gain of shape \(3,\) does not fit"):
        anscombe(np.ones((4, 4)), Noise.poisson_gaussian([1.0, 2.0, 3.0]))
    many = Noise.poisson_gaussian(np.full((20, 20), 2.0), 0.0, rng.uniform(1, 2, (20, 20)))
    anscombe(np.ones((20, 20)), many)
    with pytest.raises(ValueError, match=f"400 different values, and at most {MAX_TABLES}"):
        inverse_anscombe(np.ones((20, 20)), many)
