"""Outliers: pixels so far from the others that float32 cannot hold the noise beside them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array

MOST_RANGE = 1e5  # times sigma: groups are in float32, whose rounding would be felt beyond
OUTLYING = 0.49 * MOST_RANGE  # times sigma, from the median: what is left has less than that range
MOST_OUTLIERS = 0.01  # share of the pixels


def outliers_of(image: Array, sigma: float) -> NDArray[np.bool_] | None:
    """Pixels that are too far from the others for float32 to hold the noise beside them; None if there are none."""
    if float(image.max()) - float(image.min()) <= MOST_RANGE * sigma:
        return None
    pixels = np.asarray(image, np.float64)
    return np.asarray(np.abs(pixels - np.median(pixels)) > OUTLYING * sigma)


def is_too_faint(outliers: NDArray[np.bool_]) -> bool:
    """Whether so many pixels are outliers that the noise cannot be removed beside the image."""
    return float(outliers.mean()) > MOST_OUTLIERS
