"""What the commands share: options, reading pictures, refusing outputs early, and the one result on stdout."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.errors import INPUT, CommandError, tell, usage

if TYPE_CHECKING:
    from epitomes.formats import Picture

STREAM = "-"  # stdin or stdout
MOST_PIXELS = 2**26  # as epitomes.formats, which is not imported before it is needed

Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="decides all that is random: the same seed gives the same bits")
]
Threads = Annotated[int | None, typer.Option(metavar="N", min=1, help="threads; one per core unless given")]
Json = Annotated[bool, typer.Option("--json", help="print the result as JSON, one object per line")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace files that are there already")]
MaxPixels = Annotated[int, typer.Option(metavar="N", min=1, help="refuse pictures with more values than this")]
Axes = Annotated[
    str | None,
    typer.Option(metavar="AXES", help="what the axes mean, where the file is silent or wrong: letters out of TZCYX"),
]
Sigma = Annotated[
    str,
    typer.Option(
        metavar="X|auto",
        help="standard deviation of the noise, in the picture's own units: 0 to 255 for 8 bits; auto estimates it",
        autocompletion=lambda: ["auto"],
    ),
]


@dataclass(frozen=True)
class Result:
    """What a command says in the end: a line for people, facts for programs."""

    line: str
    facts: Mapping[str, Any]


def examples(*commands: str) -> str:
    """The end of a help text: commands that can be copied as they are."""
    lines = "\n".join(f"  epitomes {command}" for command in commands)
    return f"\b\nExamples:\n{lines}"  # \b: typer leaves the lines as they are


def answer(result: Result, json: bool, *, aside: bool = False) -> None:
    """The only writing on stdout; `aside`: on stderr, because stdout carries a picture."""
    text = json_text.dumps(result.facts, allow_nan=False) if json else result.line
    print(text, flush=True, file=sys.stderr if aside else sys.stdout)


def level_of(sigma: str) -> float | None:
    """The noise level that `--sigma` names; None: it is to be estimated."""
    if sigma.strip().lower() == "auto":
        return None
    try:
        level = float(sigma)
    except ValueError:
        raise usage(f"--sigma must be a number above 0, in the picture's own units, or auto, got {sigma!r}") from None
    if not 0 < level < float("inf"):
        raise usage(f"--sigma must be above 0, in the picture's own units, got {level:g}; auto estimates it")
    return level


def read_any(path: Path, max_pixels: int, axes: str | None = None, *, finite: bool = True) -> Picture:
    """A picture with any axes, and finite values unless the caller sees to them; what reading changed is told."""
    from epitomes.formats import read as read_file

    require_picture(path)
    picture = read_file(path, max_pixels=max_pixels, axes=axes)
    for note in picture.notes:
        tell(f"{path}: {note}")
    if finite:
        require_finite(path, picture)
    return picture


def require_finite(path: Path, picture: Picture) -> None:
    """Refuse NaN and infinity."""
    import numpy as np

    if picture.pixels.dtype.kind == "f" and not np.isfinite(picture.pixels).all():
        bad = int(picture.pixels.size - np.isfinite(picture.pixels).sum())
        raise CommandError(
            INPUT,
            f"{path}: {bad} of {picture.pixels.size} values are not finite: replace them first, "
            "or name them with --mask of epitomes denoise",
        )


def read(path: Path, max_pixels: int) -> Picture:
    """The same for commands that work on one plane: a grey picture, or one with three colours."""
    picture = read_any(path, max_pixels)
    shape, axes = picture.pixels.shape, picture.axes
    if axes not in ("YX", "YXC") or (axes == "YXC" and shape[2] not in (1, 3)):
        raise CommandError(
            INPUT, f"{path} has the axes {axes}, shape {shape}: give a grey picture, or one with 3 colours"
        )
    return picture


def require_picture(path: Path) -> None:
    """Refuse what by its name is no picture, before anything is asked of the output."""
    from epitomes.formats import is_folder_format
    from epitomes.formats.registry import format_to_read

    if path.is_dir() and not is_folder_format(path):
        raise CommandError(INPUT, f"{path} is a folder, not a regular file: name its pictures, such as '{path}/*.png'")
    if str(path) != STREAM and "://" not in str(path):
        format_to_read(path)


def require_axes(axes: str | None) -> None:
    """Refuse letters that no axis has, before a file is opened; whether they fit, the file decides."""
    letters = "" if axes is None else axes.upper()
    if axes is not None and not (set("YX") <= set(letters) <= set("TZCYX") and len(set(letters)) == len(letters)):
        raise usage(f"--axes needs letters out of T, Z, C, Y and X, each once, Y and X among them, got {axes!r}")


def require_goal(path: Path, overwrite: bool, *, option: str = "--output") -> None:
    """Refuse an output that could not be written, before the work and not after it."""
    if path.is_dir():
        raise usage(f"{option} {path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise usage(f"{option} {path}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise usage(f"{option} {path}: the folder {path.parent} cannot be written to; choose another")
    if path.exists() and not overwrite:
        raise usage(f"{option} {path} exists already: choose another name, or add --overwrite")


def require_picture_goal(path: Path, overwrite: bool) -> None:
    """The same for a picture, whose suffix must name a format."""
    from epitomes.formats import ImageFileError, is_folder_format, require_format

    try:
        require_format(path)
    except ImageFileError as error:
        raise usage(f"--output {error}") from error
    if str(path) == STREAM or (is_folder_format(path) and path.is_dir() and overwrite):
        return
    require_goal(path, overwrite)


def size(shape: tuple[int, ...]) -> str:
    """A shape for people."""
    return " x ".join(map(str, shape))
