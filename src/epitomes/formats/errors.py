"""What goes wrong with files, in words, and what every reader needs so that it goes wrong early and quietly."""

from __future__ import annotations

import importlib
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MOST_VALUES = 2**26  # a picture of 8192 x 8192; as float32 with what denoising adds, some gigabytes

_TALKATIVE = ("tifffile", "nibabel", "nibabel.global", "pydicom", "libav", "zarr")  # they log what we say in an error


class ImageFileError(ValueError):
    """A picture that cannot be read or written, and why."""


class ImageTooLargeError(ImageFileError):
    """A picture above the limit, refused before it was read."""


class MissingExtraError(ImageFileError):
    """A format whose library is not installed; the message names the extra that brings it."""


def library(module: str, *, extra: str | None, what: str) -> Any:
    """An optional library, imported when a file asks for it. `extra` brings it; None: it comes with the library."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        wanted = "epitomes" if extra is None else f"epitomes[{extra}]"
        raise MissingExtraError(
            f'{what} needs the package {module.split(".")[0]}, which is not here ({error}): pip install "{wanted}"'
        ) from error


def require_size(shape: Sequence[int], most: int) -> None:
    """Refuse a shape that a header promises, before anything of that size is allocated."""
    if min(shape, default=0) < 1:
        raise ImageFileError(f"its header says {times(shape)}, and a picture has at least one pixel")
    if math.prod(shape) > most:
        raise ImageTooLargeError(
            f"it holds {math.prod(shape)} values, {times(shape)}, above the limit of {most}: "
            "crop it, or raise the limit"
        )


def times(shape: Sequence[int]) -> str:
    """A shape for people."""
    return " x ".join(map(str, shape))


def one_line(error: BaseException | str, most: int = 200) -> str:
    """The words of a library's error on one line, cut where they go on and on."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= most else f"{words[: most - 4]} ..."


@contextmanager
def quiet() -> Iterator[None]:
    """Decoders warn and log of what they meet in broken files; our errors and notes say it once."""
    with warnings.catch_warnings(), overheard(*_TALKATIVE):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def overheard(*names: str) -> Iterator[list[str]]:
    """What these libraries log meanwhile, as a list and nowhere else."""
    heard: list[str] = []
    listener = logging.Handler(logging.WARNING)
    listener.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [listener], False
        logger.setLevel(logging.WARNING)
    try:
        yield heard
    finally:
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
