"""Surroundings: the median and the spread of the pixels around each pixel, in bands of lines.

A sorting network ranks the surroundings of all pixels of a band at once, so a band is all that is held in memory.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.noise.planes import Floats, evenly_spaced

Pixels = NDArray[Any]
Offsets = tuple[tuple[int, int], ...]

BAND = 2**14  # pixels of a band: its ranked surroundings stay in the cache
SAMPLE_BANDS = 16  # bands in which the level is measured
LEVELS = 32  # classes of brightness, each with its own typical spread
UNEVEN = 1.3  # typical spreads that surroundings may have before their own spread counts

INNER: Offsets = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
OUTER: Offsets = tuple((2 * i, 2 * j) for i, j in INNER)
MARGIN = 2  # their reach
QUARTILES = 1.1400187  # standard deviations between the fifth and the twelfth of 16 values of white noise


@dataclass(frozen=True, eq=False)
class Level:
    """The typical spread of surroundings, which may depend on their brightness."""

    edges: Floats  # of the classes of brightness
    spreads: Floats  # one more
    step: float  # the smallest between values, and the least spread: few counts often have none

    @classmethod
    def of(cls, plane: Pixels, step: float) -> Level:
        """The level of a plane, whose values differ by `step` or more."""
        centre, spread = (
            np.concatenate([part.reshape(-1) for part in parts])
            for parts in zip(*map(surroundings, sample_bands(plane)), strict=True)
        )
        classes = np.unique(np.quantile(centre, np.arange(1, LEVELS) / LEVELS, method="lower"))
        edges = classes - step / 4  # between values: rounding cannot move a pixel to another class
        number = np.searchsorted(edges, centre)
        spreads = [float(np.median(spread[number == n])) if (number == n).any() else 0.0 for n in range(len(edges) + 1)]
        return cls(edges, np.array(spreads), step)

    def measure(self, padded: Floats) -> tuple[Floats, Floats]:
        """Median of the surroundings of each pixel of a band, and the unit of distances from it."""
        centre, spread = surroundings(padded)
        typical = np.maximum(self.spreads[np.searchsorted(self.edges, centre)], self.step)
        return centre, np.maximum(typical, spread / UNEVEN)


def smallest_step(plane: Pixels) -> float:
    """The smallest difference between values of a plane that is not constant, as far as a sample shows."""
    values = np.unique(
        np.concatenate([[plane.min(), plane.max()], *(band.reshape(-1) for band in sample_bands(plane))])
    )
    return float(np.diff(values).min())


def bands(plane: Pixels) -> range:
    """First lines of the bands of a plane."""
    return range(0, len(plane), max(1, BAND // plane.shape[1]))


def sample_bands(plane: Pixels) -> Iterator[Floats]:
    """Evenly spaced bands of a plane, with their margins."""
    firsts = bands(plane)
    yield from (padded_band(plane, firsts[each]) for each in evenly_spaced(len(firsts), SAMPLE_BANDS))


def padded_band(plane: Pixels, first: int) -> Floats:
    """A band of a plane with its margin, mirrored at the edges."""
    n, width = plane.shape
    lines = np.arange(first - MARGIN, min(n, first + bands(plane).step) + MARGIN)
    rows, columns = (
        np.abs((each + length - 1) % (2 * length - 2) - (length - 1))
        for each, length in ((lines, n), (np.arange(-MARGIN, width + MARGIN), width))
    )
    return np.asarray(plane[np.ix_(rows, columns)], np.float64)


def surroundings(padded: Floats) -> tuple[Floats, Floats]:
    """Median and spread of the pixels around each pixel of a band."""
    rank = ranked(shifted(padded, INNER + OUTER))
    return median(rank), (rank[11] - rank[4]) / QUARTILES


def shifted(padded: Floats, offsets: Offsets) -> list[Floats]:
    """Views of a band without its margin, each shifted by one of the offsets."""
    rows, columns = (length - 2 * MARGIN for length in padded.shape)
    return [padded[MARGIN + i : MARGIN + i + rows, MARGIN + j : MARGIN + j + columns] for i, j in offsets]


@functools.cache
def sorting_network(n: int) -> tuple[tuple[int, int], ...]:
    """Comparisons that sort n values, a power of two: Batcher's merge exchange (Knuth, volume 3, algorithm 5.2.2M)."""
    pairs: list[tuple[int, int]] = []
    p = n // 2
    while p:
        q, r, d = n // 2, 0, p
        while d > 0:
            pairs += [(i, i + d) for i in range(n - d) if i & p == r]
            d, q, r = q - p, q // 2, p
        p //= 2
    return tuple(pairs)


def ranked(values: list[Floats]) -> list[Floats]:
    """The same arrays, sorted entry by entry. For so few, a network is ten times as fast as `np.sort`."""
    rank = list(values)
    for low, high in sorting_network(len(rank)):
        rank[low], rank[high] = np.minimum(rank[low], rank[high]), np.maximum(rank[low], rank[high])
    return rank


def median(rank: list[Floats]) -> Floats:
    """The mean of the two in the middle of an even number of ranked arrays."""
    return (rank[len(rank) // 2 - 1] + rank[len(rank) // 2]) / 2
