"""Planar images: channels first, in units of the noise, turned so that the first holds most of what they share.

The turn is orthonormal, so white noise stays white and keeps its level. Large images are converted slab by slab: no
float64 copy of the whole is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike, NDArray

from epitomes.checks import Array
from epitomes.colours import CELL, turn_of
from epitomes.groups.matching import Planar
from epitomes.restoration.whole_image import WholeImage

SLAB = 2**20  # values of a channel that are converted at once

Turn = NDArray[np.float64] | None  # a row for each new channel; None: channels are left as they are


def to_planar(image: Array, mean: float, sigma: float, turn: Turn) -> Planar:
    """`(height, width[, channels])` to `(channels, 1, height, width)`: `(image - mean) / sigma`, channels turned."""
    channels = image.reshape(*image.shape[:2], -1)
    n = channels.shape[2]
    planar = np.empty((n, 1, *image.shape[:2]), np.float32)
    for rows in _slabs(image.shape[:2]):
        values = [(channels[rows, :, c].astype(np.float64) - mean) / sigma for c in range(n)]
        for c, value in enumerate(_turned(values, turn)):
            planar[c, 0, rows] = value
    return planar


def from_planar(
    planar: Planar, mean: float, sigma: float, turn: Turn, shape: tuple[int, ...], dtype: DTypeLike
) -> Array:
    """The inverse of `to_planar`."""
    image = np.empty((*planar.shape[2:], len(planar)), dtype)
    for rows in _slabs(planar.shape[2:]):
        values = [channel[0, rows].astype(np.float64) for channel in planar]
        for c, value in enumerate(_turned(values, None if turn is None else turn.T)):
            image[rows, :, c] = value * sigma + mean
    return image.reshape(shape)


def _turned(values: list[NDArray[np.float64]], turn: Turn) -> list[NDArray[np.float64]]:
    if turn is None:
        return values
    first, *rest = zip(*turn, strict=True)  # columns: the order of the sums is that of the channels
    turned = [factor * values[0] for factor in first]
    for value, column in zip(values[1:], rest, strict=True):
        for row, factor in zip(turned, column, strict=True):
            row += factor * value
    return turned


def turn_for(whole: WholeImage, part: Array) -> Turn:
    """The turn of the channels of a part: that of the whole."""
    if part.shape[2:] == (len(CELL),):
        return CELL if whole.turned else None
    return turn_of(part)


def _slabs(shape: tuple[int, ...]) -> Iterator[slice]:
    height, width = shape
    step = max(1, SLAB // width)
    yield from (slice(first, first + step) for first in range(0, height, step))
