"""The two doors: `read` and `write`. They take names of local files, or - for stdin and stdout, and nothing else.

No name that a user gives reaches a library that could take it for an address: files are opened here.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO

from numpy.typing import ArrayLike

from epitomes.files import write_atomically
from epitomes.formats.errors import MOST_VALUES, ImageFileError, ImageTooLargeError, one_line, quiet
from epitomes.formats.folders import write_folder
from epitomes.formats.picture import Picture, as_picture, guessed_axes
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
_HEAD = 512  # bytes that tell the formats apart


def read(source: str | os.PathLike[str], *, max_pixels: int = MOST_VALUES, axes: str | None = None) -> Picture:
    """The picture in a file, whose suffix names the format, or on stdin (`-`), whose first bytes do.

    `max_pixels` is the largest number of values to accept. `axes` says what the axes mean, where the file does not
    know or is wrong: letters out of T, Z, C, Y and X, one per axis.
    """
    picture = _read_stream(max_pixels) if str(source) == STREAM else _read_path(Path(source), max_pixels)
    return picture if axes is None else _renamed(picture, axes.upper())


def write(goal: str | os.PathLike[str], picture: Picture | ArrayLike, *, overwrite: bool = False) -> tuple[str, ...]:
    """Write a picture as it is, whole or not at all; what the format could not keep comes back, in words.

    The suffix of the goal names the format; on stdout (`-`) it is the format that the picture came from, else TIFF.
    """
    picture = as_picture(picture)
    stream = str(goal) == STREAM
    path = Path(_stream_name(picture)) if stream else Path(goal)
    kind = format_to_write(path)
    picture, losses = _fitted(picture, kind)
    try:
        if isinstance(kind, FolderFormat):
            write_folder(path, lambda folder: kind.write(picture, folder), overwrite=overwrite, marks=kind.marks)
            return losses
        content = _encoded(kind, picture)
    except ImageFileError as error:
        raise type(error)(f"{STREAM if stream else path}: {error}") from error
    if stream:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_atomically(path, content, overwrite=overwrite)
    return losses


def require_format(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose suffix names no format that is written, before the work whose result goes there."""
    if str(path) != STREAM:
        format_to_write(PurePath(path))


def is_folder_format(path: str | os.PathLike[str]) -> bool:
    """Whether a picture of this name is a folder."""
    return isinstance(BY_SUFFIX.get(suffix_of(PurePath(path))), FolderFormat)


def _renamed(picture: Picture, axes: str) -> Picture:
    """Other letters for the axes; what was known of an axis stays where it keeps its letter."""
    same = [old for old, new in zip(picture.axes, axes, strict=False) if old == new]
    spacing = {letter: step for letter, step in picture.spacing.items() if letter in same}
    try:
        return replace(picture, axes=axes, spacing=spacing)
    except ImageFileError as error:
        raise ImageFileError(f"{picture.name}: {error}") from error


def _read_path(path: Path, most: int) -> Picture:
    if "://" in str(path) or str(path).startswith(("http:/", "https:/", "ftp:/", "file:/", "s3:/")):
        raise ImageFileError(f"{path} is an address, and only local files are read: fetch it first")
    kind = format_to_read(path)
    if not path.exists():
        raise ImageFileError(f"there is no file {path}")
    try:
        if isinstance(kind, FolderFormat):
            if not path.is_dir():
                raise ImageFileError(f"{kind.name} is a folder, and this is none")
            picture = _decoded(kind, path, most)
        elif not path.is_file():
            raise ImageFileError("this is not a regular file: give the path of a picture")
        else:
            with path.open("rb") as file:
                picture = _decoded(kind, file, most)
    except ImageFileError as error:
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        raise ImageFileError(f"{path} cannot be read: {error.strerror or one_line(error)}") from error
    return replace(picture, name=path.name)


def _read_stream(most: int) -> Picture:
    content = sys.stdin.buffer.read(8 * most + _MOST_BESIDE + 1)
    if len(content) > 8 * most + _MOST_BESIDE:
        raise ImageTooLargeError(
            f"stdin: more bytes came than {most} values need: crop the picture, or raise the limit"
        )
    suffix = sniffed(content[:_HEAD])
    if suffix is None:
        raise ImageFileError("stdin: this is no picture of a known format" if content else "stdin: nothing came")
    try:
        picture = _decoded(BY_SUFFIX[suffix], BytesIO(content), most)
    except ImageFileError as error:
        raise type(error)(f"stdin: {error}") from error
    return replace(picture, name=f"stdin{suffix}")


def _decoded(kind: Format | FolderFormat, source: Path | BinaryIO, most: int) -> Picture:
    """The picture, or one error that says what is wrong with the file."""
    try:
        with quiet():
            picture: Picture = kind.read(source, most)  # type: ignore[arg-type]  # a path for a folder, else a file
            return picture
    except (ImageFileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # a decoder given a broken file raises whatever it trips over
        raise ImageFileError(f"this {kind.name} file is damaged: {one_line(error)}") from error


def _encoded(kind: Format, picture: Picture) -> bytes:
    if kind.write is None:
        raise ImageFileError(f"{kind.name} is read and not written: use {kind.instead}")
    with quiet():
        return kind.write(picture)


def _fitted(picture: Picture, kind: Format | FolderFormat) -> tuple[Picture, tuple[str, ...]]:
    """The picture without what the format cannot keep, and words for what that was."""
    losses = []
    if picture.alpha is not None and not (kind.alpha and picture.alpha.dtype == picture.pixels.dtype):
        losses.append(f"{kind.name} does not keep the alpha channel")
        picture = replace(picture, alpha=None)
    if lost := "".join(letter for letter in picture.spacing if letter not in kind.spacing):
        losses.append(f"{kind.name} does not keep the spacing along {lost}")
    said = "" if picture.metadata is None else picture.metadata.title
    if said and not (kind.carries and isinstance(picture.metadata, kind.carries)):
        losses.append(f"{kind.name} does not keep {said}")
    if not kind.axes and guessed_axes(picture.pixels.shape) != picture.axes:
        losses.append(f"{kind.name} does not keep the meaning of the axes {picture.axes}: .npz does")
    return picture, tuple(losses)


def _stream_name(picture: Picture) -> str:
    """A name whose suffix is the format for stdout."""
    suffix = suffix_of(PurePath(picture.name or "picture.tif"))
    own = BY_SUFFIX.get(suffix)
    return f"stdout{suffix if isinstance(own, Format) and own.write is not None else '.tif'}"
