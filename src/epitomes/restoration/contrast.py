"""The contrast of an image: the standard deviation that it would have without its noise."""

from __future__ import annotations

import math

import numpy as np

from epitomes.checks import Array

SLAB = 2**24  # values of which a float64 copy is made at once


def contrast(noisy: Array, sigma: float) -> float:
    """`sqrt(variance - sigma^2)`, at least a tenth of sigma."""
    return math.sqrt(max(variance(noisy) - sigma**2, (0.1 * sigma) ** 2))


def variance(values: Array) -> float:
    """The variance in float64; of large arrays slab by slab, without a copy of the whole."""
    if values.size <= SLAB:
        return float(np.var(values, dtype=np.float64))
    flat = values.reshape(-1)
    mean = flat.mean(dtype=np.float64)
    squares = [
        float(np.sum(np.square(np.subtract(flat[first : first + SLAB], mean, dtype=np.float64))))
        for first in range(0, flat.size, SLAB)
    ]
    return math.fsum(squares) / flat.size
