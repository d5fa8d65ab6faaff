"""`write`: the only function that writes image files, and `require_format`, which asks before a long computation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import ArrayLike

from epitomes.files import write_atomically
from epitomes.formats._quiet import quiet
from epitomes.formats.errors import ImageFileError, named
from epitomes.formats.folders import write_folder
from epitomes.formats.picture import Picture, as_picture, guessed_axes
from epitomes.formats.raw import RawInfo, as_mosaic
from epitomes.formats.registry import BY_SUFFIX, STREAM, FolderFormat, Format, format_to_write, suffix_of

_ENCODED_WHOLE = 2**20  # values: larger pictures are encoded in part, to find out whether a format can hold them
_STRIP = 16  # pixels


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
        raise named(error, STREAM if stream else goal) from error
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
        find out; of a large one, a strip down and a strip across.

    Raises
    ------
    ImageFileError
        If the suffix is unknown, its format can be read only, or it cannot hold the picture. The message gives suffixes
        that can be written.

    Examples
    --------
    >>> from epitomes.formats import require_format
    >>> require_format("clean.tif")
    >>> require_format("clean.gif")
    Traceback (most recent call last):
        ...
    epitomes.formats.errors.ImageFileError: clean.gif: GIF can be read but not written: use the suffix .png
    """
    if picture is None and str(path) == STREAM:
        return
    kind = format_to_write(PurePath(path if picture is None or str(path) != STREAM else _stream_name(picture)))
    if picture is not None and isinstance(kind, Format):
        if kind.name == "video" and picture.axes.startswith("T"):  # one frame tells what all of them would
            picture = replace(picture, pixels=picture.pixels[:1])
        for part in _strips(picture):
            _encoded(kind, _fitted(part, kind)[0])


def _strips(picture: Picture) -> Iterator[Picture]:
    """Yield parts that a format can hold if it can hold the picture: with its height, and with its width."""
    if picture.pixels.size <= _ENCODED_WHOLE or not {"Y", "X"} <= set(picture.axes):
        yield picture
        return
    for letter in "XY":
        cut, plain = (
            (slice(None),) * axes.index(letter) + (slice(_STRIP),)
            for axes in (picture.axes, picture.axes.replace("C", ""))
        )
        alpha = None if picture.alpha is None else np.ascontiguousarray(picture.alpha[plain])
        yield replace(picture, pixels=np.ascontiguousarray(picture.pixels[cut]), alpha=alpha)


def losses_of(picture: Picture, path: PurePath) -> tuple[str, ...]:
    """What a file of this name would not keep of a picture, one sentence each."""
    return _fitted(picture, format_to_write(path))[1]


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
    if isinstance(kind, Format) and kind.loses is not None:
        losses += kind.loses(picture)
    return picture, tuple(losses)


def _stream_name(picture: Picture) -> str:
    """Return a name whose suffix is the format for stdout."""
    suffix = picture.suffix or suffix_of(PurePath(picture.name or "picture.tif"))
    own = BY_SUFFIX.get(suffix)
    return f"stdout{suffix if isinstance(own, Format) and own.write is not None else '.tif'}"
