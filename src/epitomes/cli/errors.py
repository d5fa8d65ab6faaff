"""From exceptions to a line on stderr and an exit code. `EPITOMES_DEBUG=1` shows where an error comes from."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO

import typer

DONE, INTERNAL, USAGE, INPUT, LIMIT, MODEL, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

CODES = {
    DONE: "success",
    INTERNAL: "internal error",
    USAGE: "invalid option or combination of options",
    INPUT: "a file cannot be read or used",
    LIMIT: "a file is above the size limit, or memory is exhausted",
    MODEL: "a model file cannot be used",
    PARTIAL: "some of several files failed",
    INTERRUPTED: "interrupted",
}


class CommandError(Exception):
    """An error with its exit code, and the options that would make the command work, or another command that helps."""

    def __init__(self, code: int, message: str, *options: str, instead: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.options = options  # name, or name and value; empty: no single option helps
        self.instead = instead  # words of another command, such as one that shows what is wrong with a file


def usage(message: str, *options: str) -> CommandError:
    """Return the error for an invalid combination of options; `options` would make the command work."""
    return CommandError(USAGE, message, *options)


def explained(error: Exception) -> CommandError:
    """Return the message and the exit code of any exception."""
    # Imported here: a command that fails early has not paid for them.
    from epitomes.formats import ImageFileError, ImageTooLargeError
    from epitomes.model_file import ModelError

    if (message := getattr(error, "format_message", None)) is not None:  # a usage error found by typer, of any version
        return usage(str(message()).strip())
    words = " ".join(str(error).split())
    match error:
        case CommandError():
            return error
        case ImageTooLargeError():
            options = () if error.needed is None else ("--max-pixels", str(error.needed))
            return CommandError(LIMIT, f"{words} with --max-pixels", *options)
        case ImageFileError():
            return CommandError(INPUT, words)
        case ModelError():
            return CommandError(MODEL, words)
        case MemoryError() | OverflowError():
            return CommandError(LIMIT, f"not enough memory: {words or 'use a smaller image or epitome'}")
        case FileExistsError():
            return usage(words, "--overwrite")
        case OSError():
            known = error.filename is not None and error.strerror
            return CommandError(INPUT, f"{error.filename}: {error.strerror}" if known else words)
        case ValueError():  # arguments that the library refuses; of some it knows what would do
            value = getattr(error, "value", None)
            return usage(words, f"--{getattr(error, 'argument', '')}", f"{value:g}") if value else usage(words)
    return CommandError(INTERNAL, f"internal error: {type(error).__name__}: {words}")


_kept: ContextVar[list[str] | None] = ContextVar("lines of this thread", default=None)


def tell(words: str) -> None:
    """Print a line for people on stderr, or keep it while `lines_kept` does."""
    kept = _kept.get()
    if kept is None:
        print(words, file=sys.stderr, flush=True)
    else:
        kept.append(words)


@contextmanager
def lines_kept(lines: list[str]) -> Iterator[None]:
    """Keep the lines that this thread tells in `lines`, instead of printing them."""
    token = _kept.set(lines)
    try:
        yield
    finally:
        _kept.reset(token)


def fail(error: Exception, hint: str = "") -> int:
    """Print an error and a command to try next; return the exit code."""
    if os.environ.get("EPITOMES_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    found = explained(error)
    if type(error).__name__ == "NoArgsIsHelpError":  # a command without any word: its help
        tell(str(found))
        return found.code
    tell(f"error: {found}")
    if found.code == INTERNAL:
        hint = "EPITOMES_DEBUG=1 epitomes ... to see where it comes from, and report it with epitomes doctor"
    if hint:
        tell(f"  try: {hint}")
    return found.code


@dataclass
class Outcome:
    """How a command ended."""

    code: int = DONE


@contextmanager
def guarded(remedy: Callable[[Exception], str] = lambda error: "") -> Iterator[Outcome]:
    """Turn exceptions into lines on stderr and an exit code; `remedy` names the command to try after an error."""
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.showwarning = _warn_in_one_line
        try:
            yield outcome
            sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            tell("interrupted")
            outcome.code = INTERRUPTED
        except (BrokenPipeError, SystemExit):  # typer turns the first into the second
            _discard_stdout()
        except Exception as error:
            outcome.code = fail(error, remedy(error))


def _warn_in_one_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a Python warning as a line for people; it takes the place of `warnings.showwarning`."""
    tell(f"warning: {' '.join(str(message).split())}")


def _discard_stdout() -> None:
    """Send what is not flushed yet nowhere: Python would complain about the closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
