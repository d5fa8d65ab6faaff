"""Planes: the parts of a picture that are worked on one at a time.

A plane is a grey picture "YX", or a colour picture "YXC" whose channels belong together. Volumes, stacks, video and
channels that are pictures of their own are cut along all other axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from epitomes.formats.picture import MOST_COLOURS, Picture, Pixels, colour_last


@dataclass(frozen=True, eq=False)
class Plane:
    """A view of one plane, and its place: `pixels` is `picture.pixels[index]`."""

    pixels: Pixels
    index: tuple[int | slice, ...]
    label: str  # for people: "T 3, Z 0", or "" where the picture is one plane


def is_colour(picture: Picture) -> bool:
    """Whether the channels are colours, to be worked on together: the last axis, of 2 to 4 channels."""
    return colour_last(picture.axes) and 2 <= picture.pixels.shape[-1] <= MOST_COLOURS


def plane_axes(picture: Picture) -> str:
    """The axes of each plane: "YX" or "YXC"."""
    return "YXC" if is_colour(picture) else "YX"


def count_planes(picture: Picture) -> int:
    """How many planes there are."""
    kept = plane_axes(picture)
    lengths = (n for n, letter in zip(picture.pixels.shape, picture.axes, strict=True) if letter not in kept)
    return int(np.prod([1, *lengths]))


def planes(picture: Picture) -> Iterator[Plane]:
    """The planes of a picture, first axis slowest.

    >>> [plane.label for plane in planes(Picture(np.zeros((2, 2, 8, 8)), "TZYX"))]
    ['T 0, Z 0', 'T 0, Z 1', 'T 1, Z 0', 'T 1, Z 1']
    """
    kept = plane_axes(picture)
    cut = [i for i, letter in enumerate(picture.axes) if letter not in kept]
    for place in np.ndindex(*(picture.pixels.shape[i] for i in cut)):
        index: list[int | slice] = [slice(None)] * len(picture.axes)
        for i, at in zip(cut, place, strict=True):
            index[i] = at
        label = ", ".join(f"{picture.axes[i]} {at}" for i, at in zip(cut, place, strict=True))
        yield Plane(picture.pixels[tuple(index)], tuple(index), label)


def joined(picture: Picture, parts: Iterable[Pixels]) -> Picture:
    """The picture with new planes, in the order of `planes`; all parts have one dtype, which becomes the picture's."""
    pixels: Pixels | None = None
    for plane, part in zip(planes(picture), parts, strict=True):
        if part.shape != plane.pixels.shape:
            raise ValueError(f"plane {plane.label or 0} needs the shape {plane.pixels.shape}, got {part.shape}")
        if pixels is None:
            pixels = np.empty(picture.pixels.shape, part.dtype)
        elif part.dtype != pixels.dtype:
            raise ValueError(f"all planes need one dtype, got {pixels.dtype} and {part.dtype}")
        pixels[plane.index] = part
    return picture.replace(picture.pixels if pixels is None else pixels)
