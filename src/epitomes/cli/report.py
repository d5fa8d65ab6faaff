"""`epitomes report`: judge a denoised image, whatever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.common import (
    Axes,
    Json,
    MaxPixels,
    NoiseFile,
    Overwrite,
    Result,
    Sigma,
    answer,
    level_of,
    read_any,
    require_axes,
    require_goal,
    size,
)
from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.help import OUTPUT, examples
from epitomes.cli.noise_options import load_noise, require_fit, require_one_noise
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.formats import Picture
    from epitomes.noise import Noise

EXAMPLES = examples(
    "report noisy.png clean.png -o clean.html",
    "report noisy.tif clean.tif --sigma 12 --json",
)


def report(
    context: typer.Context,
    noisy: Annotated[Path, typer.Argument(metavar="NOISY", help="the noisy image")],
    restored: Annotated[Path, typer.Argument(metavar="RESTORED", help="the image denoised by any program")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="HTML", help="report to write", rich_help_panel=OUTPUT),
    ] = None,
    sigma: Sigma = "auto",
    noise: NoiseFile = None,
    json: Json = False,
    overwrite: Overwrite = False,
    axes: Axes = None,
    max_pixels: MaxPixels = None,
) -> None:
    """Judge a denoised image without the clean one.

    The difference of the two images should be noise and nothing else. The audit looks for structure in it, and for
    noise that was left. The report shows both images and all numbers.
    """
    level = level_of(sigma)
    require_one_noise({"--sigma": level, "--noise": noise})
    require_axes(axes)
    if str(noisy) == str(restored):
        raise usage(f"both images are {noisy}: name the noisy image, then the denoised one")
    if output is not None:
        require_goal(output, overwrite)

    from epitomes.noise import Noise
    from epitomes.reports import write_report
    from epitomes.restoration.diagnosis import report_pair
    from epitomes.validation import audit

    before, after = (read_any(path, max_pixels, axes) for path in (noisy, restored))
    if before.pixels.shape != after.pixels.shape:
        sizes = f"{noisy} is {size(before.pixels.shape)} and {restored} is {size(after.pixels.shape)}"
        raise CommandError(INPUT, f"{sizes}: the images must have the same size")
    if noise is not None:
        model, origin = load_noise(noise)
        require_fit(f"--noise {noise}", origin, noisy, before)
    else:
        model = _estimate(noisy, before) if level is None else Noise.gaussian(level)
    try:
        judged = audit(before.pixels, after.pixels, model, channel_axis=before.channel_axis, spatial=before.spatial)
    except ValueError as error:
        raise CommandError(INPUT, f"{restored}: {error}") from error
    if output is not None:
        data = report_pair(before, after, model, name=before.name, command=str(context.obj))
        write_report(output, data, overwrite=overwrite)
    facts: dict[str, Any] = {
        "noisy": str(noisy),
        "restored": str(restored),
        "noise": model.as_dict(),
        "audit": judged.as_dict(),
        "report": None if output is None else str(output),
    }
    lines = [f"{restored}: {judged.verdict} (noise: {model.describe()})"]
    lines += [f"  - {text}" for text in (*judged.reasons, *judged.advice)]
    lines += [] if output is None else [f"  report in {output}"]
    answer(Result("\n".join(lines), facts), json)


def _estimate(path: Path, picture: Picture) -> Noise:
    from epitomes.noise import estimate_noise

    with progress(path.name) as callback:
        found = estimate_noise(
            picture.pixels,
            channel_axis=picture.channel_axis,
            spatial=picture.spatial,
            callback=None if callback is None else lambda done, total: callback(done / total, "estimating the noise"),
        )
    if found.level == 0:
        raise CommandError(INPUT, f"{path}: no noise was found to judge by: set its level with --sigma")
    if not found.reliable:
        tell(f"warning: {path}: the noise estimate has low confidence")
        for doubt in found.doubts:
            tell(f"  - {doubt}")
    return found
