"""Grey levels for values of any range, and a colour scale for amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]

# From almost black over blue, teal and green to yellow. Lightness grows evenly, so the scale works in greyscale print
# and with any colour vision.
_AMOUNTS = np.array(
    [(28, 12, 58), (52, 50, 122), (42, 96, 142), (28, 140, 138), (74, 184, 108), (168, 216, 60), (252, 236, 80)], float
)


def shown(image: ArrayLike, *, peak: float | None = None) -> Bytes:
    """Convert an image for the screen: 0 is black, `peak` is white, and values outside are clipped.

    By default `peak` is 255, or 65535 for uint16. The contrast is not stretched, so that images can be compared.
    """
    pixels = np.asarray(image)
    white = (65535.0 if pixels.dtype == np.uint16 else 255.0) if peak is None else peak
    return grey_levels(pixels, 0.0, white)


def grey_levels(values: ArrayLike, low: float, high: float) -> Bytes:
    """Map `low` to 0 and `high` to 255; if both are equal, everything becomes middle grey."""
    pixels = np.asarray(values, np.float64)
    if not high > low:
        return np.full(pixels.shape, 128, np.uint8)
    return np.clip(np.rint(255 * ((pixels - low) / (high - low))), 0, 255).astype(np.uint8)


def robust_range(pictures: Sequence[NDArray[Any]], outside: float = 1.0) -> tuple[float, float]:
    """Find the common range of all pictures, without the lowest and highest `outside` percent of the values."""
    values = np.concatenate([np.asarray(picture, np.float64).reshape(-1) for picture in pictures])
    low, high = np.percentile(values, [outside, 100 - outside])
    return float(low), float(high)


def amounts(values: ArrayLike, most: float) -> Bytes:
    """Map amounts from 0, dark, to `most`, bright, to colours `(..., 3)`."""
    share = np.clip(np.asarray(values, np.float64) / most if most > 0 else np.zeros(np.shape(values)), 0, 1)
    stops = np.linspace(0, 1, len(_AMOUNTS))
    return np.stack([np.rint(np.interp(share, stops, channel)) for channel in _AMOUNTS.T], axis=-1).astype(np.uint8)


def enlarged(pixels: Bytes, factor: int) -> Bytes:
    """Repeat each pixel as a square of `factor` x `factor` pixels."""
    return pixels.repeat(factor, axis=0).repeat(factor, axis=1)
