"""A picture: pixels as stored, what their axes mean, how far apart neighbours are, and what else the file said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import read_only
from epitomes.formats.errors import ImageFileError

Pixels = NDArray[Any]

LETTERS = "TZCYX"  # time, depth, channel, height, width
MOST_COLOURS = 4  # a last axis of at most so many channels is a colour; more are pictures of their own


class Metadata(Protocol):
    """What one family of formats carries from its reader to its writer; opaque to all others."""

    @property
    def title(self) -> str:
        """What it is, for people: "the FITS header"; "" if nobody would miss it."""
        ...


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels in C order with one letter per axis, out of T, Z, C, Y and X; Y comes before X.

    Axes that are not given are guessed from the shape. Pixels cannot be written to; `replace` gives the same picture
    with others.
    """

    pixels: Pixels
    axes: str = ""
    spacing: Mapping[str, float] = field(default_factory=dict)  # letter -> distance of neighbours, where it is known
    units: Mapping[str, str] = field(default_factory=dict)  # letter -> unit of that distance: "um", "mm", "s", "deg"
    alpha: Pixels | None = None  # transparency, carried along and never worked on: the shape without C
    metadata: Metadata | None = None
    name: str = ""  # of the file, without its folder
    notes: tuple[str, ...] = ()  # what reading changed or left out, in words for people

    def __post_init__(self) -> None:
        pixels = _plain(self.pixels)
        axes = self.axes or guessed_axes(pixels.shape)
        _require_axes(axes, pixels.shape)
        alpha = None if self.alpha is None else _plain(self.alpha)
        if alpha is not None and alpha.shape != (expected := without_channel(pixels.shape, axes)):
            raise ImageFileError(f"alpha needs the shape {expected}, got {alpha.shape}")
        known = {letter: float(step) for letter, step in self.spacing.items() if letter in axes}
        if wrong := {letter: step for letter, step in known.items() if not 0 < step < math.inf}:
            raise ImageFileError(f"spacing must be finite and above 0, got {wrong}")
        object.__setattr__(self, "pixels", read_only(pixels))
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "spacing", MappingProxyType(known))
        units = {letter: unit for letter, unit in self.units.items() if letter in known and unit}
        object.__setattr__(self, "units", MappingProxyType(units))
        object.__setattr__(self, "alpha", None if alpha is None else read_only(alpha))

    def replace(self, pixels: ArrayLike) -> Picture:
        """The same picture with other pixels: shape, axes, spacing and all that the file said stay."""
        array = np.asarray(pixels)
        if array.shape != self.pixels.shape:
            raise ValueError(f"pixels need the shape {self.pixels.shape} of the picture, got {array.shape}")
        return replace(self, pixels=array)


def as_picture(pixels: Picture | ArrayLike) -> Picture:
    """An array as a picture, with axes guessed from its shape; a picture as it is."""
    return pixels if isinstance(pixels, Picture) else Picture(np.asarray(pixels))


def guessed_axes(shape: tuple[int, ...]) -> str:
    """The axes of an array that nobody described: a short last axis is taken for colours.

    >>> guessed_axes((512, 512)), guessed_axes((512, 512, 3)), guessed_axes((20, 512, 512)), guessed_axes((9, 7, 5))
    ('YX', 'YXC', 'ZYX', 'YXC')
    """
    if not 2 <= len(shape) <= 5:
        raise ImageFileError(
            f"a picture needs 2 to 5 axes, for example the shape (height, width) or (height, width, channels), "
            f"got {shape}"
        )
    shorter = len(shape) == 3 and shape[2] < 16 and shape[2] < min(shape[:2])
    colour = len(shape) > 2 and (shape[-1] <= MOST_COLOURS or shorter)
    usual = ("YX", "YXC", "ZYXC", "TZYXC") if colour else ("YX", "ZYX", "TZYX", "TCZYX")
    return next(axes for axes in usual if len(axes) == len(shape))


def without_channel(shape: tuple[int, ...], axes: str) -> tuple[int, ...]:
    """A shape without its C axis."""
    return tuple(length for length, letter in zip(shape, axes, strict=True) if letter != "C")


def ordered(pixels: Pixels, axes: str, order: str) -> tuple[Pixels, str]:
    """The same pixels with their axes in another order, and these axes; letters of `order` they lack are left out."""
    goal = "".join(letter for letter in order if letter in axes)
    return pixels.transpose([axes.index(letter) for letter in goal]), goal


def colour_last(axes: str) -> bool:
    """Whether the channels are the last axis, as colours are stored."""
    return axes.endswith("C")


def _plain(pixels: ArrayLike) -> Pixels:
    """Native, C-contiguous real numbers; what they are already is not copied."""
    array = np.asarray(pixels)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise ImageFileError(f"it holds {array.dtype}, and a picture needs whole numbers or floats of at most 64 bits")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _require_axes(axes: str, shape: tuple[int, ...]) -> None:
    if len(axes) != len(shape):
        raise ImageFileError(f"axes {axes!r} name {len(axes)} axes, the picture has the shape {shape}: name each once")
    if len(set(axes)) != len(axes) or not set(axes) <= set(LETTERS):
        raise ImageFileError(f"axes are letters out of {LETTERS}, each at most once, got {axes!r}")
    if "Y" not in axes or "X" not in axes or axes.index("X") < axes.index("Y"):
        raise ImageFileError(f"axes need Y and, after it, X, got {axes!r}: transpose the pixels first")
    if min(shape) < 1:
        raise ImageFileError(f"a picture has at least one pixel, got the shape {shape}")
