"""sure: the true risk where it is known, the true PSNR of pictures, and honest intervals."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from validation_cases import Filter, add_noise, fast, gaussian, median, picture, soft

from epitomes.noise import Noise
from epitomes.validation import psnr, sure
from epitomes.validation._sure import span_of


def test_linear_filters_have_a_known_divergence(rng: np.random.Generator) -> None:
    noisy = rng.standard_normal((200, 300))
    spike = np.zeros((31, 31))
    spike[15, 15] = 1.0
    found = sure(gaussian(1.0), noisy, 1.0, probes=4)
    assert found.divergence == pytest.approx(gaussian_filter(spike, 1.0)[15, 15], rel=0.03)
    assert sure(lambda image: image, noisy, 3.0).mse == pytest.approx(9.0)  # all the noise is kept
    nothing = sure(np.zeros_like, noisy + 5.0, 1.0)
    assert nothing.divergence == 0.0
    assert nothing.mse == pytest.approx(np.mean((noisy + 5.0) ** 2) - 1.0)


@pytest.mark.parametrize("threshold", [1.5, 2.5])
def test_jumps_are_met(rng: np.random.Generator, threshold: float) -> None:
    """A hard threshold has slope 0 or 1 nearly everywhere; its risk is in its jumps, which small steps never see."""
    noise = rng.standard_normal((1000, 1000))
    found = sure(lambda image: np.where(np.abs(image) > threshold, image, 0.0), noise, 1.0)
    tail = math.erfc(threshold / math.sqrt(2))
    density = math.exp(-(threshold**2) / 2) / math.sqrt(2 * math.pi)
    assert found.mse == pytest.approx(tail + 2 * threshold * density, abs=4 * found.error)  # E[n^2; |n| > threshold]
    assert found.error < 0.05 * found.mse
    without_jumps = np.mean(np.where(np.abs(noise) > threshold, 0.0, noise) ** 2) - 1 + 2 * tail
    assert without_jumps < 0.2 * found.mse


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fast", "gaussian", "median", "soft"])
def test_psnr_of_a_photograph(name: str) -> None:
    sigma = 15.0
    clean = picture("camera", 512)
    denoisers = {"fast": fast(sigma), "gaussian": gaussian(0.9), "median": median(3), "soft": soft(sigma)}
    noisy = add_noise(clean, sigma, seed=len(name))
    found = sure(denoisers[name], noisy, sigma)
    true = psnr(clean, denoisers[name](noisy))
    assert found.peak == 255.0
    assert abs(found.psnr - true) <= 0.15, str(found)
    assert found.interval[0] < found.psnr < found.interval[1]
    assert found.residual == pytest.approx(np.mean((noisy - denoisers[name](noisy)) ** 2), rel=1e-5)


def test_intervals_cover(rng: np.random.Generator) -> None:
    """Of forty noisy copies of a small picture, about nine in ten have their PSNR in its 90 % interval."""
    clean = picture("coins", 64)
    covered = 0
    for seed in range(40):
        noisy = add_noise(clean, 20.0, seed)
        low, high = sure(gaussian(1.0), noisy, 20.0, rng=seed).interval
        covered += low <= psnr(clean, gaussian(1.0)(noisy)) <= high
    assert 31 <= covered <= 40


def test_probes_narrow_the_interval() -> None:
    noisy = add_noise(picture("brick", 128), 25.0, seed=1)
    one, many = (sure(median(3), noisy, 25.0, probes=probes) for probes in (1, 8))
    assert many.error < one.error
    assert many.probes == 8
    assert sure(median(3), noisy, 25.0) == one  # the seed decides
    assert sure(median(3), noisy, 25.0, rng=1) != one


def test_units_and_types() -> None:
    clean = picture("astronaut", 96)
    noisy = add_noise(clean, 12.0, seed=2)
    found = sure(gaussian(0.8), noisy, 12.0)
    small = sure(gaussian(0.8), noisy / 255, 12.0 / 255)
    assert small.peak == 1.0
    assert small.psnr == pytest.approx(found.psnr, abs=1e-9)
    as_map = sure(gaussian(0.8), noisy, np.full((96, 96, 1), 12.0))
    assert as_map.mse == pytest.approx(found.mse)
    assert as_map.error == pytest.approx(found.error)


def test_eight_bits() -> None:
    """Where noise is cut off at 0 and 255 nothing can be estimated: the PSNR is that of the other pixels."""
    clean = picture("astronaut", 256)
    noisy = np.clip(np.rint(add_noise(clean, 20.0, seed=5)), 0, 255).astype(np.uint8)
    found = sure(gaussian(0.8), noisy, 20.0)
    restored = gaussian(0.8)(noisy.astype(np.float32))
    inner = np.minimum(restored, 255 - restored) > 2.5 * 20
    assert found.clipped == pytest.approx(1 - inner.mean(), abs=1e-4)
    assert found.psnr == pytest.approx(psnr(clean[inner], restored[inner]), abs=0.25)
    assert sure(gaussian(0.8), add_noise(clean, 20.0, seed=5), 20.0).clipped == 0.0


def test_a_map_of_noise(rng: np.random.Generator) -> None:
    clean = picture("camera", 256)
    sigma = np.linspace(5, 30, 256)[None, :]
    noisy = clean + sigma * rng.standard_normal(clean.shape)
    found = sure(gaussian(0.9), noisy, sigma)
    assert found.mse == pytest.approx(np.mean((gaussian(0.9)(noisy) - clean) ** 2), abs=3 * found.error)
    assert found.error < 0.05 * found.mse


def test_noise_models(rng: np.random.Generator) -> None:
    """A model, a number and an array that say the same give the same; Poisson noise has the level of the result."""
    clean = picture("camera", 128)
    noisy = add_noise(clean, 12.0, seed=4)
    found = sure(gaussian(0.9), noisy, 12.0)
    for same in (Noise.gaussian(12.0), Noise.map(np.full((128, 1), 12.0)), np.full((1, 128), 12.0)):
        assert sure(gaussian(0.9), noisy, same) == found
    camera = Noise.poisson_gaussian(2.0, 0.0, 3.0)
    counts = 2.0 * rng.poisson(clean / 2) + 3 * rng.standard_normal(clean.shape)
    found = sure(gaussian(0.9), counts, camera)
    assert found == sure(gaussian(0.9), counts, camera.std(gaussian(0.9)(counts)))
    assert found.mse == pytest.approx(np.mean((gaussian(0.9)(counts) - clean) ** 2), abs=3 * found.error)


def test_levels_per_channel_anywhere(rng: np.random.Generator) -> None:
    noisy = picture("astronaut", 64) + [5.0, 10.0, 20.0] * rng.standard_normal((64, 64, 3))
    last = sure(lambda image: 0.7 * image, noisy, [5.0, 10.0, 20.0])
    assert last == sure(lambda image: 0.7 * image, noisy, Noise.gaussian([5.0, 10.0, 20.0]), channel_axis=-1)
    first = sure(lambda image: 0.7 * image, np.moveaxis(noisy, -1, 0), [5.0, 10.0, 20.0], channel_axis=0)
    assert first.mse == pytest.approx(last.mse) and first.residual == pytest.approx(last.residual)


def test_wrong_noise_is_refused_before_any_work() -> None:
    def never(image: NDArray[Any]) -> NDArray[Any]:
        pytest.fail("the denoiser was called")

    for noise, words in [
        (Noise.from_spectrum(np.ones((8, 8))), "has a spectrum"),
        (Noise(), "the noise level is 0"),
        (Noise.gaussian([1.0, 2.0, 3.0]), "does not fit"),
    ]:
        with pytest.raises(ValueError, match=words):
            sure(never, np.ones((8, 8)), noise)


@pytest.mark.parametrize(
    ("values", "span"),
    [
        (np.array([0, 200], np.uint8), (0, 255)),
        (np.array([812] * 50 + [4095] * 50, np.uint16), (812, 4095)),
        (np.array([0.1, 0.9]), (0, 1)),
        (np.array([0.0] * 50 + [0.01] * 50), (0, 0.01)),
        (np.array([3.0, 200.0]), (0, 255)),
        (np.array([3] * 50 + [900] * 50, np.int32), (3, 900)),
        (np.array([0] * 999 + [4000] * 1000 + [65535], np.uint16), (0, 4000)),
        (np.array([-1e6] * 50 + [1e6] * 50), (-1e6, 1e6)),
        (np.array([7.0] * 50 + [7.0] * 50) * 1e4, (7e4, 7e4 + 1)),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_the_range_of_the_psnr(values: NDArray[Any], span: tuple[float, float]) -> None:
    assert span_of(values, values.astype(np.float64)) == pytest.approx(span)
    assert span_of(values, values.astype(np.float64), 10.0) == (0, 10)


def test_the_range_is_named() -> None:
    noisy = np.random.default_rng(0).normal(2000, 9, (64, 64))
    noisy[:, :32] += 500
    own, given = (sure(gaussian(1.0), noisy, 9.0, peak=peak) for peak in (None, 255.0))
    assert "dB of the own range of the image 1" in str(own) and own.span is not None and own.peak == np.ptp(own.span)
    assert "dB for the range 0 to 255" in str(given)


def test_an_error_too_small_to_be_seen() -> None:
    """Sixteen pixels cannot tell an error of a hundredth of the noise: no upper end, and JSON has no infinity."""
    clean = np.full((4, 4), 100.0)
    found = [sure(lambda image: np.full(image.shape, 100.0), add_noise(clean, 9.0, seed), 9.0) for seed in range(4)]
    assert all(each.interval[1] == math.inf for each in found)
    assert any(each.psnr == math.inf for each in found)
    for each in found:
        read = json.loads(json.dumps(each.as_dict(), allow_nan=False))
        assert read["interval"][1] is None
        assert read["mse"] == each.mse
        assert "dB" in str(each)


def test_the_image_is_not_touched() -> None:
    noisy = add_noise(picture("coins", 32), 9.0, seed=3)
    before = noisy.copy()

    def in_place(image: NDArray[Any]) -> NDArray[Any]:
        image *= 0.5
        return image

    sure(in_place, noisy, 9.0)
    np.testing.assert_array_equal(noisy, before)


@pytest.mark.parametrize(
    ("denoiser", "sigma", "message"),
    [
        (np.copy, 0.0, "noise must be > 0"),
        (np.copy, -1.0, "noise must be > 0"),
        (np.copy, np.nan, "noise holds 1 NaN"),
        (np.copy, np.ones(7), "does not fit an image of shape"),
        (lambda image: image[1:], 1.0, "the result of denoiser needs the shape of noisy"),
        (lambda image: image * np.nan, 1.0, "the result of denoiser holds 64 NaN"),
    ],
    ids=["zero", "negative", "nan", "shape", "cropped", "nan-result"],
)
def test_wrong_values(denoiser: Filter, sigma: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sure(denoiser, np.ones((8, 8)), sigma)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="denoiser must be a function"):
        sure(3, np.ones((8, 8)), 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="probes must be at least 1"):
        sure(np.copy, np.ones((8, 8)), 1.0, probes=0)
    with pytest.raises(ValueError, match="peak must be"):
        sure(np.copy, np.ones((8, 8)), 1.0, peak=0.0)
