"""Silence decoders during one call, without changing warnings or logging for anyone else.

Decoders warn and log about damaged files. Our errors and notes already say what is wrong, so `quiet` drops these
messages. Warning filters, log levels and log handlers belong to the whole process: a thread that changes them also
silences the other threads, and threads that overlap restore the wrong state. Therefore one warning filter and one log
filter are installed for good when this module is imported. Both ask a context variable whether the current call runs
inside `quiet`, and otherwise let everything pass.

The warnings module is needed because pydicom, astropy, NumPy and Pillow's EXIF parser warn while they parse, where no
check of ours can come first. A filter that the caller installs later comes before ours: under
``warnings.simplefilter("error")`` a decoder's warning is still an error.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOGGERS = (  # those that write warnings and errors; a log filter does not see the records of child loggers
    "tifffile",
    "nibabel.global",
    "pydicom",
    "pydicom.pixels.decoders.base",
)

_quiet: ContextVar[bool] = ContextVar("epitomes_formats_quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what decoders warn and log in this context: this thread and the tasks that it starts."""
    _install()
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class _WhileQuiet(type):
    """The type of a class that counts as the parent of every class inside `quiet`, and of none outside."""

    def __subclasscheck__(cls, subclass: type) -> bool:
        return _quiet.get()


class DecoderWarning(Warning, metaclass=_WhileQuiet):
    """The category of the warning filter: any warning that is issued inside `quiet`."""


def _install() -> None:
    """Install the warning filter. It is lost if this module was first imported inside `warnings.catch_warnings`."""
    if ("ignore", None, DecoderWarning, None, 0) not in warnings.filters:
        warnings.simplefilter("ignore", DecoderWarning)


def _passes(record: logging.LogRecord) -> bool:
    return not _quiet.get()


_install()
for _name in LOGGERS:
    logging.getLogger(_name).addFilter(_passes)
