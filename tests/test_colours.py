"""Colours: orthonormal turns, lightness first."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.colours import CELL, OPPONENT, lightness_first, turn_of


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_turns_are_orthonormal_and_the_first_row_is_the_mean(n: int) -> None:
    turn = lightness_first(n)
    np.testing.assert_allclose(turn @ turn.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(turn[0], n**-0.5)


def test_three_channels_are_opponent_colours() -> None:
    assert lightness_first(3) is OPPONENT


def test_the_turn_of_bayer_cells() -> None:
    np.testing.assert_allclose(CELL @ CELL.T, np.eye(4), atol=1e-12)
    red, first, second, blue = np.eye(4)
    np.testing.assert_allclose(CELL @ (first - second), [0, 0, 0, 2**0.5], atol=1e-12)  # greens differ in one row only
    np.testing.assert_allclose(CELL @ (first + second), CELL @ (red + blue) * [1, -1, 0, 0], atol=1e-12)


def test_four_channels_are_turned_if_they_vary_together(rng: np.random.Generator) -> None:
    alike = np.repeat(rng.standard_normal((40, 50, 1)), 4, axis=-1) + 0.5 * rng.standard_normal((40, 50, 4))
    assert turn_of(alike) is CELL and turn_of(alike[..., :3]) is OPPONENT
    unlike = rng.standard_normal((40, 50, 4)) * [1, 2, 3, 4]
    assert turn_of(unlike) is None and turn_of(alike[..., :2]) is None and turn_of(alike[..., 0]) is None
