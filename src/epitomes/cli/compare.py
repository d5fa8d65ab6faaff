"""`epitomes compare`: several methods on one image, side by side on a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.common import (
    Json,
    MaxPixels,
    NoiseFile,
    Overwrite,
    Result,
    Seed,
    Sigma,
    Threads,
    answer,
    level_of,
    read,
    require_goal,
    size,
)
from epitomes.cli.errors import INPUT, CommandError, usage
from epitomes.cli.help import METHOD, OUTPUT, examples
from epitomes.cli.noise_options import load_noise, require_fit, require_one_noise
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.baselines import Comparison

EXAMPLES = examples(
    "compare noisy.png --methods fast,best,ksvd -o compared.html",
    "compare noisy.png --methods paper,isd,jojic --clean clean.png --sigma 25 -o compared.html",
)

USUAL = "fast,balanced,paper,ksvd"


def _listed(asked: bool) -> None:
    if asked:
        from epitomes.baselines import METHODS
        from epitomes.baselines.comparison import OWN

        typer.echo("\n".join([*OWN, *METHODS]))
        raise typer.Exit


def compare(
    context: typer.Context,
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="the noisy image, grey or in colour")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="HTML", help="page to write", rich_help_panel=OUTPUT),
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="A,B,C", help="methods to compare; --list shows them", rich_help_panel=METHOD)
    ] = USUAL,
    listed: Annotated[
        bool,
        typer.Option(
            "--list", callback=_listed, is_eager=True, help="print the names of all methods", rich_help_panel=METHOD
        ),
    ] = False,
    clean: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="clean image: PSNR and SSIM are measured instead of estimated"),
    ] = None,
    sigma: Sigma = "auto",
    noise: NoiseFile = None,
    json: Json = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    threads: Threads = None,
    max_pixels: MaxPixels = None,
) -> None:
    """Denoise an image with several methods and compare the results.

    Prints quality, time and memory of each method. The page shows all results side by side, with one zoom for all.
    Without --clean the quality is estimated, which takes three times as long.
    """
    level = level_of(sigma)
    require_one_noise({"--sigma": level, "--noise": noise})
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise usage("--methods needs at least one name", "--methods", USUAL)
    if output is not None:
        require_goal(output, overwrite)

    from epitomes import baselines

    for name in names:
        try:
            baselines.method_named(name)
        except ValueError as error:
            raise usage(f"--methods: {error}", "--methods", USUAL) from None
    noisy = read(image, max_pixels)
    truth = None if clean is None else read(clean, max_pixels)
    if truth is not None and truth.pixels.shape != noisy.pixels.shape:
        sizes = f"{image} is {size(noisy.pixels.shape)} and {clean} is {size(truth.pixels.shape)}"
        raise CommandError(INPUT, f"{sizes}: the images must have the same size")
    model = None
    if noise is not None:
        model, origin = load_noise(noise)
        require_fit(f"--noise {noise}", origin, image, noisy)
    with progress(image.name) as callback:
        found = baselines.compare(
            noisy.pixels,
            names,
            level,
            noise=model,
            clean=None if truth is None else truth.pixels,
            channel_axis=noisy.channel_axis,
            rng=seed,
            threads=threads,
            callback=callback,
        )
    if output is not None:
        _write(output, found, noisy.name or image.name, str(context.obj), overwrite)
    facts: dict[str, Any] = {
        "input": str(image),
        "clean": None if clean is None else str(clean),
        "noise": found.noise.as_dict(),
        "peak": found.peak,
        "methods": [each.as_dict() for each in found.contenders],
        "report": None if output is None else str(output),
    }
    lines = [f"{image}: {found.noise.describe()}", *_table(found)]
    lines += [*_unknown(found), *_uncertain(found)]
    lines += [] if output is None else [f"page in {output}"]
    answer(Result("\n".join(lines), facts), json)


def _unknown(found: Comparison) -> list[str]:
    """Why the quality of some results is not estimated."""
    if found.clean is not None or all(row[1] != "–" for row in found.rows):
        return []
    return [
        "–: not estimated, because the noise is not white with one level, or the result contradicts that; "
        "--clean FILE measures it"
    ]


def _uncertain(found: Comparison) -> list[str]:
    """What an estimated noise level means for an estimated quality."""
    if found.noise.interval is None or all(each.estimate is None for each in found.contenders):
        return []
    return [
        "the noise level was estimated, too: it moves the error of all methods alike, so trust their order more than "
        "the values; --sigma tells the level"
    ]


def _table(found: Comparison) -> list[str]:
    """The figures in aligned columns."""
    rows = [found.columns, *found.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(found.columns))]
    return [
        "  "
        + "  ".join(
            cell.ljust(wide) if at == 0 else cell.rjust(wide)
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _write(path: Path, found: Comparison, name: str, command: str, overwrite: bool) -> None:
    from epitomes.draw import Table
    from epitomes.reports import Exhibit, write_comparison

    how = "" if found.clean is not None else "estimated "
    captions = {row[0]: f"{how}{row[1]} dB, {row[-2]} s" if row[1] != "–" else f"{row[-2]} s" for row in found.rows}
    exhibits = [Exhibit(each.label, each.image, captions[each.label]) for each in found.contenders]
    if found.clean is not None:
        exhibits.insert(0, Exhibit("clean", found.clean, result=False))
    what = (
        "Measured against the clean image" if found.clean is not None else "Quality estimated without the clean image"
    )
    white = f"white is {found.peak:g}"
    write_comparison(
        path,
        found.noisy,
        exhibits,
        table=Table(f"{what}; {white}", found.columns, found.rows),
        name=name,
        noise=found.noise.describe(),
        notes=[
            *(f"{each.label}: {note}" for each in found.contenders for note in each.notes),
            *_unknown(found),
            *_uncertain(found),
        ],
        command=command,
        overwrite=overwrite,
    )
