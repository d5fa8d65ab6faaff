"""`read`: the only function that opens image files, by name, suffix and first bytes.

It takes names of local files, or - for stdin. No name from the user reaches a library that could take it for a URL.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO

from epitomes.checks import whole
from epitomes.formats._limits import default_max_pixels, too_large
from epitomes.formats._quiet import quiet
from epitomes.formats.errors import ImageFileError, named, one_line
from epitomes.formats.packed import read_up_to
from epitomes.formats.picture import Picture
from epitomes.formats.registry import (
    BY_SUFFIX,
    STREAM,
    FolderFormat,
    Format,
    sniffed,
    suffix_of,
    suffix_to_read,
)
from epitomes.formats.series import Series, chosen

_MOST_BESIDE = 2**24  # bytes of a stream that are not pixels: headers, profiles, thumbnails
_HEAD = 4096  # bytes that identify the format, compressed or not


def read(
    path: str | os.PathLike[str],
    *,
    max_pixels: int | None = None,
    axes: str | None = None,
    series: int | str | None = None,
) -> Picture:
    """Read an image, volume, stack or video from a file.

    The formats are PNG, JPEG, TIFF, OME-TIFF, NPY, NPZ, MRC, WebP, BMP, GIF, PGM, PPM, JPEG 2000 and, with optional
    packages, FITS, NIfTI, DICOM, OME-Zarr, camera RAW and video. Values have the dtype and the range that the file
    stores.

    Parameters
    ----------
    path : str or path-like
        Name of a local file, or "-" for stdin. The suffix selects the format, unless the first bytes of the file are
        those of another one.
    max_pixels : int, optional
        Largest number of values to accept, counting each channel. By default `default_max_pixels`.
    axes : str, optional
        Letters for the axes, one per axis out of T, Z, C, Y and X, if the file does not give them or is wrong. Three
        planes that are called C here are the colours of one image.
    series : int or str, optional
        Number or name of the image, if the file holds several: the HDU of a FITS file, the series of a TIFF file, the
        array of an NPZ file, the stream of a video. By default the first.

    Returns
    -------
    Picture
        The pixels with their axes, spacing and metadata.

    Raises
    ------
    ImageFileError
        If the file does not exist, is damaged, cannot be decoded without changing its values, or has no such series.
    ImageTooLargeError
        If the header gives more than `max_pixels` values.
    MissingExtraError
        If the format needs a package that is not installed.

    See Also
    --------
    write : Write a picture to a file.

    Notes
    -----
    Functions of this package may run in several threads at once. They change no warning filters and no loggers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.formats import read, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     losses = write(Path(folder) / "image.png", np.full((48, 64), 1000, np.uint16))
    ...     picture = read(Path(folder) / "image.png")
    >>> picture.pixels.dtype, picture.pixels.shape, picture.axes, picture.name
    (dtype('uint16'), (48, 64), 'YX', 'image.png')
    """
    most = default_max_pixels() if max_pixels is None else whole("max_pixels", max_pixels, least=1)
    picture = _read_stream(most, series) if str(path) == STREAM else _read_path(Path(path), most, series)
    return replace(picture, separate=True) if axes is None else _renamed(picture, axes.upper())


def is_folder_format(path: str | os.PathLike[str]) -> bool:
    """Return whether an image of this name is a directory, as Zarr images are.

    Parameters
    ----------
    path : str or path-like
        Name of an image. It need not exist.

    Returns
    -------
    bool
        True if its suffix selects a format that is a directory.

    Examples
    --------
    >>> from epitomes.formats import is_folder_format
    >>> is_folder_format("cells.ome.zarr"), is_folder_format("cells.tif")
    (True, False)
    """
    return isinstance(BY_SUFFIX.get(suffix_of(PurePath(path))), FolderFormat)


def suffix_of_file(path: str | os.PathLike[str]) -> str:
    """Return the suffix of the format that a file is read as.

    Parameters
    ----------
    path : str or path-like
        Name of a local file or directory.

    Returns
    -------
    str
        A suffix such as ".tif"; "" if the file cannot be opened, or its format is unknown.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.formats import suffix_of_file, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     losses = write(Path(folder) / "scan.png", np.zeros((8, 8), np.uint8))
    ...     suffix_of_file((Path(folder) / "scan.png").rename(Path(folder) / "scan"))
    '.png'
    """
    place = Path(path)
    if is_folder_format(place):
        return suffix_of(place)
    try:
        with place.open("rb") as file:
            return suffix_to_read(place, file.read(_HEAD)) if place.is_file() else ""
    except (ImageFileError, OSError):
        return ""


def _renamed(picture: Picture, axes: str) -> Picture:
    """Give the axes other letters; an axis that keeps its letter keeps its spacing."""
    same = [old for old, new in zip(picture.axes, axes, strict=False) if old == new]
    spacing = {letter: step for letter, step in picture.spacing.items() if letter in same}
    try:
        return replace(picture, axes=axes, spacing=spacing)
    except ImageFileError as error:
        raise named(error, picture.name) from error


def _read_path(path: Path, most: int, series: int | str | None) -> Picture:
    if "://" in str(path) or str(path).startswith(("http:/", "https:/", "ftp:/", "file:/", "s3:/")):
        raise ImageFileError(f"{path} is a URL, but only local files can be read: download it first")
    if not path.exists():
        raise ImageFileError(f"there is no file {path}: check the name and the directory")
    suffix = suffix_of(path)
    kind = BY_SUFFIX.get(suffix)
    try:
        if isinstance(kind, FolderFormat):
            if not path.is_dir():
                raise ImageFileError(f"expected a directory, because {kind.name} images are directories, got a file")
            return replace(_decoded(kind, path, most, series), name=path.name, suffix=suffix)
        if not path.is_file():
            raise ImageFileError("this is not a regular file: give the path of an image")
        with path.open("rb") as file:
            picture = _read_file(path, file, most, series)
    except ImageFileError as error:
        raise (error if str(error).startswith(str(path)) else named(error, path)) from error
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise ImageFileError(f"{path} cannot be read: {reason}; check its permissions") from error
    return replace(picture, name=path.name)


def _read_file(path: Path, file: BinaryIO, most: int, series: int | str | None) -> Picture:
    """Read an open file as what it is, and note it if its suffix says something else."""
    suffix = suffix_to_read(path, file.read(_HEAD))
    file.seek(0)
    picture = _decoded(BY_SUFFIX[suffix], file, most, series)
    told = BY_SUFFIX.get(suffix_of(path))
    if told is not None and told.name != BY_SUFFIX[suffix].name:
        found = BY_SUFFIX[suffix].name
        note = f"its suffix says {told.name}, but its content is {found}: it is read as {found}"
        picture = replace(picture, notes=(note, *picture.notes))
    return replace(picture, suffix=suffix)


def _read_stream(most: int, series: int | str | None) -> Picture:
    limit = 8 * most + _MOST_BESIDE
    content = bytes(read_up_to(sys.stdin.buffer, limit + 1))
    if len(content) > limit:
        raise too_large(f"stdin: got more bytes than {most} values need", most)
    if not content:
        raise ImageFileError("stdin: got no bytes: pipe an image to it")
    suffix = sniffed(content[:_HEAD])
    if suffix is None:
        raise ImageFileError("stdin: the format is unknown: save the image as a file whose suffix gives the format")
    try:
        picture = _decoded(BY_SUFFIX[suffix], BytesIO(content), most, series)
    except ImageFileError as error:
        raise named(error, "stdin") from error
    return replace(picture, name=f"stdin{suffix}", suffix=suffix)


def _decoded(kind: Format | FolderFormat, source: Path | BinaryIO, most: int, series: int | str | None) -> Picture:
    """Read the picture, or raise one error that says what is wrong with the file."""
    try:
        with quiet():
            if isinstance(kind, Format) and kind.several:
                picture: Picture = kind.read(source, most, series)
            else:
                picture = kind.read(source, most)  # type: ignore[arg-type]  # a path for a folder, else a file
                if series is not None:
                    chosen([Series(0, "", picture.pixels.shape, picture.pixels.dtype.name)], series)
            return picture
    except (ImageFileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # a decoder may raise anything on a damaged file
        raise ImageFileError(f"this {kind.name} file is damaged ({one_line(error)}): get another copy") from error
