"""Units: the pictures of a stored image that are denoised by themselves, and samples of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.filling import Flags, filled
from epitomes.formats.picture import Pixels
from epitomes.formats.stored import StoredImage
from epitomes.layout import Layout, Place
from epitomes.restoration.whole_image import Support
from epitomes.scale.masks import MOST_REACH, StoredMask, reach_of_holes
from epitomes.scale.tiles import Tile, tiles_of, within

MOST_SAMPLE = 2**22  # values of a sample: of smaller pictures everything is settled on the whole
BLOCKS = 4  # along each axis of an image, of which a sample of a larger one is made
SHOWN = 1024  # side of the part on which noise is estimated
LOOKED_AT = 3  # parts along each axis, of which the one of middling contrast is taken
GLANCE = 128  # side of what is read of each


@dataclass(frozen=True, eq=False)
class Units:
    """How a stored image falls into pictures, or planes of them, that a method works on at once."""

    image: StoredImage
    at_once: int  # spatial axes
    mask: StoredMask | None = None

    @cached_property
    def layout(self) -> Layout:
        """The meaning of the axes."""
        return self.image.layout

    @cached_property
    def letters(self) -> str:
        """Letters of the axes with the channels last."""
        axes, channel = self.image.axes, self.layout.channel_axis
        return axes if channel is None else axes.replace("C", "") + "C"

    @property
    def counted(self) -> str:
        """Letters of the axes along which units are counted."""
        return self.letters[: len(self.letters) - len(self.shape)]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a unit, channels last."""
        return self.layout.picture_shape[self.layout.spatial - self.at_once :]

    @property
    def spatial(self) -> tuple[int, ...]:
        """Its spatial axes."""
        return self.shape[: self.at_once]

    def places(self) -> Iterator[Place]:
        """Where each unit is."""
        sides = dict(zip(self.image.axes, self.image.shape, strict=True))
        yield from np.ndindex(*(sides[letter] for letter in self.counted))

    def window(self, place: Place, window: tuple[slice, ...]) -> dict[str, slice]:
        """A part of a unit by letters."""
        inside = dict(zip(self.letters[len(self.counted) :], window, strict=False))
        return {letter: slice(at, at + 1) for letter, at in zip(self.counted, place, strict=True)} | inside

    def read(self, place: Place, window: tuple[slice, ...]) -> Pixels:
        """A part of a unit, channels last."""
        part = self.layout.canonical(self.image.read(self.window(place, window)))
        return np.ascontiguousarray(part.reshape(part.shape[len(self.counted) :]))

    def masked(self, place: Place, window: tuple[slice, ...]) -> tuple[Pixels, Flags | None]:
        """A part of a unit, and which of its pixels must not be used: those of the mask, and missing ones (NaN)."""
        pixels = self.read(place, window)
        bad: Flags = np.zeros((1,) * pixels.ndim, np.bool_)
        if self.mask is not None:
            bad = self.mask.read(self.window(place, window), self.letters)
            bad = bad.reshape(bad.shape[len(self.counted) :])
        if pixels.dtype.kind == "f":
            infinite = ~np.isfinite(pixels)
            if infinite.any():
                bad = bad | np.isnan(pixels)
                if (infinite & ~bad).any():
                    raise ValueError("the image holds infinite values: cover them with mask, or set them to NaN")
        return pixels, np.broadcast_to(bad, pixels.shape) if bad.any() else None

    def filled(self, place: Place, tile: Tile, halo: tuple[int, ...]) -> Pixels:
        """The window of a tile with good pixels in place of its bad ones, as in the whole image.

        They are right where they reach into a good pixel of the tile; others may be anything.
        """
        wide, grown, everything = tile.window, 0, tuple(slice(0, n) for n in self.spatial)
        while True:
            pixels, bad = self.masked(place, wide)
            layout, inner = self._layout(pixels), within(tile.core, wide)
            reach = 0.0 if bad is None else reach_of_holes(bad, inner, halo, layout)
            if bad is None or reach <= grown:
                break
            if wide[-2:] == everything[-2:]:
                if math.isfinite(reach):
                    break
                raise ValueError(
                    "a whole plane or channel is missing beside others that are not, and what takes its place depends "
                    "on the whole image: leave it out of the store"
                )
            grown = math.ceil(reach) if math.isfinite(reach) else max(64, 2 * grown)
            if grown > MOST_REACH:
                raise ValueError(
                    f"no good pixel is within {MOST_REACH} pixels of bad ones that are needed beside good ones of "
                    "other planes or channels: mask all of them there"
                )
            # Of two middle ones, neighbours are taken by turns, as on a chessboard: its fields are those of the image.
            wide = tuple(
                slice(max(0, part.start - grown) // 2 * 2, min(n, part.stop + grown))
                if axis >= self.at_once - 2
                else part
                for axis, (part, n) in enumerate(zip(tile.window, self.spatial, strict=True))
            )
        found = pixels if bad is None else filled(pixels, bad, layout)
        return np.ascontiguousarray(found[within(tile.window, wide)])

    def sample(self, place: Place) -> tuple[Pixels | None, bool]:
        """A unit, or what stands for it: blocks of a large image side by side, the middle of a large volume.

        Good pixels take the place of bad ones. None: all pixels of the unit are bad. And whether any of them are.
        """
        parts = [[self.masked(place, window) for window in line] for line in self._sampled()]
        pixels = _joined([[part for part, _ in line] for line in parts])
        if all(flags is None for line in parts for _, flags in line):
            return pixels, False
        bad = _joined(
            [[np.zeros(part.shape, np.bool_) if flags is None else flags for part, flags in line] for line in parts]
        )
        if bad.all():
            return self._good_elsewhere(place) if math.prod(self.shape) > MOST_SAMPLE else None, True
        return filled(pixels, bad, self._layout(pixels)), True

    def _sampled(self) -> list[list[tuple[slice, ...]]]:
        """Windows of a unit, side by side, that stand for it."""
        if math.prod(self.shape) <= MOST_SAMPLE:
            return [[tuple(slice(0, n) for n in self.spatial)]]
        if self.at_once != 2:
            return [[middle(self.spatial, MOST_SAMPLE / math.prod(self.shape))]]
        side = math.isqrt(MOST_SAMPLE // math.prod(self.shape[2:])) // BLOCKS
        rows, columns = (evenly(n, BLOCKS, side) for n in self.spatial)
        return [[(row, column) for column in columns] for row in rows]

    def _good_elsewhere(self, place: Place) -> Pixels | None:
        """A part of a unit that is half good, or has the most good pixels; None: there are none."""
        sides = [SHOWN if axis >= self.at_once - 2 else 16 for axis in range(self.at_once)]
        found, most = None, 0
        for tile in tiles_of(self.spatial, tuple(sides), Support((0,) * self.at_once, (1,) * self.at_once)):
            pixels, bad = self.masked(place, tile.core)
            good = pixels.size if bad is None else int((~bad).sum())
            if good > most:
                found, most = pixels if bad is None else filled(pixels, bad, self._layout(pixels)), good
            if 2 * most >= pixels.size:
                break
        return found

    def _layout(self, pixels: Pixels) -> Layout:
        """The meaning of the axes of a part."""
        return Layout.of(pixels.shape, None if self.layout.channel_axis is None else -1, self.at_once)

    def shown(self) -> Pixels:
        """The part on which noise is estimated: of the unit in the middle, neither the flattest nor the busiest."""
        places = list(self.places())
        place = places[len(places) // 2]
        if self.at_once != 2 or math.prod(self.spatial) <= SHOWN**2:
            return self._good_part(place, middle(self.spatial, min(1.0, SHOWN**2 / math.prod(self.spatial))))
        corners = [
            (row, column)
            for row in evenly(self.spatial[0], LOOKED_AT, SHOWN)
            for column in evenly(self.spatial[1], LOOKED_AT, SHOWN)
        ]

        def contrast(corner: tuple[slice, slice]) -> float:
            glance = tuple(
                slice((part.start + part.stop - GLANCE) // 2, (part.start + part.stop + GLANCE) // 2)
                if part.stop - part.start > GLANCE
                else part
                for part in corner
            )
            pixels, bad = self.masked(place, glance)
            good = pixels if bad is None else pixels[~bad]
            return float(np.var(good, dtype=np.float64)) if good.size else 0.0

        ranked = sorted((contrast(corner), number) for number, corner in enumerate(corners))
        ranked = [each for each in ranked if each[0] > 0] or ranked  # what is constant shows no noise
        return self._good_part(place, corners[ranked[len(ranked) // 2][1]])

    def _good_part(self, place: Place, window: tuple[slice, ...]) -> Pixels:
        """A part with good pixels in place of bad ones; if all are bad, the first other one that will do."""
        pixels, bad = self.masked(place, window)
        if bad is not None:
            if not bad.all():
                return filled(pixels, bad, self._layout(pixels))
            found = next((good for each in self.places() if (good := self._good_elsewhere(each)) is not None), None)
            if found is None:
                raise ValueError("every pixel of the image is masked or missing (NaN): check the mask")
            return found
        return pixels


def _joined(parts: list[list[Any]]) -> NDArray[Any]:
    """Parts of a grid, side by side."""
    lines = [np.concatenate(line, axis=1) if len(line) > 1 else line[0] for line in parts]
    return np.concatenate(lines) if len(lines) > 1 else np.asarray(lines[0])


def evenly(n: int, parts: int, side: int) -> list[slice]:
    """Parts of this side, evenly spaced along an axis: in the middle of equal shares of it."""
    side = min(side, n // parts) if n >= parts else n
    if side * parts > n or side == n:
        return [slice(0, n)]
    return [slice(first, first + side) for first in ((2 * k + 1) * n // (2 * parts) - side // 2 for k in range(parts))]


def middle(shape: tuple[int, ...], share: float) -> tuple[slice, ...]:
    """The middle of a picture, with about this share of its pixels."""
    scale = share ** (1 / len(shape))
    sides = [max(min(n, 16), math.floor(n * scale)) for n in shape]
    return tuple(slice((n - side) // 2, (n - side) // 2 + side) for n, side in zip(shape, sides, strict=True))
