"""`epitomes show`: describe and draw a model file."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import (
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Threads,
    answer,
    examples,
    read,
    require_picture_goal,
    size,
)
from epitomes.cli.errors import usage

if TYPE_CHECKING:
    from epitomes.draw import Panel
    from epitomes.epitome import Epitome
    from epitomes.model_file import ModelInfo

EXAMPLES = examples(
    "show photo.epitome -o photo-epitome.png",
    "show photo.epitome -o used.png --image photo.png --sigma 10",
)

MAX_ATOMS = 4096  # drawn one by one; more would be too small to see


def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model file (.epitome)")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PNG", help="draw the epitome and its dictionary to this file"),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="also draw which pixels of the epitome this image uses")
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(metavar="X", help="noise level of --image, in its units"),
    ] = None,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = None,
) -> None:
    """Show the shapes, data type and provenance of a model file, and draw the epitome."""
    _require_sense(output, image, sigma)
    if output is not None:
        require_picture_goal(output, overwrite)

    from epitomes.model_file import inspect, load

    if output is None:
        answer(model_result(inspect(model), None), json)
        return
    from epitomes.draw import sheet
    from epitomes.formats import write

    epitome, info = load(model), inspect(model)
    panels = _panels(epitome)
    if image is not None and sigma is not None:
        panels.append(_usage(epitome, image, sigma, threads, max_pixels))
    write(output, sheet(panels), overwrite=overwrite)
    answer(model_result(info, output), json)


def _require_sense(output: Path | None, image: Path | None, sigma: float | None) -> None:
    if image is not None and sigma is None:
        raise usage("--image needs --sigma, the noise level of the image in its units")
    if sigma is not None and image is None:
        raise usage("--sigma is the noise level of an image: use it with --image, or leave it out")
    if image is not None and output is None:
        raise usage("--image needs --output PNG, the file to draw to")
    if sigma is not None and not 0 < sigma < float("inf"):
        raise usage(f"--sigma must be above 0, in the units of the image, got {sigma:g}")


def _panels(epitome: Epitome) -> list[Panel]:
    from epitomes.draw import Panel, dictionary_picture, epitome_picture

    panels = [Panel(f"epitome, {size(epitome.pixels.shape)}", epitome_picture(epitome))]
    # Atoms that leave out pixels of the patch cannot be drawn as rectangles.
    if epitome.phi.n_atoms <= MAX_ATOMS and epitome.phi.patch_size == math.prod(epitome.phi.patch_shape):
        caption = f"dictionary, {epitome.phi.n_atoms} atoms of {size(epitome.phi.patch_shape)}"
        panels.append(Panel(caption, dictionary_picture(epitome.dictionary, epitome.phi.patch_shape)))
    return panels


def _usage(epitome: Epitome, image: Path, sigma: float, threads: int | None, max_pixels: int | None) -> Panel:
    from epitomes.draw import Panel, usage_picture

    codes = epitome.encode(read(image, max_pixels).pixels, sigma, threads=threads)
    per_patch = codes.nnz / codes.shape[0]
    caption = f"pixels used by {image.name}, {per_patch:.2f} atoms per patch (bright: often)"
    return Panel(caption, usage_picture(epitome, codes))


def model_result(info: ModelInfo, output: Path | None, *, name: str = "") -> Result:
    """Describe a model file; `name` is that of the file, if several are shown."""
    origin = {} if info.provenance is None else asdict(info.provenance)
    facts = {
        **({"input": name} if name else {}),
        "epitome_shape": list(info.epitome_shape),
        "patch_shape": list(info.patch_shape),
        "n_atoms": info.n_atoms,
        "dtype": str(info.dtype),
        "bytes": info.n_bytes,
        "sha256": info.sha256,
        "provenance": origin or None,
        "output": None if output is None else str(output),
    }
    known = [f"  {name.replace('_', ' ')}: {value}" for name, value in origin.items() if value not in (None, "")]
    prefix = f"{name}: " if name else ""
    lines = [
        f"{prefix}epitome {size(info.epitome_shape)}, {info.n_atoms} atoms of {size(info.patch_shape)}, {info.dtype}",
        *known,
        *([f"drawn to {output}"] if output is not None else []),
    ]
    return Result("\n".join(lines), facts)
