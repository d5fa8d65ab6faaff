"""Comparison of shifted squares: the NumPy specification of the kernel `compare_squares`."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Index = NDArray[np.int64]


def compare_squares(
    plane: Floats,
    other: Floats,
    tops: Index,
    lefts: Index,
    rows: Index,
    columns: Index,
    side: int,
    step: int,
    differences: Floats,
) -> None:
    """Mean squared differences of squares `(len(tops), len(lefts))` and their candidates in another plane."""
    here, there = (sliding_window_view(image, (side, side))[..., ::step, :] for image in (plane, other))
    change = here[tops[:, None], lefts].astype(np.float64) - there[rows, columns]
    differences[...] = np.square(change).mean(axis=(-2, -1))
