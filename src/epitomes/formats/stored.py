"""Stored images: OME-Zarr, Zarr and TIFF files of which windows are read, because the whole is larger than memory."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from epitomes.formats.access import suffix_of_file
from epitomes.formats.errors import ImageFileError, library, named, one_line
from epitomes.formats.ome_zarr import open_zarr, require_inside
from epitomes.formats.picture import Metadata, Pixels, channel_axis_of, ordered, require_numbers, spatial_of
from epitomes.formats.registry import BY_SUFFIX, suffix_of
from epitomes.formats.tiff import open_tiff
from epitomes.layout import Layout

ZARR = "Zarr"
NAMES = (ZARR, "TIFF", "OME-TIFF", "BigTIFF")  # of the formats that can be read by windows


@dataclass(frozen=True, eq=False)
class StoredImage:
    """An image on disk; `read` reads a window of it."""

    path: Path
    array: Any = field(repr=False)  # what can be sliced, in the order of `stored`
    stored: str  # letters of the axes as stored
    axes: str  # as they are meant: colours may be stored in planes, and belong together
    shape: tuple[int, ...]  # in the order of `axes`
    dtype: np.dtype[Any]
    chunk: tuple[int, ...]  # what is read at once, in the order of `axes`
    spacing: Mapping[str, float]
    units: Mapping[str, str]
    metadata: Metadata | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_array(cls, array: Any, axes: str, name: str) -> StoredImage:
        """An array in memory, or one that is computed when it is sliced, as if it were on disk."""
        return cls(
            path=Path(name),
            array=array,
            stored=axes,
            axes=axes,
            shape=array.shape,
            dtype=array.dtype,
            chunk=getattr(array, "chunksize", array.shape),
            spacing={},
            units={},
            metadata=None,
        )

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def layout(self) -> Layout:
        """The meaning of the axes, as that of a `Picture`."""
        channel_axis = channel_axis_of(self.axes, self.shape, separate=True)
        return Layout.of(self.shape, channel_axis, spatial_of(self.axes, channel_axis))

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, window: Mapping[str, slice]) -> Pixels:
        """Read a window, in the order of `axes`; axes that it does not name are read whole."""
        part = np.asarray(self.array[tuple(window.get(letter, slice(None)) for letter in self.stored)])
        pixels = ordered(part, self.stored, self.axes)[0]
        return np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("="))


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Whether windows of an image can be read, by its name and first bytes."""
    kind = BY_SUFFIX.get(suffix_of_file(path))
    return kind is not None and kind.name in NAMES


def open_stored(
    path: str | os.PathLike[str], *, axes: str | None = None, series: int | str | None = None
) -> StoredImage:
    """Open an image whose windows can be read; its metadata is read once per process.

    Raises
    ------
    ImageFileError
        If it is not OME-Zarr, Zarr or TIFF, or cannot be read by windows without changing its values.
    """
    place = Path(path)
    if not place.exists():
        raise ImageFileError(f"there is no file {place}: check the name and the directory")
    marks = [place / name for name in ("zarr.json", ".zgroup", ".zarray")] if place.is_dir() else [place]
    changed = max((mark.stat().st_mtime_ns for mark in marks if mark.exists()), default=0)
    return _opened(str(place.resolve()), axes, series, changed)


def require_safe(path: Path) -> None:
    """Refuse a directory with symbolic links, which could lead to any file of this computer."""
    if path.is_dir():
        try:
            require_inside(path)
        except ImageFileError as error:
            raise named(error, path) from error


@lru_cache(maxsize=4)
def _opened(path: str, axes: str | None, series: int | str | None, changed: int) -> StoredImage:
    place = Path(path)
    try:
        return _with_axes(_read_head(place, series), axes)
    except ImageFileError as error:
        raise named(error, place) from error
    except OSError as error:
        raise ImageFileError(f"{place} cannot be read: {error.strerror or one_line(error)}") from error


def _read_head(place: Path, series: int | str | None) -> StoredImage:
    suffix = suffix_of_file(place)
    kind = BY_SUFFIX.get(suffix)
    if kind is None or kind.name not in NAMES:
        raise ImageFileError(
            f"windows can be read of OME-Zarr and TIFF images only, and this is {kind.name if kind else 'neither'}: "
            "convert it first"
        )
    if kind.name != ZARR:
        library("zarr", extra="zarr", what="reading windows of TIFF images")
        tiff = open_tiff(place, series)
        return _stored(place, tiff.array, tiff.axes, tiff.axes, tiff.spacing, tiff.units, None, tiff.notes)
    if series is not None:
        raise ImageFileError("a Zarr image has no series: leave it out, or give the path of an array in it")
    found = open_zarr(place)
    return _stored(place, found.array, found.axes, found.meant, found.spacing, found.units, found.info, found.notes)


def _stored(
    place: Path,
    array: Any,
    stored: str,
    axes: str,
    spacing: Mapping[str, float],
    units: Mapping[str, str],
    metadata: Metadata | None,
    notes: tuple[str, ...],
) -> StoredImage:
    dtype = np.dtype(array.dtype).newbyteorder("=")
    require_numbers(dtype)
    at_once = getattr(array, "shards", None) or getattr(array, "chunks", None) or (1,) * array.ndim
    sides, chunk = dict(zip(stored, array.shape, strict=True)), dict(zip(stored, at_once, strict=True))
    return StoredImage(
        path=place,
        array=array,
        stored=stored,
        axes=axes,
        shape=tuple(int(sides[letter]) for letter in axes),
        dtype=dtype,
        chunk=tuple(int(chunk[letter]) for letter in axes),
        spacing=spacing,
        units=units,
        metadata=metadata,
        notes=notes,
    )


def _with_axes(image: StoredImage, axes: str | None) -> StoredImage:
    """The image with other letters for its axes, in the order that it has them."""
    if axes is None:
        return image
    letters = axes.upper()
    if len(letters) != len(image.shape) or len({*letters}) != len(letters) or not {*"YX"} <= {*letters} <= {*"TZCYX"}:
        raise ImageFileError(
            f"axes {axes!r} do not fit an image of shape {image.shape}: give a letter out of T, Z, C, Y and X per axis"
        )
    return _stored(image.path, image.array, letters, letters, image.spacing, image.units, None, image.notes)


def suffix_is_folder(path: Path) -> bool:
    """Whether an output of this name is an OME-Zarr directory."""
    kind = BY_SUFFIX.get(suffix_of(path))
    return kind is not None and kind.name == ZARR
