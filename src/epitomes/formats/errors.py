"""Errors of files, and functions that make their messages."""

from __future__ import annotations

import importlib
from typing import Any


class ImageFileError(ValueError):
    """An image that cannot be read or written. The message gives the reason and the next step.

    See Also
    --------
    ImageTooLargeError : The image is above the size limit.
    MissingExtraError : The format needs a package that is not installed.

    Examples
    --------
    >>> from epitomes.formats import ImageFileError, read
    >>> try:
    ...     read("scan.xyz")
    ... except ImageFileError as error:
    ...     print(str(error).split(":")[0])
    there is no file scan.xyz
    """


class ImageTooLargeError(ImageFileError):
    """An image above the size limit, refused before its pixels were read.

    See Also
    --------
    default_max_pixels : The limit that holds unless `max_pixels` is given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.formats import ImageTooLargeError, read, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "image.npy"
    ...     losses = write(path, np.zeros((8, 8)))
    ...     try:
    ...         read(path, max_pixels=63)
    ...     except ImageTooLargeError as error:
    ...         print(str(error).split(": ")[1])
    it holds 64 values, 8 x 8, above the limit of 63
    """

    needed: int | None = None  # the limit that would let it be read, if it is known


class MissingExtraError(ImageFileError):
    """A format whose package is not installed. The message gives the command that installs it.

    Examples
    --------
    >>> from epitomes.formats import ImageFileError, MissingExtraError
    >>> issubclass(MissingExtraError, ImageFileError)
    True
    """


def library(module: str, *, extra: str | None, what: str) -> Any:
    """Import an optional library when a file needs it; `extra` installs it, None: it comes with epitomes."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        wanted = "epitomes" if extra is None else f"epitomes[{extra}]"
        raise MissingExtraError(
            f'{what} needs the package {module.split(".")[0]}, which is not installed ({error}): pip install "{wanted}"'
        ) from error


def named(error: ImageFileError, name: object) -> ImageFileError:
    """Return the error with the name of the file in front."""
    same = type(error)(f"{name}: {error}")
    if isinstance(error, ImageTooLargeError) and isinstance(same, ImageTooLargeError):
        same.needed = error.needed
    return same


def cannot_hold(got: str, name: str, held: str, use: str) -> ImageFileError:
    """Return the error for an image that a format cannot store; `use` is a suffix that can."""
    return ImageFileError(f"cannot write {got} to {name}, which holds {held}: use the suffix {use}")


def unsupported(stored: str, remedy: str = "convert it to grey or RGB in an image editor") -> ImageFileError:
    """Return the error for pixels that cannot be read without changing them."""
    return ImageFileError(f"it is stored as {stored}, which is not supported: {remedy}")


def cut_short(what: str, needed: str, found: int) -> ImageFileError:
    """Return the error for a file that ends before its data do."""
    return ImageFileError(f"{what} is cut short (it needs {needed} and has {found}): get another copy")


def one_line(error: BaseException | str, most: int = 200) -> str:
    """Return the message of a library's error on one line, shortened if it is long."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= most else f"{words[: most - 4]} ..."
