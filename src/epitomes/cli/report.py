"""`epitomes report`: judge a denoised picture, whoever made it, and write the page that shows it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.common import (
    MOST_PIXELS,
    Axes,
    Json,
    MaxPixels,
    Overwrite,
    Result,
    Sigma,
    answer,
    examples,
    level_of,
    read_any,
    require_axes,
    require_goal,
    size,
)
from epitomes.cli.errors import INPUT, CommandError, tell, usage
from epitomes.cli.planewise import for_commands
from epitomes.cli.story import LEAST_SIDE, command_of, plane_note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.formats import Picture, Plane
    from epitomes.noise import NoiseEstimate
    from epitomes.validation import Audit

EXAMPLES = examples(
    "report noisy.png clean.png -o clean.html",
    "report noisy.tif clean.tif --sigma 12 --plane 3 --json",
)


def report(
    context: typer.Context,
    noisy: Annotated[Path, typer.Argument(metavar="NOISY", help="the picture as it was")],
    restored: Annotated[Path, typer.Argument(metavar="RESTORED", help="the same without its noise, by any program")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="the page; only words unless given")
    ] = None,
    sigma: Sigma = "auto",
    plane: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="plane of a volume or video, from 0; the middle one unless given"),
    ] = None,
    axes: Axes = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Judge a denoised picture without the clean one.

    What was taken away should be the noise and nothing else: the audit looks for structure in it, and for noise that
    was left. The page shows both pictures and all numbers. For an estimate of the error, see denoise --report.
    """
    level = level_of(sigma)
    require_axes(axes)
    if str(noisy) == str(restored):
        raise usage(f"both pictures are {noisy}: name the noisy one, then the restored one")
    if output is not None:
        require_goal(output, overwrite)

    from epitomes.validation import audit

    before, after = (read_any(path, max_pixels, axes) for path in (noisy, restored))
    if before.pixels.shape != after.pixels.shape:
        raise usage(
            f"{noisy} is {size(before.pixels.shape)} and {restored} is {size(after.pixels.shape)}: they must be equal"
        )
    chosen = _chosen(before, plane)
    pixels, image = (_shown(picture, chosen) for picture in (before, after))
    if min(pixels.shape[:2]) < LEAST_SIDE:
        raise CommandError(INPUT, f"{noisy} has a side below {LEAST_SIDE} pixels, too small to be judged")
    estimate = None if level is not None else _estimate(noisy, pixels)
    used = level if estimate is None else estimate.sigma
    assert used is not None
    judged = audit(pixels, image, used)
    if output is not None:
        _write(output, overwrite, before, chosen, pixels, image, used, estimate, judged, command_of(context.obj or []))
    answer(_result(noisy, restored, chosen, used, estimate, judged, output), json)


def _chosen(picture: Picture, number: int | None) -> Plane:
    from epitomes.formats import planes

    every = list(planes(picture))
    at = len(every) // 2 if number is None else number
    if at >= len(every):
        raise usage(f"--plane {at}: the picture has {len(every)} planes, numbered from 0")
    return every[at]


def _shown(picture: Picture, plane: Plane) -> NDArray[Any]:
    """The plane as a page shows it, grey or in three colours."""
    pixels = picture.pixels[plane.index]
    return pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] != 3 else pixels


def _estimate(path: Path, pixels: NDArray[Any]) -> NoiseEstimate:
    from epitomes.noise import estimate_noise

    found = estimate_noise(pixels, channel_axis=None if pixels.ndim == 2 else -1)
    if found.sigma == 0:
        raise CommandError(INPUT, f"{path} holds no noise to judge by: {found.reason}; --sigma sets its level")
    if not found.reliable:
        reason = for_commands(found.reason).split("; ")[0]
        tell(f"warning: {path}: the noise level is not reliable: {reason}; epitomes noise says more")
    return found


def _write(
    output: Path,
    overwrite: bool,
    picture: Picture,
    plane: Plane,
    noisy: NDArray[Any],
    image: NDArray[Any],
    sigma: float,
    estimate: NoiseEstimate | None,
    judged: Audit,
    command: str,
) -> None:
    from epitomes.reports import Story, write_report
    from epitomes.restoration import Restored

    unknown: Any = None  # no epitome: the page leaves out what it does not know
    told = Story(
        noisy=noisy,
        restored=Restored(image, unknown, None, math.nan, math.nan),
        sigma=sigma,
        name=picture.name,
        command=command,
        noise=estimate,
        audit=judged,
        notes=plane_note(picture, plane),
    )
    write_report(output, told, overwrite=overwrite)


def _result(
    noisy: Path,
    restored: Path,
    plane: Plane,
    sigma: float,
    estimate: NoiseEstimate | None,
    judged: Audit,
    output: Path | None,
) -> Result:
    facts = {
        "noisy": str(noisy),
        "restored": str(restored),
        "plane": plane.label,
        "sigma": sigma,
        "estimated": estimate is not None,
        "reliable": estimate is None or estimate.reliable,
        "audit": judged.as_dict(),
        "report": None if output is None else str(output),
    }
    lines = [f"{restored}: {judged.verdict}, judged by sigma {sigma:.4g}{'' if estimate is None else ', estimated'}"]
    lines += [f"  {words}" for words in (*judged.reasons, *judged.advice)]
    if output is not None:
        lines.append(f"  report in {output}")
    return Result("\n".join(lines), facts)
