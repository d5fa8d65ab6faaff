"""What the commands share: options, reading pictures, refusing outputs early, and the one result on stdout."""

from __future__ import annotations

import json as json_text
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.errors import INPUT, CommandError, tell, usage

if TYPE_CHECKING:
    from epitomes.images import Picture

Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="decides all that is random: the same seed gives the same bits")
]
Threads = Annotated[int | None, typer.Option(metavar="N", min=1, help="threads; one per core unless given")]
Json = Annotated[bool, typer.Option("--json", help="print the result as one JSON object")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace files that are there already")]
MaxPixels = Annotated[int, typer.Option(metavar="N", min=1, help="refuse pictures with more values than this")]

MOST_PIXELS = 2**26  # as epitomes.images, which is not imported before it is needed


@dataclass(frozen=True)
class Result:
    """What a command says in the end: a line for people, facts for programs."""

    line: str
    facts: Mapping[str, Any]


def examples(*commands: str) -> str:
    """The end of a help text: commands that can be copied as they are."""
    lines = "\n".join(f"  epitomes {command}" for command in commands)
    return f"\b\nExamples:\n{lines}"  # \b: typer leaves the lines as they are


def report(result: Result, json: bool) -> None:
    """The only writing on stdout."""
    text = json_text.dumps(result.facts, allow_nan=False) if json else result.line
    print(text, flush=True)


def read(path: Path, max_pixels: int) -> Picture:
    """A picture that can be worked on; what reading changed is told."""
    import numpy as np

    from epitomes.images import read_picture

    picture = read_picture(path, most=max_pixels)
    for note in picture.notes:
        tell(f"{path}: {note}")
    shape = picture.pixels.shape
    if len(shape) == 3 and shape[2] not in (1, 3):
        raise CommandError(INPUT, f"{path} has the shape {shape}: give a grey picture, or one with 3 colours")
    if picture.pixels.dtype.kind == "f" and not np.isfinite(picture.pixels).all():
        raise CommandError(INPUT, f"{path} holds values that are not finite: replace them first")
    return picture


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
    from epitomes.images import ImageFileError, require_format

    try:
        require_format(path)
    except ImageFileError as error:
        raise usage(f"--output {error}") from error
    require_goal(path, overwrite)


def size(shape: tuple[int, ...]) -> str:
    """A shape for people."""
    return " x ".join(map(str, shape))
