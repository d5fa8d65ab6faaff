"""Units: the pictures of a stored image that are denoised by themselves, and samples of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from epitomes.formats.picture import Pixels
from epitomes.formats.stored import StoredImage
from epitomes.layout import Layout, Place

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

    def sample(self, place: Place) -> Pixels:
        """A unit, or what stands for it: blocks of a large image side by side, the middle of a large volume."""
        if math.prod(self.shape) <= MOST_SAMPLE:
            return self.read(place, ())
        if self.at_once != 2:
            return self.read(place, middle(self.spatial, MOST_SAMPLE / math.prod(self.shape)))
        channels = math.prod(self.shape[2:])
        side = math.isqrt(MOST_SAMPLE // channels) // BLOCKS
        rows, columns = (evenly(n, BLOCKS, side) for n in self.spatial)
        lines = [np.concatenate([self.read(place, (row, column)) for column in columns], axis=1) for row in rows]
        return np.concatenate(lines, axis=0)

    def shown(self) -> Pixels:
        """The part on which noise is estimated: of the unit in the middle, neither the flattest nor the busiest."""
        places = list(self.places())
        place = places[len(places) // 2]
        if self.at_once != 2 or math.prod(self.spatial) <= SHOWN**2:
            return self.read(place, middle(self.spatial, min(1.0, SHOWN**2 / math.prod(self.spatial))))
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
            return float(np.var(self.read(place, glance), dtype=np.float64))

        ranked = sorted((contrast(corner), number) for number, corner in enumerate(corners))
        ranked = [each for each in ranked if each[0] > 0] or ranked  # what is constant shows no noise
        return self.read(place, corners[ranked[len(ranked) // 2][1]])


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
