"""Shifted squares are compared as the specification in NumPy says, and squares that leave their image are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.kernels import _native, reference_motion

Singles = NDArray[np.float32]
NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]


def places(rng: np.random.Generator, side: int) -> tuple[Singles, Singles, list[NDArray[np.int64]]]:
    plane, other = rng.standard_normal((50, 61), np.float32), rng.standard_normal((57, 49), np.float32)
    tops, lefts = rng.integers(0, 50 - side, 4, endpoint=True), rng.integers(0, 61 - side, 5, endpoint=True)
    rows, columns = (rng.integers(0, size - side, (3, 4, 5), endpoint=True) for size in other.shape)
    return plane, other, [tops, lefts, rows, columns]


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize(("side", "step"), [(1, 1), (6, 1), (10, 1), (16, 2), (17, 3), (36, 2), (49, 1)])
def test_differences_are_those_of_the_specification(isa: str, side: int, step: int, rng: np.random.Generator) -> None:
    plane, other, where = places(rng, side)
    found, expected = np.full((2, 3, 4, 5), np.nan, np.float32)
    native: Any = _native.compare_squares
    native(kernels.isas.index(isa), plane, other, *where, side, step, found)
    reference_motion.compare_squares(plane, other, *where, side, step, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_square_compared_with_itself(rng: np.random.Generator) -> None:
    plane = rng.standard_normal((30, 30), np.float32)
    at = np.arange(3, dtype=np.int64)
    rows, columns = np.ascontiguousarray(np.broadcast_arrays(at[None, :, None], at[None, None]))
    assert (kernels.compare_squares(plane, plane, at, at, rows, columns, 20, 2) == 0).all()


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("at", [-1, 100])
def test_squares_that_leave_their_image(which: int, at: int, rng: np.random.Generator) -> None:
    plane, other, where = places(rng, 9)
    where[which].flat[-1] = at
    native: Any = _native.compare_squares
    with pytest.raises(ValueError, match="leaves the image"):
        native(0, plane, other, *where, 9, 1, np.empty((3, 4, 5), np.float32))
