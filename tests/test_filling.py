"""Missing values (NaN): not used, and left as they are or filled, wherever an image is taken."""

from __future__ import annotations

import numpy as np
import pytest
from restoration_cases import grey, with_noise

from epitomes import Plan, denoise, estimate_noise, plan, restore
from epitomes.filling import filled, missing_values
from epitomes.layout import Layout

SIGMA = 20.0


@pytest.fixture
def holed() -> np.ndarray:
    noisy = with_noise(grey("camera", 64), SIGMA)
    noisy[10:14, 20:30] = np.nan
    noisy[40, 41] = np.nan
    return noisy


def test_nan_is_left_or_filled(holed: np.ndarray) -> None:
    before = holed.copy()
    left, done = (restore(holed, SIGMA, preset="fast", fill=fill) for fill in (False, True))
    np.testing.assert_array_equal(np.isnan(left.image), np.isnan(holed))
    assert np.isfinite(done.image).all() and np.isfinite(left.estimate).all()
    assert "41 of 4096 values are missing (NaN): they were not used, and are left as they are" in left.notes
    assert "41 of 4096 values are missing (NaN): they were not used, and were filled" in done.notes
    np.testing.assert_array_equal(holed, before)
    masked = denoise(np.nan_to_num(holed, nan=1e4), SIGMA, preset="fast", mask=np.isnan(holed), fill=True)
    np.testing.assert_array_equal(done.image, masked)


def test_nan_and_a_mask(holed: np.ndarray) -> None:
    bad = np.zeros(holed.shape, bool)
    bad[50:53, 5:9] = True
    found = denoise(holed, SIGMA, preset="fast", mask=bad)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(holed))
    np.testing.assert_array_equal(found[bad], holed[bad])


def test_noise_is_estimated_without_them(holed: np.ndarray) -> None:
    assert estimate_noise(holed).level == pytest.approx(SIGMA, rel=0.15)
    assert plan(holed).noise.level == pytest.approx(SIGMA, rel=0.15)
    assert isinstance(plan(holed, SIGMA, preset="fast"), Plan)


def test_plans_take_other_images_with_nan(holed: np.ndarray) -> None:
    made = plan(np.nan_to_num(holed, nan=100.0), SIGMA, preset="fast")
    assert np.isnan(made.run(holed).image).sum() == 41


def test_a_plane_of_nan() -> None:
    """Scans often begin and end with planes of which nothing is known."""
    volume = with_noise(np.full((3, 24, 24), 90.0), 5.0)
    volume[0] = np.nan
    found = denoise(volume, 5.0, preset="fast")
    assert np.isnan(found[0]).all() and np.isfinite(found[1:]).all()


def test_nothing_but_nan_and_infinity(holed: np.ndarray) -> None:
    for call in (denoise, estimate_noise, plan):
        with pytest.raises(ValueError, match="image holds nothing but NaN, 400 times"):
            call(np.full((20, 20), np.nan))
    holed[0, 0], holed[1, 1] = np.inf, -np.inf
    with pytest.raises(ValueError, match=r"2 infinite values, of 4096: leave them out with mask=np.isinf\(image\)"):
        denoise(holed, SIGMA)
    found = denoise(holed, SIGMA, preset="fast", mask=np.isinf(holed))
    assert np.isinf(found).sum() == 2 and np.isnan(found).sum() == 41


def test_whole_numbers_are_never_missing() -> None:
    assert missing_values(np.zeros((3, 3), np.uint8)) is None and missing_values(np.zeros((3, 3))) is None
    image = np.arange(9.0).reshape(3, 3)
    mask = np.zeros((3, 3), bool)
    mask[1, 1] = True
    assert filled(image, mask, Layout.of((3, 3)))[1, 1] in (3.0, 5.0)


@pytest.mark.parametrize(
    ("scale", "dtype", "sigma", "words"),
    [
        (1 / 255, float, 25.0, r"sigma 25 .* 0 to 1: .* did you mean 0.098 \(25 / 255\)"),
        (1, np.uint8, 5000.0, r"sigma 5000 .* did you mean 19.5 \(5000 / 257\)"),
        (16, np.uint16, 9000.0, "leave it out, and it is estimated"),
    ],
)
def test_levels_that_cannot_be_meant(scale: float, dtype: type, sigma: float, words: str) -> None:
    clean = grey("camera", 48)
    clean = 255 * (clean - clean.min()) / np.ptp(clean)
    for call in (denoise, plan):
        with pytest.raises(ValueError, match=words):
            call((scale * clean).astype(dtype), sigma)
