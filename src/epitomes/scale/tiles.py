"""Tiles: an image in parts that are written by themselves, each with the pixels around it that reach into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from epitomes.restoration.whole_image import Support

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Tile:
    """A part of a picture, along its spatial axes."""

    core: Slices  # of the picture: what is written
    window: Slices  # of the picture: what is read
    inner: Slices  # of the window: the core


def tiles_of(shape: tuple[int, ...], tile: tuple[int, ...], support: Support) -> Iterator[Tile]:
    """Cut a picture into tiles, first axis slowest; their windows begin on the grid of the method."""
    axes = [
        [_along(first, min(first + side, n), n, halo, grid) for first in range(0, n, side)]
        for n, side, halo, grid in zip(shape, tile, support.halo, support.grid, strict=True)
    ]
    for parts in product(*axes):
        cores, windows, inners = zip(*parts, strict=True)
        yield Tile(cores, windows, inners)


def within(part: Slices, window: Slices) -> Slices:
    """A part of a picture as one of a window of it."""
    return tuple(
        slice(mine.start - all_of.start, mine.stop - all_of.start) for mine, all_of in zip(part, window, strict=True)
    )


def n_tiles(shape: tuple[int, ...], tile: tuple[int, ...]) -> int:
    """How many tiles there are."""
    n = 1
    for length, side in zip(shape, tile, strict=True):
        n *= -(-length // side)
    return n


def largest_window(shape: tuple[int, ...], tile: tuple[int, ...], support: Support) -> tuple[int, ...]:
    """The sides of the largest window that a tile needs."""
    return tuple(
        min(n, side + 2 * halo + grid - 1)
        for n, side, halo, grid in zip(shape, tile, support.halo, support.grid, strict=True)
    )


def _along(first: int, last: int, n: int, halo: int, grid: int) -> tuple[slice, slice, slice]:
    begin, end = max(0, first - halo) // grid * grid, min(n, last + halo)
    return slice(first, last), slice(begin, end), slice(first - begin, last - begin)
