"""`epitomes show`: what a model file holds, as words and as a picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import (
    MOST_PIXELS,
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

MOST_ATOMS = 4096  # drawn one by one; more would be dust


def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="a model file, .epitome")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PNG", help="draw the epitome and its dictionary")
    ] = None,
    image: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="draw, too, which pixels its patches use; needs --sigma")
    ] = None,
    sigma: Annotated[
        float | None,
        typer.Option(metavar="X", help="noise level up to which the patches are coded, in the picture's own units"),
    ] = None,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Show what a model file holds, and draw it."""
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
        raise usage("--image needs --sigma, the noise level up to which its patches are coded, in its own units")
    if sigma is not None and image is None:
        raise usage("--sigma is the noise level of a picture: give it with --image, or leave it out")
    if image is not None and output is None:
        raise usage("--image draws on the output: name one with --output PNG")
    if sigma is not None and not 0 < sigma < float("inf"):
        raise usage(f"--sigma must be above 0, in the picture's own units, got {sigma:g}")


def _panels(epitome: Epitome) -> list[Panel]:
    from epitomes.draw import Panel, dictionary_picture, epitome_picture

    panels = [Panel(f"epitome, {size(epitome.pixels.shape)}", epitome_picture(epitome))]
    if epitome.phi.n_atoms <= MOST_ATOMS and epitome.phi.patch_size == _entries(epitome):
        caption = f"dictionary, {epitome.phi.n_atoms} atoms of {size(epitome.phi.patch_shape)}"
        panels.append(Panel(caption, dictionary_picture(epitome.dictionary, epitome.phi.patch_shape)))
    return panels


def _entries(epitome: Epitome) -> int:
    import math

    return math.prod(epitome.phi.patch_shape)  # more than patch_size where atoms have a support of their own


def _usage(epitome: Epitome, image: Path, sigma: float, threads: int | None, max_pixels: int) -> Panel:
    from epitomes.coders import OLS
    from epitomes.draw import Panel, usage_picture
    from epitomes.patches import Patches
    from epitomes.phi import support_of

    pixels = read(image, max_pixels).pixels
    patch = epitome.phi.patch_shape
    if pixels.ndim != len(patch):
        raise usage(f"--image has the shape {size(pixels.shape)}, the patches are {size(patch)}: they do not fit")
    patches = Patches(pixels, patch, support=support_of(epitome.phi))
    coder = OLS(residual=patches.patch_size * (1.15 * sigma) ** 2)
    codes = coder.encode(patches, epitome.dictionary, threads=threads)
    per_patch = codes.nnz / len(patches)
    caption = f"use of its pixels by {image.name}, {per_patch:.2f} atoms per patch; bright: often"
    return Panel(caption, usage_picture(epitome, codes))


def model_result(info: ModelInfo, output: Path | None, *, name: str = "") -> Result:
    """What a model file holds; `name` is that of the file, where several are looked at."""
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
    start = f"{name}: " if name else ""
    lines = [
        f"{start}epitome {size(info.epitome_shape)}, {info.n_atoms} atoms of {size(info.patch_shape)}, {info.dtype}",
        *known,
        *([f"drawn in {output}"] if output is not None else []),
    ]
    return Result("\n".join(lines), facts)
