"""Memory: what tiles need, and the largest tile that fits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epitomes.layout import Layout
from epitomes.restoration import Plan
from epitomes.restoration.whole_image import Support
from epitomes.scale.tiles import largest_window

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
PROCESS = 200 * 2**20  # bytes of a worker before it gets a tile: interpreter, libraries, open files
SIDE = 512  # of a chunk; tiles are multiples of it, or smaller and chunks of their own
LEAST = 64  # side of the smallest tile
MOST = 8192
LEAST_DEEP = 16  # the same for volumes
OVERHEAD = 1.15  # of the pixels that are read, over those that are written, up to which a tile is large enough
FILLING = 70  # bytes per pixel of a plane while its bad pixels are replaced, as measured
MOST_USED = 4 * 2**30  # bytes of a tile if no limit is given
USUAL, USUAL_DEEP = 1024, 64  # side from which tiles are large enough


class MemoryLimitError(ValueError):
    """A memory limit that no tile fits in; `value` is one that would do."""

    argument = "memory"

    def __init__(self, message: str, value: str) -> None:
        super().__init__(message)
        self.value = value


def bytes_of(memory: int | str) -> int:
    """Return a number of bytes that is given as one, or in units, such as "2G" or "500MiB".

    >>> bytes_of("2G"), bytes_of("1.5 MiB"), bytes_of(4096)
    (2147483648, 1572864, 4096)
    """
    if isinstance(memory, bool) or not isinstance(memory, (int, str)):
        raise TypeError(f"memory must be a number of bytes or a text such as '2G', got {memory!r}")
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", str(memory), re.IGNORECASE)
    value = 0 if found is None else int(float(found[1]) * UNITS[found[2].upper()])
    if value < 1:
        raise ValueError(f"memory must be a number of bytes or a text such as '2G', got {memory!r}")
    return value


@dataclass(frozen=True)
class Room:
    """What the tiles of one job need."""

    plan: Plan  # settled, for one picture
    shape: tuple[int, ...]  # of a picture: spatial axes, and channels if there are any
    dtype: np.dtype[Any]
    support: Support
    chunk: int  # bytes that are decoded at once
    workers: int
    masked: bool = False  # whether bad pixels are replaced by others, which may lie further outside

    def of_tile(self, tile: tuple[int, ...]) -> int:
        """Bytes that one tile needs, besides those of its process."""
        axes = self.plan.layout.spatial
        window = (*largest_window(self.shape[:axes], tile, self.support), *self.shape[axes:])
        whole = replace(self.plan, layout=Layout.of(window, self.plan.layout.channel_axis, axes))
        values = math.prod(window)
        needed = whole.memory + values * (2 * self.dtype.itemsize + 8)
        return max(needed, self._of_filling(tile) if self.masked else 0) + 2 * self.chunk

    def _of_filling(self, tile: tuple[int, ...]) -> int:
        """Bytes while bad pixels are replaced: pixels, a copy, flags, and distances with the places of the nearest."""
        reach = [math.ceil((1 + 2 * math.sqrt(2)) * side) + 2 for side in self.support.halo]
        wider = largest_window(self.shape[: len(tile)], tile, Support(tuple(reach), (2,) * len(tile)))
        return (
            math.prod((*wider, *self.shape[len(tile) :])) * (2 * self.dtype.itemsize + 3)
            + math.prod(wider[-2:]) * FILLING
        )

    def total(self, tile: tuple[int, ...], shared: bool) -> int:
        """Bytes of all workers and of the process that leads them; `shared`: they are threads of it."""
        return PROCESS * (1 if shared else self.workers + 1) + self.workers * self.of_tile(tile)

    def tile(self, memory: int | None, shared: bool) -> tuple[int, ...]:
        """The smallest tile that reads little more than it writes, or the largest that fits in memory."""
        sides = candidates(len(self.support.halo))
        usual = USUAL_DEEP if len(sides[0]) > 2 else USUAL
        best = next((tile for tile in sides if tile[0] >= usual and self.overhead(tile) <= OVERHEAD), sides[-1])
        if memory is None:  # where passes reach far, no tile may be large enough
            return next(
                (tile for tile in reversed(sides) if tile <= best and self.of_tile(tile) <= MOST_USED), sides[0]
            )
        if self.total(best, shared) <= memory:
            return best
        fitting = [tile for tile in sides if tile < best and self.total(tile, shared) <= memory]
        if not fitting:
            least = math.ceil(self.total(sides[0], shared) / 2**20)
            raise MemoryLimitError(
                f"memory {memory / 2**20:.0f} MB is too little for {self.workers} workers: the smallest tiles need "
                f"about {least} MB",
                f"{least}M",
            )
        return fitting[-1]

    def overhead(self, tile: tuple[int, ...]) -> float:
        """Pixels that are read, over those that are written."""
        tile = tuple(map(min, tile, self.shape))
        window = largest_window(self.shape[: len(tile)], tile, self.support)
        return math.prod(window) / math.prod(tile)


def candidates(axes: int) -> list[tuple[int, ...]]:
    """Sides of tiles, smallest first."""
    least = LEAST_DEEP if axes > 2 else LEAST
    sides = [side for side in (16, 32, 64, 128, 256, *range(SIDE, MOST + 1, SIDE)) if side >= least]
    return [(side,) * axes for side in sides]


def require_tile(tile: int | tuple[int, ...], axes: int) -> tuple[int, ...]:
    """Check the sides of a tile that is given; one side stands for all axes."""
    sides = (tile,) * axes if isinstance(tile, int) else tuple(tile)
    if len(sides) != axes or any(type(side) is not int or side < 1 for side in sides):
        raise ValueError(f"tile needs {axes} whole numbers above 0, got {tile!r}")
    for side in sides[-2:]:
        if side > SIDE and side % SIDE:
            raise ValueError(
                f"tile {side} must be a multiple of {SIDE}, the side of a chunk, so that no two tiles write one: use "
                f"{max(1, round(side / SIDE)) * SIDE}"
            )
    return sides
