"""Colours: orthonormal turns of the channels, lightness first, which leave white noise white."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Rows: lightness, red against blue, green against both. Orthonormal."""

CELL = np.array([[1, 1, 1, 1], [1, -1, -1, 1], [2**0.5, 0, 0, -(2**0.5)], [0, 2**0.5, -(2**0.5), 0]]) / 2
"""For the four pixels of a Bayer cell. Rows: their mean, green against red and blue, and the two differences."""

SAMPLE = 2**16  # pixels that show whether channels vary together


def lightness_first(n_channels: int) -> NDArray[np.float64]:
    """An orthonormal matrix whose first row is the mean of all channels, but for its length."""
    return OPPONENT if n_channels == len(OPPONENT) else np.asarray(helmert(n_channels, full=True))


def turn_of(image: NDArray[Any]) -> NDArray[np.float64] | None:
    """The turn for an image, channels last: that of colours, or of Bayer cells; None if channels are best left alone.

    Four channels are turned if that makes the product of their variances smaller, as it is where they vary together.
    """
    n_channels = image.shape[-1] if image.ndim == 3 else 1
    if n_channels == len(OPPONENT):
        return OPPONENT
    if n_channels != len(CELL):
        return None
    step = max(1, math.isqrt(image.shape[0] * image.shape[1] // SAMPLE))
    sample = image[::step, ::step].reshape(-1, n_channels).astype(np.float64)
    apart, together = (np.log(np.maximum(values.var(axis=0), 1e-300)).sum() for values in (sample, sample @ CELL.T))
    return CELL if together < apart else None
