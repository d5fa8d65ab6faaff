"""What the commands share: options, reading images, checking outputs early, and the result on stdout."""

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
from epitomes.cli.help import ADVANCED, NOISE, OUTPUT
from epitomes.cli.help import examples as examples

if TYPE_CHECKING:
    from epitomes.formats import Picture

STREAM = "-"  # stdin or stdout

Seed = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="seed of the random number generator", rich_help_panel=ADVANCED),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="number of threads [default: one per core]", rich_help_panel=ADVANCED),
]
Json = Annotated[
    bool, typer.Option("--json", help="print the result as JSON, one object per line", rich_help_panel=OUTPUT)
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace existing files", rich_help_panel=OUTPUT)]
MaxPixels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="largest number of values in an image [default: a quarter of the memory]",
        rich_help_panel=ADVANCED,
    ),
]
Axes = Annotated[
    str | None,
    typer.Option(
        metavar="AXES",
        help="one letter per axis, if the file does not give them: T (time), Z, C (channel or colour), Y, X",
        rich_help_panel=ADVANCED,
    ),
]
SeriesOf = Annotated[
    str | None,
    typer.Option(
        "--series",
        "--hdu",
        metavar="N",
        help="number or name of the image, if the file holds several, as FITS and TIFF files do [default: the first]",
        rich_help_panel=ADVANCED,
    ),
]
Sigma = Annotated[
    str,
    typer.Option(
        metavar="X",
        help="standard deviation of white noise in the file's units, or auto to estimate it",
        autocompletion=lambda: ["auto"],
        rich_help_panel=NOISE,
    ),
]
NoiseFile = Annotated[
    Path | None,
    typer.Option(
        "--noise",
        metavar="FILE",
        help='noise profile written by "epitomes noise --save"',
        rich_help_panel=NOISE,
    ),
]
Poisson = Annotated[
    bool,
    typer.Option(
        "--poisson", help="estimate noise that grows with brightness (Poisson-Gaussian)", rich_help_panel=NOISE
    ),
]
Offset = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="brightness without light, for --poisson [default: estimated]", rich_help_panel=NOISE
    ),
]


@dataclass(frozen=True)
class Result:
    """What a command prints in the end: a text for people, values for programs."""

    line: str
    facts: Mapping[str, Any]


def answer(result: Result, json: bool, *, aside: bool = False) -> None:
    """Print the result on stdout; `aside`: on stderr, because stdout carries an image."""
    text = json_text.dumps(result.facts, allow_nan=False) if json else result.line
    print(text, flush=True, file=sys.stderr if aside else sys.stdout)


def level_of(sigma: str) -> float | None:
    """Return the noise level that `--sigma` sets, None if it is to be estimated."""
    if sigma.strip().lower() == "auto":
        return None
    try:
        level = float(sigma)
    except ValueError:
        raise usage(f"--sigma must be a number above 0 or auto, got {sigma!r}") from None
    if not 0 < level < float("inf"):
        raise usage(f"--sigma must be above 0, got {level:g}", "--sigma", "auto")
    return level


def read_any(
    path: Path,
    max_pixels: int | None,
    axes: str | None = None,
    *,
    series: str | None = None,
    finite: bool = True,
    missing: bool = False,
) -> Picture:
    """Read an image with any axes, and print notes; values that are not finite are refused, as far as asked for."""
    from epitomes.formats import read as read_file

    require_picture(path)
    picture = read_file(path, max_pixels=max_pixels, axes=axes, series=series)
    for note in picture.notes:
        tell(f"note: {path}: {note}")
    if finite:
        require_finite(path, picture, missing=missing)
    return picture


def require_finite(path: Path, picture: Picture, *, missing: bool) -> None:
    """Refuse infinite values, and NaN unless it stands for `missing` ones."""
    import numpy as np

    pixels = picture.pixels
    if pixels.dtype.kind != "f":
        return
    wrong = np.isinf(pixels) if missing else ~np.isfinite(pixels)
    if count := int(wrong.sum()):
        raise CommandError(
            INPUT,
            f"{path}: {count} of {pixels.size} values are not finite: store them as NaN, and fill them with "
            '"epitomes denoise --fill"',
        )


def read(path: Path, max_pixels: int | None) -> Picture:
    """Read a grey image, or one with three colours."""
    picture = read_any(path, max_pixels)
    shape, axes = picture.pixels.shape, picture.axes
    if axes not in ("YX", "YXC") or (axes == "YXC" and shape[2] not in (1, 3)):
        raise CommandError(
            INPUT, f"{path}: expected a grey image or one with 3 colours, got the axes {axes} of size {size(shape)}"
        )
    return picture


def require_picture(path: Path) -> None:
    """Refuse what is not an image by its name or its first bytes, before the output is checked."""
    from epitomes.formats import is_folder_format, suffix_of_file
    from epitomes.formats.registry import BY_SUFFIX, FORMATS, suffix_of, unknown

    if path.is_dir() and not is_folder_format(path):
        raise CommandError(INPUT, f"{path}: expected an image, got a directory: name its images, as in '{path}/*.png'")
    if suffix_of(path) not in BY_SUFFIX and path.is_file() and not suffix_of_file(path):
        raise unknown(path, FORMATS, "read")


def require_axes(axes: str | None) -> None:
    """Refuse letters that no axis has, before a file is opened; the file decides whether they fit."""
    letters = "" if axes is None else axes.upper()
    if axes is not None and not (set("YX") <= set(letters) <= set("TZCYX") and len(set(letters)) == len(letters)):
        raise usage(f"--axes needs letters out of T, Z, C, Y and X, each at most once, with Y and X, got {axes!r}")


def require_goal(path: Path, overwrite: bool, *, option: str = "--output") -> None:
    """Refuse an output that cannot be written, before the work."""
    if path.is_dir():
        raise usage(f"{option} {path}: expected a file, got a directory")
    if not path.parent.is_dir():
        raise usage(f"{option} {path}: there is no directory {path.parent}: create it first")
    if not os.access(path.parent, os.W_OK):
        raise usage(f"{option} {path}: the directory {path.parent} is not writable")
    if path.exists() and not overwrite:
        raise usage(f"{option} {path}: the file exists already", "--overwrite")


def require_picture_goal(path: Path, overwrite: bool) -> None:
    """Refuse an output image that cannot be written, or whose suffix names no format."""
    from epitomes.formats import ImageFileError, is_folder_format, require_format

    try:
        require_format(path)
    except ImageFileError as error:
        raise usage(f"--output {error}", "-o", str(path.with_suffix(".tif"))) from error
    if str(path) == STREAM or (is_folder_format(path) and path.is_dir() and overwrite):
        return
    require_goal(path, overwrite)


def size(shape: tuple[int, ...]) -> str:
    """Format a shape for people."""
    return " x ".join(map(str, shape))
