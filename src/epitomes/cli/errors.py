"""From exceptions to one or two lines on stderr and an exit code, which `CODES` explains.

`EPITOMES_DEBUG=1` shows where an error comes from. A reader of stdout that leaves early is no error.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import TextIO

import typer

DONE, INTERNAL, USAGE, INPUT, LIMIT, MODEL, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

CODES = {
    DONE: "done",
    INTERNAL: "internal error",
    USAGE: "the command cannot mean what it says",
    INPUT: "a picture that cannot be read or used",
    LIMIT: "too large: a limit refused it",
    MODEL: "a model file that cannot be used",
    PARTIAL: "some files of several failed",
    INTERRUPTED: "interrupted",
}


class CommandError(Exception):
    """An error with its exit code; the message says what to do next."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def usage(message: str) -> CommandError:
    """The command cannot mean what it says."""
    return CommandError(USAGE, message)


def guarded(command: Callable[[], object]) -> int:
    """Run a command; its exit code, after words on stderr where it failed."""
    with warnings.catch_warnings():
        warnings.showwarning = _one_line
        try:
            code = command()
            sys.stdout.flush()
            if code == INTERRUPTED:  # typer has caught Ctrl-C
                raise KeyboardInterrupt
            return code if isinstance(code, int) else DONE
        except (KeyboardInterrupt, typer.Abort):
            tell("interrupted")
            return INTERRUPTED
        except (BrokenPipeError, SystemExit):  # typer makes the second of the first
            _forget_stdout()
            return DONE
        except Exception as error:  # the last door: nobody is to see a traceback who did not ask for it
            if os.environ.get("EPITOMES_DEBUG", "") not in ("", "0"):
                traceback.print_exc()
            code, words = explained(error)
            tell(words)
            return code


def tell(words: str) -> None:
    """A line for people, beside the result: on stderr."""
    print(f"epitomes: {words}", file=sys.stderr, flush=True)


def explained(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and its words."""
    # Imported here, because a command that fails early has not paid for them.
    from epitomes.formats import ImageFileError, ImageTooLargeError
    from epitomes.model_file import ModelError

    if (message := getattr(error, "format_message", None)) is not None:  # a usage error found by typer, of any version
        context = getattr(error, "ctx", None)
        hint = f"\nsee {context.command_path} --help" if context is not None else ""
        return USAGE, str(message()).strip() + hint
    words = " ".join(str(error).split())
    match error:
        case CommandError():
            return error.code, str(error)
        case ImageTooLargeError():
            return LIMIT, f"{words} with --max-pixels"
        case ImageFileError():
            return INPUT, words
        case ModelError():
            return MODEL, words
        case MemoryError() | OverflowError():
            return LIMIT, f"not enough memory: {words or 'use a smaller picture or epitome'}"
        case FileExistsError():
            return USAGE, words if "--overwrite" in words else f"{words}; --overwrite allows it"
        case OSError():
            where = f"{error.filename}: " if error.filename is not None and error.strerror else ""
            return INPUT, f"{where}{error.strerror or words}" if where else words
        case ValueError():  # the library's doors speak for themselves
            return USAGE, words
    kind = type(error).__name__
    return (
        INTERNAL,
        f"internal error: {kind}: {words}\nplease report it, with what EPITOMES_DEBUG=1 and epitomes doctor show",
    )


def _forget_stdout() -> None:
    """Send what is still to be flushed nowhere, or Python complains of the closed pipe when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _one_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    tell(f"warning: {' '.join(str(message).split())}")
