"""Clipped pixels are told from dark counts, and constant ones from noise."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.noise.valid_pixels import clipped_pixels, constant_pixels


@pytest.mark.parametrize("sigma", [3.0, 25.0])
def test_clipped(sigma: float, rng: np.random.Generator) -> None:
    """Noise cut off at both ends, rounded or not."""
    noise = sigma * rng.standard_normal((128, 128))
    ramp = np.linspace(0, 255, 128)
    for image in (np.clip(ramp + noise, 0, 255), np.clip(np.rint(ramp + noise), 0, 255)):
        limits, clipped = clipped_pixels(image)
        assert limits == [0, 255]
        np.testing.assert_array_equal(clipped, (image == 0) | (image == 255))


@pytest.mark.parametrize("light", [0.1, 0.5, 2.0])
def test_dark_counts_are_not_clipped(light: float, rng: np.random.Generator) -> None:
    """Pixels without a count are many, and continue the histogram of the others."""
    picture = light * (1 + np.indices((128, 128)).sum(axis=0) / 64)
    counts = 8.5 * rng.poisson(picture)
    assert (counts == 0).mean() > 0.005
    assert clipped_pixels(counts)[0] == []


def test_drawings_and_margins_are_clipped(rng: np.random.Generator) -> None:
    two_values = np.where(np.indices((64, 64)).sum(axis=0) % 16 < 8, 0.0, 1.0)
    assert clipped_pixels(two_values)[0] == [0, 1]
    framed = 50 + rng.standard_normal((64, 64))
    framed[:, :4] = 0
    assert clipped_pixels(framed)[0] == [0]


def test_constant_pixels(rng: np.random.Generator) -> None:
    image = rng.integers(0, 2, (30, 40)).astype(np.float64)
    expected = [
        [0 < i < 29 and 0 < j < 39 and np.ptp(image[i - 1 : i + 2, j - 1 : j + 2]) == 0 for j in range(40)]
        for i in range(30)
    ]
    np.testing.assert_array_equal(constant_pixels(image), expected)
    assert np.any(expected)
