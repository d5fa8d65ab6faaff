"""`read` and `write`: the only functions that open image files.

They take names of local files, or - for stdin and stdout. No name from the user reaches a library that could take it
for a URL.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO

from numpy.typing import ArrayLike

from epitomes.checks import whole
from epitomes.files import write_atomically
from epitomes.formats._limits import default_max_pixels
from epitomes.formats._quiet import quiet
from epitomes.formats.errors import ImageFileError, ImageTooLargeError, one_line
from epitomes.formats.folders import write_folder
from epitomes.formats.packed import read_up_to
from epitomes.formats.picture import Picture, as_picture, guessed_axes
from epitomes.formats.raw import RawInfo, as_mosaic
from epitomes.formats.registry import (
    BY_SUFFIX,
    STREAM,
    FolderFormat,
    Format,
    format_to_read,
    format_to_write,
    sniffed,
    suffix_of,
)

_MOST_BESIDE = 2**24  # bytes of a stream that are not pixels: headers, profiles, thumbnails
_HEAD = 512  # bytes that identify the format


def read(path: str | os.PathLike[str], *, max_pixels: int | None = None, axes: str | None = None) -> Picture:
    """Read an image, volume, stack or video from a file.

    The suffix of the name selects the format: PNG, JPEG, TIFF, OME-TIFF, NPY, NPZ and, with optional packages, FITS,
    NIfTI, DICOM, OME-Zarr, camera RAW and video. Values have the dtype and the range that the file stores.

    Parameters
    ----------
    path : str or path-like
        Name of a local file, or "-" for stdin, whose first bytes select the format.
    max_pixels : int, optional
        Largest number of values to accept, counting each channel. By default `default_max_pixels`.
    axes : str, optional
        Letters for the axes, one per axis out of T, Z, C, Y and X, if the file does not give them or is wrong.

    Returns
    -------
    Picture
        The pixels with their axes, spacing and metadata.

    Raises
    ------
    ImageFileError
        If the file does not exist, is damaged, or cannot be decoded without changing its values.
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
    picture = _read_stream(most) if str(path) == STREAM else _read_path(Path(path), most)
    return picture if axes is None else _renamed(picture, axes.upper())


def write(path: str | os.PathLike[str], picture: Picture | ArrayLike, *, overwrite: bool = False) -> tuple[str, ...]:
    """Write a picture to a file, without changing its values.

    The file appears complete or not at all.

    Parameters
    ----------
    path : str or path-like
        Name of a local file, whose suffix selects the format. "-" writes to stdout, in the format that the picture was
        read from, otherwise as TIFF.
    picture : Picture or array_like
        A picture, or an array whose axes are guessed from its shape.
    overwrite : bool, optional
        Whether to replace a file that exists.

    Returns
    -------
    tuple of str
        One sentence for each part of the picture that the format cannot keep, such as spacing or metadata. It is empty
        if nothing was lost.

    Raises
    ------
    ImageFileError
        If the format cannot hold the pixels. The message gives a suffix that can.
    FileExistsError
        If the file exists and `overwrite` is False.

    See Also
    --------
    read : Read a picture from a file.
    require_format : Check the name of an output file before a long computation.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.formats import Picture, write
    >>> picture = Picture(np.zeros((48, 64), np.uint8), "YX", {"Y": 0.5, "X": 0.5}, {"Y": "mm", "X": "mm"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write(Path(folder) / "image.tif", picture))
    ...     print(write(Path(folder) / "image.png", picture))
    ()
    ('PNG does not keep the spacing along YX',)
    """
    picture = as_picture(picture)
    stream = str(path) == STREAM
    goal = Path(_stream_name(picture)) if stream else Path(path)
    kind = format_to_write(goal)
    picture, losses = _fitted(picture, kind)
    try:
        if isinstance(kind, FolderFormat):
            with quiet():
                write_folder(goal, lambda folder: kind.write(picture, folder), overwrite=overwrite, marks=kind.marks)
            return losses
        content = _encoded(kind, picture)
    except ImageFileError as error:
        raise type(error)(f"{STREAM if stream else goal}: {error}") from error
    if stream:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_atomically(goal, content, overwrite=overwrite)
    return losses


def require_format(path: str | os.PathLike[str], picture: Picture | None = None) -> None:
    """Check that a file name selects a format that can be written.

    Call it before a long computation whose result is written to this file.

    Parameters
    ----------
    path : str or path-like
        Name of the output file, or "-" for stdout.
    picture : Picture, optional
        A picture with the axes, shape and dtype of the result: the format must be able to hold it. It is encoded to
        find out.

    Raises
    ------
    ImageFileError
        If the suffix is unknown, its format can be read only, or it cannot hold the picture. The message gives suffixes
        that can be written.

    Examples
    --------
    >>> from epitomes.formats import require_format
    >>> require_format("clean.tif")
    >>> require_format("clean.dcm")
    Traceback (most recent call last):
        ...
    epitomes.formats.errors.ImageFileError: clean.dcm: DICOM can be read but not written: use the suffix .nii or .tif
    """
    if picture is None and str(path) == STREAM:
        return
    kind = format_to_write(PurePath(path if picture is None or str(path) != STREAM else _stream_name(picture)))
    if picture is not None and isinstance(kind, Format):
        _encoded(kind, _fitted(picture, kind)[0])


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


def _renamed(picture: Picture, axes: str) -> Picture:
    """Give the axes other letters; an axis that keeps its letter keeps its spacing."""
    same = [old for old, new in zip(picture.axes, axes, strict=False) if old == new]
    spacing = {letter: step for letter, step in picture.spacing.items() if letter in same}
    try:
        return replace(picture, axes=axes, spacing=spacing)
    except ImageFileError as error:
        raise ImageFileError(f"{picture.name}: {error}") from error


def _read_path(path: Path, most: int) -> Picture:
    if "://" in str(path) or str(path).startswith(("http:/", "https:/", "ftp:/", "file:/", "s3:/")):
        raise ImageFileError(f"{path} is a URL, but only local files can be read: download it first")
    kind = format_to_read(path)
    if not path.exists():
        raise ImageFileError(f"there is no file {path}: check the name and the directory")
    try:
        if isinstance(kind, FolderFormat):
            if not path.is_dir():
                raise ImageFileError(f"expected a directory, because {kind.name} images are directories, got a file")
            picture = _decoded(kind, path, most)
        elif not path.is_file():
            raise ImageFileError("this is not a regular file: give the path of an image")
        else:
            with path.open("rb") as file:
                picture = _decoded(kind, file, most)
    except ImageFileError as error:
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise ImageFileError(f"{path} cannot be read: {reason}; check its permissions") from error
    return replace(picture, name=path.name)


def _read_stream(most: int) -> Picture:
    limit = 8 * most + _MOST_BESIDE
    content = bytes(read_up_to(sys.stdin.buffer, limit + 1))
    if len(content) > limit:
        raise ImageTooLargeError(f"stdin: got more bytes than {most} values need: crop the image, or raise max_pixels")
    if not content:
        raise ImageFileError("stdin: got no bytes: pipe an image to it")
    suffix = sniffed(content[:_HEAD])
    if suffix is None:
        raise ImageFileError("stdin: the format is unknown: save the image as a file whose suffix gives the format")
    try:
        picture = _decoded(BY_SUFFIX[suffix], BytesIO(content), most)
    except ImageFileError as error:
        raise type(error)(f"stdin: {error}") from error
    return replace(picture, name=f"stdin{suffix}")


def _decoded(kind: Format | FolderFormat, source: Path | BinaryIO, most: int) -> Picture:
    """Read the picture, or raise one error that says what is wrong with the file."""
    try:
        with quiet():
            picture: Picture = kind.read(source, most)  # type: ignore[arg-type]  # a path for a folder, else a file
            return picture
    except (ImageFileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # a decoder may raise anything on a damaged file
        raise ImageFileError(f"this {kind.name} file is damaged ({one_line(error)}): get another copy") from error


def _encoded(kind: Format, picture: Picture) -> bytes:
    assert kind.write is not None  # `format_to_write` gave it
    with quiet():
        return kind.write(picture)


def _fitted(picture: Picture, kind: Format | FolderFormat) -> tuple[Picture, tuple[str, ...]]:
    """Remove what the format cannot keep, and return a sentence for each part that was removed."""
    losses = []
    if picture.alpha is not None and not (kind.alpha and picture.alpha.dtype == picture.pixels.dtype):
        losses.append(f"{kind.name} does not keep the alpha channel")
        picture = replace(picture, alpha=None)
    if lost := "".join(letter for letter in picture.spacing if letter not in kind.spacing):
        losses.append(f"{kind.name} does not keep the spacing along {lost}")
    said = "" if picture.metadata is None else picture.metadata.title
    if said and not (kind.carries and isinstance(picture.metadata, kind.carries)):
        losses.append(f"{kind.name} does not keep {said}")
        if isinstance(picture.metadata, RawInfo):
            losses.append(f"the file holds the Bayer mosaic {picture.metadata.colours}: use .dng to develop it")
            picture = as_mosaic(picture)
    if not kind.axes and guessed_axes(picture.pixels.shape) != picture.axes:
        losses.append(f"{kind.name} does not keep the axes {picture.axes}: .npz does")
    return picture, tuple(losses)


def _stream_name(picture: Picture) -> str:
    """Return a name whose suffix is the format for stdout."""
    suffix = suffix_of(PurePath(picture.name or "picture.tif"))
    own = BY_SUFFIX.get(suffix)
    return f"stdout{suffix if isinstance(own, Format) and own.write is not None else '.tif'}"
