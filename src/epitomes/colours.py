"""Colours: orthonormal turns of the channels, lightness first, which leave white noise white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Rows: lightness, red against blue, green against both. Orthonormal."""


def lightness_first(n_channels: int) -> NDArray[np.float64]:
    """An orthonormal matrix whose first row is the mean of all channels, but for its length."""
    return OPPONENT if n_channels == len(OPPONENT) else np.asarray(helmert(n_channels, full=True))
