"""Level: how noisy known pixels are, where too few of them lie together for the estimators of whole images."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

ENOUGH = 400  # triples of known pixels in a block
FLAT = 0.25  # quantile over blocks: the flatter ones hold little but noise
NORMAL = 0.6745  # median of the absolute values of a normal variable


def level_of(picture: Doubles, unknown: Flags) -> float:
    """Standard deviation of white noise: second differences of known neighbours, in the flatter blocks of the image.

    The median absolute difference of a block tells the level; texture makes it larger, hence the low quantile. The
    channels of `(height, width, channels)` are taken together.
    """
    differences, valid = _second_differences(picture, unknown)
    n = int(valid.sum())
    if n == 0:
        return 0.0
    side = max(16, math.ceil(math.sqrt(ENOUGH * unknown.size / n)))
    levels = []
    for top in range(0, unknown.shape[0], side):
        for left in range(0, unknown.shape[1], side):
            block = (slice(None), slice(top, top + side), slice(left, left + side))
            found = differences[block][valid[block]]
            if len(found) >= ENOUGH // 2:
                levels.append(float(np.median(np.abs(found))))
    typical = np.quantile(levels, FLAT) if levels else np.median(np.abs(differences[valid]))
    return float(typical) / NORMAL


def _second_differences(picture: Doubles, unknown: Flags) -> tuple[Doubles, Flags]:
    """`(x[i-1] - 2 x[i] + x[i+1]) / sqrt(6)` down and across, and where all three are known."""
    known = ~unknown
    found = np.zeros((2, *picture.shape))
    valid = np.zeros((2, *unknown.shape), np.bool_)
    found[0, 1:-1] = picture[:-2] - 2 * picture[1:-1] + picture[2:]
    valid[0, 1:-1] = known[:-2] & known[1:-1] & known[2:]
    found[1, :, 1:-1] = picture[:, :-2] - 2 * picture[:, 1:-1] + picture[:, 2:]
    valid[1, :, 1:-1] = known[:, :-2] & known[:, 1:-1] & known[:, 2:]
    return np.where(valid[..., None], found / math.sqrt(6), 0.0), valid
