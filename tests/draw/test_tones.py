"""Tones: the same value is the same grey, wherever it stands."""

from __future__ import annotations

import numpy as np

from epitomes.draw.tones import amounts, enlarged, grey_levels, robust_range, shown


def test_shown_stretches_nothing() -> None:
    np.testing.assert_array_equal(shown([[-5.0, 0.0, 99.6, 255.0, 300.0]]), [[0, 0, 100, 255, 255]])
    np.testing.assert_array_equal(shown(np.array([[0, 257, 65535]], np.uint16)), [[0, 1, 255]])
    np.testing.assert_array_equal(shown([[0.0, 0.5, 1.0]], peak=1.0), [[0, 128, 255]])


def test_grey_levels_are_monotone_and_constant_is_grey(rng: np.random.Generator) -> None:
    values = np.sort(rng.standard_normal(200))
    greys = grey_levels(values, -1.0, 1.0)
    assert (np.diff(greys.astype(int)) >= 0).all() and greys[0] == 0 and greys[-1] == 255
    assert (grey_levels(np.full((3, 3), 7.0), 7.0, 7.0) == 128).all()


def test_robust_range_ignores_outliers_and_sees_all_pictures(rng: np.random.Generator) -> None:
    pictures = [rng.uniform(0, 1, (50, 50)), rng.uniform(5, 6, (50, 50))]
    pictures[0][0, 0] = 1e9
    low, high = robust_range(pictures)
    assert -0.01 < low < 0.1 and 5.9 < high < 6.01


def test_amounts_grow_brighter() -> None:
    colours = amounts(np.linspace(0, 1, 64), 1.0) @ np.array([0.2126, 0.7152, 0.0722])
    assert (np.diff(colours) >= -1).all() and colours[-1] - colours[0] > 150
    assert (amounts(np.zeros((2, 2)), 0.0) == amounts(np.zeros((2, 2)), 1.0)).all()


def test_enlarged_repeats() -> None:
    large = enlarged(np.array([[1, 2]], np.uint8), 3)
    np.testing.assert_array_equal(large, [[1, 1, 1, 2, 2, 2]] * 3)
