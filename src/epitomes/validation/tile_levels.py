"""Tile levels: how noisy the parts of an image are, measured without the noise model.

The finest diagonal detail of a tile is mostly noise, because images have least there. What texture adds, it adds to the
level, so the quietest tiles show the noise, and a level is at most what a tile shows. Texture has more energy at half
the size of the image, white noise has not: this limits what texture can have added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.halving import halved
from epitomes.validation.planes import Floats, Number

SIDE = 14  # pixels of a tile; half as many at half the size
KEPT = 0.75  # share of the details of a tile, the smallest, that are averaged: edges are among the others
KEPT_MEAN = 0.5149  # mean of these for a normal variable: 2 (g(0) - g(1.1503)) / 0.75, with its density g
QUIETEST = {0.1: 0.865, 0.25: 0.927}  # quantiles of the levels of tiles under white noise of level 1
QUIETEST_HALF = {0.1: 0.763, 0.25: 0.878}  # the same at half the size
ERROR = {0.1: 0.186, 0.25: 0.151}  # standard deviations of the former, times the root of the number of tiles
TEXTURE = 2.0  # energy of texture at half the size over that in the finest detail, at least


@dataclass(frozen=True, eq=False)
class TileLevels:
    """Levels of the noise in tiles, an entry for each tile of each channel."""

    fine: Floats  # level of the finest detail
    half: Floats  # the same at half the size of the image, scaled such that white noise has its level
    brightness: Floats
    region: NDArray[np.intp]  # where the tile is: one of 4 x 4 parts of the plane

    @classmethod
    def of(cls, noisy: Floats, brightness: Floats, trusted: NDArray[np.bool_]) -> TileLevels:
        """Measure planes `(H, W, C)`, in tiles that are not constant and whose pixels are mostly `trusted`."""
        rows, columns = ((length - 2) // SIDE for length in noisy.shape[:2])
        half = np.stack([2 * halved(plane) for plane in np.moveaxis(noisy, -1, 0)], axis=-1)
        rows, columns = (min(n, (m - 2) // (SIDE // 2)) for n, m in zip((rows, columns), half.shape[:2], strict=True))
        row, column = np.divmod(np.arange(rows * columns), max(columns, 1))
        region = 4 * (4 * row // max(rows, 1)) + 4 * column // max(columns, 1)
        fine = _levels(_tiles(fine_detail(noisy), rows, columns, SIDE))
        kept = (fine > 0) & (_tiles(trusted[1:-1, 1:-1], rows, columns, SIDE).mean(axis=1) >= KEPT)
        return cls(
            fine=fine[kept],
            half=_levels(_tiles(fine_detail(half), rows, columns, SIDE // 2))[kept],
            brightness=_tiles(brightness[1:-1, 1:-1], rows, columns, SIDE).mean(axis=1)[kept],
            region=np.tile(region, noisy.shape[2])[kept],
        )

    @classmethod
    def joined(cls, parts: Iterable[TileLevels]) -> TileLevels:
        """The tiles of several planes."""
        found = list(parts)
        return cls(*(np.concatenate([getattr(part, name) for part in found]) for name in cls.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.fine)

    def where(self, chosen: NDArray[np.bool_]) -> TileLevels:
        """Some of the tiles."""
        return TileLevels(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def most(self, share: float = 0.1) -> float:
        """A level that the noise does not exceed: that of the quietest tiles, of which there is this share."""
        return float(np.quantile(self.fine, share)) / QUIETEST[share]

    def half_size(self, share: float = 0.1) -> float:
        """The level of the quietest tiles at half the size."""
        return float(np.quantile(self.half, share)) / QUIETEST_HALF[share]

    def least(self, share: float = 0.1) -> float:
        """A level that white noise has at least: `most`, without what texture may have added to it."""
        fine, half = self.most(share) ** 2, self.half_size(share) ** 2
        return math.sqrt(max(0.0, fine - max(0.0, half - fine) / (TEXTURE - 1)))

    def error(self, share: float = 0.1) -> float:
        """Standard deviation of `most` under white noise."""
        return ERROR[share] / math.sqrt(len(self))

    def by_brightness(self, count: int, least: int) -> list[TileLevels]:
        """The tiles in so many classes of equal size, the darkest first; classes with fewer than `least` left out."""
        limits = np.quantile(self.brightness, np.arange(1, count) / count)
        return self._groups(np.searchsorted(limits, self.brightness), least)

    def by_region(self, least: int) -> list[TileLevels]:
        """The tiles of each part of the plane; parts with fewer than `least` left out."""
        return self._groups(self.region, least)

    def _groups(self, number: NDArray[np.intp], least: int) -> list[TileLevels]:
        found = [self.where(number == each) for each in np.unique(number)]
        return [each for each in found if len(each) >= least]


def fine_detail(plane: Floats) -> Floats:
    """Second differences along both axes; white noise of variance 1 has variance 1. Two pixels less along both axes."""
    rows = plane[2:] - 2 * plane[1:-1] + plane[:-2]
    out: Floats = (rows[:, 2:] - 2 * rows[:, 1:-1] + rows[:, :-2]) / 6
    return out


def _tiles(plane: NDArray[Number], rows: int, columns: int, side: int) -> NDArray[Number]:
    """(tiles, pixels): squares of a plane `(H, W, C)`, channel by channel."""
    n = plane.shape[2]
    cut = np.moveaxis(plane[: rows * side, : columns * side], -1, 0).reshape(n, rows, side, columns, side)
    return cut.swapaxes(2, 3).reshape(n * rows * columns, side * side)


def _levels(details: Floats) -> Floats:
    """The standard deviation of each row, from its smaller values."""
    n = math.ceil(KEPT * details.shape[1])
    smallest = np.partition(np.abs(details), n - 1, axis=1)[:, :n]
    return np.asarray(smallest.mean(axis=1) / KEPT_MEAN)
