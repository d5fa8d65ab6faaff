"""Noise of colours: made plausible at low frequencies, left alone elsewhere and where it is not that of a camera."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.noise.colour_noise import LIMITS, MEAN, TOGETHER, is_coarse, plausible
from epitomes.noise.dct_blocks import ORDER


def camera_power(fall: float, together: float = 0.0) -> np.ndarray:
    """Lightness of level 4, and colours that fall with the frequency."""
    deviation = np.stack([np.full(64, 4.0), *[8.0 / (1 + ORDER) ** fall] * 2], axis=1)
    correlation = np.eye(3)
    correlation[0, 2] = correlation[2, 0] = together
    return deviation[:, :, None] * correlation * deviation[:, None, :]


def correlations(power: np.ndarray, one: int, other: int) -> np.ndarray:
    return power[:, one, other] / np.sqrt(power[:, one, one] * power[:, other, other])


@pytest.mark.parametrize("scale", [0, 1])
def test_lightness_and_green_go_together_at_low_frequencies(scale: int) -> None:
    given = camera_power(1.5)
    found = plausible(given.copy(), scale)
    for order, least in enumerate(TOGETHER[scale]):
        np.testing.assert_allclose(correlations(found, 0, 2)[order == ORDER], least, atol=1e-6)
    fine = len(TOGETHER[scale]) <= ORDER
    np.testing.assert_allclose(found[fine], given[fine], rtol=1e-6, atol=1e-9)
    assert (np.linalg.eigvalsh(found) > 0).all()


def test_a_stronger_correlation_stays() -> None:
    given = camera_power(1.5, together=0.8)
    np.testing.assert_allclose(correlations(plausible(given, 0), 0, 2), 0.8, atol=1e-6)


def test_shading_of_colours_is_limited() -> None:
    given = camera_power(1.5)
    given[ORDER == 1, 1, 1] *= 100
    found = np.sqrt(plausible(given, 0)[:, 1, 1]).reshape(8, 8)
    assert found[0, 1] == pytest.approx(LIMITS[0] * found[0, 3])
    assert found[0, 0] == pytest.approx(MEAN[0] * found[0, 1])


def test_only_coarse_colours_are_those_of_a_camera() -> None:
    assert is_coarse(camera_power(1.5))
    assert not is_coarse(camera_power(0.0))
    assert not is_coarse(camera_power(1.5)[:, :1, :1])
    assert not is_coarse(np.zeros((64, 3, 3)))
