"""audit: noise alone passes, lost detail and noise that was left are found, and found where they are."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from validation_cases import add_noise, fast, gaussian, median, picture

from epitomes.noise import Noise, kernel_spectrum
from epitomes.validation import Audit, audit

PICTURES = ("camera", "coins", "gravel")


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [8.0, 20.0])
@pytest.mark.parametrize("name", PICTURES)
def test_verdicts(name: str, sigma: float) -> None:
    noisy = add_noise(picture(name), sigma, seed=11)
    good = fast(sigma)(noisy)
    found = audit(noisy, good, sigma)
    assert found.verdict == "pass", str(found)
    assert found.reasons == ()
    assert found.advice == ()
    for result in (fast(2 * sigma)(noisy), gaussian(3.0)(noisy), median(9)(noisy)):
        found = audit(noisy, result, sigma)
        assert found.verdict == "warn"
        assert any("Oversmoothed" in each for each in found.advice)
        assert not any("Undersmoothed" in each for each in found.advice)
    for result in (fast(sigma / 2)(noisy), (noisy + good) / 2, gaussian(0.3)(noisy)):
        found = audit(noisy, result, sigma)
        assert found.verdict == "warn"
        assert any("Undersmoothed" in each for each in found.advice)
        assert not any("Oversmoothed" in each for each in found.advice)


def test_noise_alone() -> None:
    """The truth as the result: the residual is white, and its measures have the values of white noise."""
    clean = picture("camera", 512)
    found = audit(add_noise(clean, 15.0, seed=4), clean, 15.0)
    assert found.verdict == "pass"
    assert found.variance == pytest.approx(1.0, abs=0.01)
    assert found.edges == pytest.approx(1.0, abs=0.03)
    np.testing.assert_allclose(found.autocorrelation, 0.0, atol=0.01)
    np.testing.assert_allclose(found.spectrum, 1.0, atol=0.06)
    assert abs(found.image_correlation) < 0.01
    assert abs(found.gradient_correlation) < 0.01
    assert found.leak_map.shape == clean.shape
    assert found.leak_map.std() == pytest.approx(1.0, abs=0.05)  # a standard normal variable
    assert found.leak < 2e-4


def test_flat_noise_has_nothing_to_hide(rng: np.random.Generator) -> None:
    """On a constant image everything finer than the image is noise: both shares of the noise are 1."""
    noisy = rng.standard_normal((300, 300))
    found = audit(noisy, np.zeros_like(noisy), 1.0)
    assert found.taken == pytest.approx(1.0, abs=0.06)
    assert found.taken_fine == pytest.approx(1.0, abs=0.06)


def test_small_pictures_raise_no_false_alarm(rng: np.random.Generator) -> None:
    """One window that is alike by chance is much of a small picture, and few pixels have an uncertain variance."""
    whole, alarms = picture("camera", 512), 0
    for seed in range(100):
        row, column = rng.integers(0, 512 - 32, 2)
        clean = whole[row : row + 32, column : column + 32]
        alarms += audit(add_noise(clean, 15.0, seed), clean, 15.0).verdict == "warn"
    assert alarms <= 2


def test_leaks_are_found_where_they_are() -> None:
    clean = picture("brick", 256)
    restored = clean.copy()
    restored[64:128, 128:224] = gaussian_filter(clean, 4.0)[64:128, 128:224]
    found = audit(add_noise(clean, 10.0, seed=5), restored, 10.0)
    assert found.verdict == "warn"
    assert "structure" in found.reasons[0]
    inside = np.zeros(clean.shape, bool)
    inside[64:128, 128:224] = True
    assert np.mean(found.leak_map[inside] > 4) > 0.5
    far = ~gaussian_filter(inside.astype(float), 8.0).astype(bool)
    assert np.mean(found.leak_map[far] > 4) < 1e-3


def test_a_wrong_sigma_is_noticed() -> None:
    clean = picture("coins", 256)
    noisy = add_noise(clean, 12.0, seed=6)
    low, high = audit(noisy, clean, 9.0), audit(noisy, clean, 16.0)
    assert low.verdict == high.verdict == "warn"
    assert any("variance" in reason for reason in low.reasons)
    assert {"high", "left"}.intersection(high.reason_kinds)


def test_a_map_of_noise(rng: np.random.Generator) -> None:
    clean = picture("camera", 256)
    sigma = np.linspace(5, 40, 256)[:, None]
    noisy = clean + sigma * rng.standard_normal(clean.shape)
    assert audit(noisy, clean, sigma).verdict == "pass"
    assert audit(noisy, clean, float(sigma.mean())).verdict == "warn"


def test_layouts_units_and_types() -> None:
    clean = picture("astronaut", 128)
    noisy = add_noise(clean, 20.0, seed=7)
    restored = gaussian(1.0)(noisy)
    found = audit(noisy, restored, 20.0, channel_axis=-1)
    assert found.leak_map.shape == (128, 128) and found.planes == ()
    first = audit(np.moveaxis(noisy, -1, 0), np.moveaxis(restored, -1, 0), 20.0, channel_axis=0)
    scaled = audit(noisy / 255, restored / 255, 20.0 / 255, channel_axis=-1)
    for other in (first, scaled):
        assert other.verdict == found.verdict
        np.testing.assert_allclose(other.leak_map, found.leak_map, rtol=1e-9, atol=1e-9)
        assert other.taken_fine == pytest.approx(found.taken_fine)


def numbers(found: Audit) -> dict[str, Any]:
    return {name: value for name, value in found.as_dict().items() if name != "planes"}


def test_noise_models(rng: np.random.Generator) -> None:
    """A model, a number and an array that say the same give the same."""
    clean = picture("camera", 128)
    noisy = add_noise(clean, 15.0, seed=1)
    found = audit(noisy, gaussian(1.0)(noisy), 15.0)
    for same in (Noise.gaussian(15), Noise.map(np.full((128, 1), 15.0)), np.full((128, 128), 15.0)):
        assert numbers(audit(noisy, gaussian(1.0)(noisy), same)) == numbers(found)
    colour = picture("astronaut", 128)
    noisy = colour + [5.0, 10.0, 20.0] * rng.standard_normal(colour.shape)
    found = audit(noisy, colour, Noise.gaussian([5.0, 10.0, 20.0]), channel_axis=-1)
    assert found.verdict == "pass" and found.variance == pytest.approx(1.0, abs=0.03)
    first = audit(np.moveaxis(noisy, -1, 0), np.moveaxis(colour, -1, 0), [5.0, 10.0, 20.0], channel_axis=0)
    assert first.variance == pytest.approx(found.variance) and first.verdict == "pass"


def test_counted_light(rng: np.random.Generator) -> None:
    clean = picture("camera", 256)
    noisy = 4.0 * rng.poisson(clean / 4) + 2 * rng.standard_normal(clean.shape)
    found = audit(noisy, clean, Noise.poisson_gaussian(4.0, 0.0, 2.0))
    assert found.verdict == "pass", str(found)
    assert found.variance == pytest.approx(1.0, abs=0.03)
    assert audit(noisy, clean, float(np.std(noisy - clean))).verdict == "warn"


def test_correlated_noise_is_whitened(rng: np.random.Generator) -> None:
    """The truth as the result passes, if the spectrum of the noise is known; as white noise it does not."""
    clean, kernel = picture("camera", 256), np.outer([1, 2, 1], [1, 2, 1]) / 4
    white = 12 * rng.standard_normal(clean.shape)
    noisy = clean + np.fft.ifft2(np.fft.fft2(white) * np.fft.fft2(kernel, clean.shape)).real
    noisy += rng.standard_normal(clean.shape)
    noise = Noise.from_spectrum(kernel_spectrum(kernel, clean.shape, sigma=12) + 1)
    found = audit(noisy, clean, noise)
    assert found.verdict == "pass", str(found)
    np.testing.assert_allclose(found.spectrum, 1.0, atol=0.1)
    assert audit(noisy, clean, noise.level).verdict == "warn"


class TestVolumesAndStacks:
    def test_measures_are_averages_over_planes(self) -> None:
        clean = np.stack([picture("camera", 64), picture("coins", 64), picture("brick", 64)])
        noisy = add_noise(clean, 15.0, seed=2)
        restored = np.stack([gaussian(1.5)(plane) for plane in noisy])
        found = audit(noisy, restored, 15.0)
        alone = [audit(*pair, 15.0) for pair in zip(noisy, restored, strict=True)]
        for name in ("variance", "taken", "taken_fine", "edges", "leak", "autocorrelation", "spectrum", "clipped"):
            expected = np.mean([getattr(each, name) for each in alone], axis=0)
            np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-12)
        assert found.planes == (0, 1, 2) and found.leak_map.shape == (3, 64, 64)
        for plane, each in zip(found.leak_map, alone, strict=True):
            np.testing.assert_array_equal(plane, each.leak_map)
        assert numbers(audit(noisy, restored, 15.0, spatial=2)) == numbers(found)

    @pytest.mark.parametrize("axis", [0, 1, 2, -1])
    def test_channels_anywhere_and_a_level_per_picture(self, axis: int, rng: np.random.Generator) -> None:
        clean = np.stack([picture("astronaut", 64)] * 4)
        sigma = np.array([5.0, 10.0, 15.0, 20.0]).reshape(4, 1, 1, 1)
        noisy = clean + sigma * rng.standard_normal(clean.shape)
        given = [np.moveaxis(each, -1, axis) for each in (noisy, clean, sigma)]
        found = audit(given[0], given[1], Noise.map(given[2]), channel_axis=axis, spatial=2)
        assert found.verdict == "pass" and found.leak_map.shape == (4, 64, 64)
        assert found.variance == pytest.approx(1.0, abs=0.02)

    def test_many_planes_are_sampled(self, rng: np.random.Generator) -> None:
        noisy = rng.standard_normal((5, 20, 16, 16))
        found = audit(noisy, np.zeros_like(noisy), 1.0, spatial=3)
        assert len(found.planes) == len(found.leak_map) == 32
        assert (found.planes[0], found.planes[-1]) == (0, 99)
        np.testing.assert_array_equal(
            found.leak_map[7], audit(noisy.reshape(100, 16, 16)[found.planes[7]], np.zeros((16, 16)), 1.0).leak_map
        )

    def test_more_pixels_tell_more(self) -> None:
        """An excess that one small plane has by chance, many planes do not."""
        rng = np.random.default_rng(3)
        planes = np.sqrt(1.1) * rng.standard_normal((30, 32, 32))
        planes *= np.sqrt(1.1) / planes.std(axis=(1, 2), keepdims=True)
        assert not any("The residual has" in reason for reason in audit(planes[0], 0 * planes[0], 1.0).reasons)
        assert any("The residual has 1.10" in reason for reason in audit(planes, 0 * planes, 1.0).reasons)


def test_eight_bits() -> None:
    """Noise that is cut off at 0 and 255 is neither white nor of variance sigma^2: such pixels are left out."""
    clean = picture("astronaut")
    noisy = np.clip(np.rint(add_noise(clean, 20.0, seed=9)), 0, 255).astype(np.uint8)
    before = noisy.copy()
    found = audit(noisy, clean.astype(np.uint8), 20.0, channel_axis=-1)
    assert found.verdict == "pass", str(found)
    assert found.variance == pytest.approx(1.0, abs=0.02)
    assert 0.2 < found.clipped < 0.8
    assert audit(noisy, gaussian(3.0)(noisy), 20.0, channel_axis=-1).verdict == "warn"
    assert audit(noisy, noisy, 20.0, channel_axis=-1).verdict == "warn"
    np.testing.assert_array_equal(noisy, before)
    ink = np.where(picture("page", 128) > 128, 255, 0)
    assert audit(np.clip(add_noise(ink, 30.0, seed=1), 0, 255), ink, 30.0).clipped == 0.0  # nothing but ends


def test_as_json_and_text() -> None:
    noisy = add_noise(picture("coins", 64), 20.0, seed=8)
    found = audit(noisy, gaussian(4.0)(noisy), 20.0)
    read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert read["verdict"] == "warn"
    assert read["reasons"] == list(found.reasons)
    assert "leak_map" not in read
    assert len(read["autocorrelation"]) == 4
    assert str(found).startswith("warn\n- ")


def test_images_of_one_value() -> None:
    flat = np.full((32, 32), 7, np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = audit(flat, flat, 1.0)
    assert str(found) == "pass: No noise was found: the image was returned as it was."
    assert found.autocorrelation == (0.0,) * 4
    assert found.image_correlation == 0.0


@pytest.mark.parametrize(
    ("noisy", "restored", "options", "message"),
    [
        (np.ones((32, 32)), np.ones((32, 31)), {}, "restored needs the shape of noisy"),
        (np.ones((32, 8)), np.ones((32, 8)), {}, "at least 16 pixels along both axes"),
        (np.ones((32, 32, 3)), np.ones((32, 32, 3)), {}, "pass channel_axis=-1"),
        (np.ones((32, 32)), np.ones((32, 32)), {"spatial": 1}, "got signals"),
        (np.ones((32, 32)), np.ones((32, 32)), {"channel_axis": 2}, "channel_axis 2 is out of range"),
        (np.full((32, 32), np.inf), np.ones((32, 32)), {}, "noisy holds 1024 NaN or infinite"),
    ],
    ids=["shape", "small", "colour", "signals", "channels", "infinite"],
)
def test_wrong_values(noisy: Any, restored: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(noisy, restored, 1.0, **options)
