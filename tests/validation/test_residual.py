"""audit: noise alone passes, lost detail and noise that was left are found, and found where they are."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from audit_cases import add_noise, fast, gaussian, median, picture
from scipy.ndimage import gaussian_filter

from epitomes.validation import audit

PICTURES = ("camera", "coins", "gravel")


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
        assert any("oversmoothed" in each for each in found.advice)
        assert not any("undersmoothed" in each for each in found.advice)
    for result in (fast(sigma / 2)(noisy), (noisy + good) / 2, gaussian(0.3)(noisy)):
        found = audit(noisy, result, sigma)
        assert found.verdict == "warn"
        assert any("undersmoothed" in each for each in found.advice)
        assert not any("oversmoothed" in each for each in found.advice)


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
    assert any("noise was left" in reason for reason in high.reasons)


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
    found = audit(noisy, restored, 20.0)
    assert found.leak_map.shape == (128, 128)
    first = audit(np.moveaxis(noisy, -1, 0), np.moveaxis(restored, -1, 0), 20.0, channel_axis=0)
    scaled = audit(noisy / 255, restored / 255, 20.0 / 255)
    for other in (first, scaled):
        assert other.verdict == found.verdict
        np.testing.assert_allclose(other.leak_map, found.leak_map, rtol=1e-9, atol=1e-9)
        assert other.taken_fine == pytest.approx(found.taken_fine)


def test_eight_bits() -> None:
    """Noise that is cut off at 0 and 255 is neither white nor of variance sigma^2: such pixels are left out."""
    clean = picture("astronaut")
    noisy = np.clip(np.rint(add_noise(clean, 20.0, seed=9)), 0, 255).astype(np.uint8)
    before = noisy.copy()
    found = audit(noisy, clean.astype(np.uint8), 20.0)
    assert found.verdict == "pass", str(found)
    assert found.variance == pytest.approx(1.0, abs=0.02)
    assert 0.2 < found.clipped < 0.8
    assert audit(noisy, gaussian(3.0)(noisy), 20.0).verdict == "warn"
    assert audit(noisy, noisy, 20.0).verdict == "warn"
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
    assert found.verdict == "warn"  # no noise was taken from an image that is said to be noisy
    assert found.autocorrelation == (0.0,) * 4
    assert found.image_correlation == 0.0


@pytest.mark.parametrize(
    ("noisy", "restored", "options", "message"),
    [
        (np.ones((32, 32)), np.ones((32, 31)), {}, "restored needs the shape of noisy"),
        (np.ones((32, 8)), np.ones((32, 8)), {}, "sides of at least 16"),
        (np.ones((9, 32, 32)), np.ones((9, 32, 32)), {}, "give one plane at a time"),
        (np.ones((32, 32)), np.ones((32, 32)), {"channel_axis": 2}, "channel_axis 2 is outside"),
        (np.full((32, 32), np.inf), np.ones((32, 32)), {}, "noisy holds 1024 NaN or infinite"),
    ],
    ids=["shape", "small", "volume", "channels", "infinite"],
)
def test_wrong_values(noisy: Any, restored: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        audit(noisy, restored, 1.0, **options)
