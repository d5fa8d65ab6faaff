"""Planes: files with many pictures, TIFF stacks and Zarr arrays, of which a worker reads only some.

The size and the axes are read from the header. Leading axes count pictures; which axes are leading depends on the
number of axes of a picture, and so on the epitome.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes.formats import ImageFileError, default_max_pixels
from epitomes.formats.errors import library, one_line
from epitomes.formats.ome_zarr import _letters, _multiscales
from epitomes.formats.picture import guessed_axes, require_numbers
from epitomes.formats.registry import suffix_of
from epitomes.formats.tiff import _require_readable, is_tiff

Pixels = NDArray[Any]

LARGE = 2**25  # bytes: smaller files are read as a whole


class Stored(Protocol):
    """An array in a file, of which parts are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, place: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Planes:
    """An open file: an array whose leading axes count pictures, once its colours are the last axis."""

    array: Stored
    axes: str  # one letter per axis, as stored
    coloured: bool = False  # whether C holds colours; otherwise it counts pictures

    @property
    def n_channels(self) -> int:
        """Number of colours."""
        return self.array.shape[self.axes.index("C")] if self.coloured else 1

    def stack(self, n_axes: int) -> tuple[int, ...]:
        """Return the lengths of the axes that count pictures of `n_axes` axes."""
        lengths = dict(zip(self.axes, self.array.shape, strict=True))
        return tuple(lengths[letter] for letter in self._order[: max(0, len(self.axes) - n_axes)])

    def count(self, n_axes: int) -> int:
        """Return the number of pictures of `n_axes` axes."""
        return math.prod(self.stack(n_axes))

    def read(self, first: int, last: int, n_axes: int) -> Pixels:
        """Read the pictures `first` to `last - 1`, stacked along a first axis."""
        stack = self.stack(n_axes)
        return np.stack([self._picture(np.unravel_index(number, stack)) for number in range(first, last)])

    @property
    def _order(self) -> str:
        return f"{self.axes.replace('C', '')}C" if self.coloured else self.axes

    def _picture(self, place: tuple[Any, ...]) -> Pixels:
        fixed = dict(zip(self._order, map(int, place), strict=False))
        pixels = np.asarray(self.array[tuple(fixed.get(letter, slice(None)) for letter in self.axes)])
        left = [letter for letter in self.axes if letter not in fixed]
        return pixels.transpose([left.index(letter) for letter in self._order if letter in left])


def is_large(path: Path) -> bool:
    """Return whether a file may hold so many planes that a worker should not read all of them."""
    if path.is_dir():
        return True
    return suffix_of(path) in (".tif", ".tiff", ".ome.tif", ".ome.tiff", ".btf") and path.stat().st_size >= LARGE


@contextmanager
def opened(path: Path) -> Iterator[Planes]:
    """Open a TIFF file or a Zarr directory; raise an ImageFileError if it cannot be read."""
    try:
        with _zarr(path) if path.is_dir() else _tiff(path) as file:
            require_numbers(file.array.dtype)
            yield file
    except (ImageFileError, MemoryError):
        raise
    except Exception as error:  # a decoder may raise anything on a damaged file
        raise ImageFileError(f"it cannot be read ({one_line(error)}): get another copy") from error


@contextmanager
def _zarr(path: Path) -> Iterator[Planes]:
    zarr = library("zarr", extra="zarr", what="Zarr")
    found: Any = zarr.open(store=zarr.storage.LocalStore(path, read_only=True), mode="r")
    if hasattr(found, "shape"):
        axes = guessed_axes(found.shape)
        yield Planes(found, axes, axes.endswith("C"))
        return
    scales = _multiscales(dict(found.attrs))
    axes = _letters(scales["axes"])
    ours = str(dict(found.attrs).get("epitomes", {}).get("axes", axes))  # colours, if they were the last axis
    yield Planes(found[str(scales["datasets"][0]["path"])], axes, ours.endswith("C"))


@contextmanager
def _tiff(path: Path) -> Iterator[Planes]:
    tifffile = library("tifffile", extra=None, what="TIFF")
    with path.open("rb") as file:
        if not is_tiff(file.read(132)):
            raise ImageFileError("this is not a TIFF image: correct its suffix, or get another copy")
        file.seek(0)
        with tifffile.TiffFile(file, _multifile=False) as tiff:
            series = tiff.series[0]
            page = series.keyframe
            _require_readable(series, page, max(default_max_pixels(), math.prod(series.shape)))
            if "S" in series.axes[:-1]:
                raise ImageFileError("its colours are stored plane by plane")  # such files are read as a whole
            axes = series.axes.replace("S", "C") if series.axes.endswith("S") else series.axes
            if len(set(axes)) < len(axes):
                raise ImageFileError(f"its axes are {series.axes}")
            if series.dataoffset is not None:  # one block of numbers, as ImageJ writes it, without a page for each
                order = np.dtype(series.dtype).newbyteorder(tiff.byteorder)
                whole = np.memmap(path, order, "r", series.dataoffset, series.shape)
                yield Planes(whole, axes, series.axes.endswith("S"))
            else:
                yield Planes(_Pages(series), axes, series.axes.endswith("S"))


class _Pages:
    """The pages of a TIFF series as an array: an index of the leading axes selects one of them."""

    def __init__(self, series: Any) -> None:
        self._series = series
        self.shape: tuple[int, ...] = tuple(map(int, series.shape))
        self.dtype: np.dtype[Any] = np.dtype(series.dtype)
        self._page = tuple(map(int, series.keyframe.shape))
        if self.shape[len(self.shape) - len(self._page) :] != self._page:
            raise ImageFileError(f"its pages of shape {self._page} do not form its shape {self.shape}: save it again")

    def __getitem__(self, index: tuple[Any, ...]) -> Pixels:
        place = [each for each in index if not isinstance(each, slice)]  # leading axes: colours are the last one
        stack = self.shape[: len(self.shape) - len(self._page)]
        inner = stack[len(place) :]  # axes of a picture that are spread over pages, as those of volumes
        first = int(np.ravel_multi_index((*place, *(0,) * len(inner)), stack)) if stack else 0
        pages = [self._series.pages[first + number].asarray() for number in range(math.prod(inner))]
        return np.stack(pages).reshape(*inner, *self._page)
