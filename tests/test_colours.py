"""Colours: orthonormal turns, lightness first."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.colours import OPPONENT, lightness_first


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_turns_are_orthonormal_and_the_first_row_is_the_mean(n: int) -> None:
    turn = lightness_first(n)
    np.testing.assert_allclose(turn @ turn.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(turn[0], n**-0.5)


def test_three_channels_are_opponent_colours() -> None:
    assert lightness_first(3) is OPPONENT
