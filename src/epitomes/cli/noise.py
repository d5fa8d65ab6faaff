"""`epitomes noise`: how much noise is in a picture, of what kind, and whether to believe it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.batch import each, files_of
from epitomes.cli.common import MOST_PIXELS, Axes, Json, MaxPixels, Result, examples, read_any, require_axes
from epitomes.cli.errors import INPUT, CommandError, usage
from epitomes.cli.planewise import for_commands
from epitomes.cli.progress import moving

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.formats import Picture
    from epitomes.noise import NoiseCorrelation, NoiseEstimate, PoissonFit

EXAMPLES = examples("noise photo.png", "noise stack.ome.tif --poisson --json")

MOST_PLANES = 32  # of a volume that are looked at, evenly chosen


@dataclass(frozen=True)
class Look:
    """What was found in one plane."""

    label: str
    estimate: NoiseEstimate
    correlation: NoiseCorrelation | None  # None: the plane is too small to say
    fits: tuple[PoissonFit, ...]  # one per channel, if they were asked for


def noise(
    images: Annotated[list[Path], typer.Argument(metavar="FILE", help="pictures or patterns; - for stdin")],
    poisson: Annotated[
        bool, typer.Option("--poisson", help="fit noise that grows with brightness: gain, offset and read noise")
    ] = False,
    offset: Annotated[
        float | None, typer.Option(metavar="X", help="brightness without light, for --poisson; fitted unless given")
    ] = None,
    axes: Axes = None,
    json: Json = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Estimate the noise in pictures.

    No clean picture is needed. Says the standard deviation with its interval, whether to believe it, and whether the
    noise is white. Of volumes and video, up to 32 planes are looked at.
    """
    if offset is not None and not poisson:
        raise usage("--offset is for --poisson: add it, or leave --offset out")
    require_axes(axes)

    def work(file: Path) -> Result:
        picture = read_any(file, max_pixels, axes)
        try:
            looks = _looks(picture, poisson, offset, file.name)
        except ValueError as error:
            raise CommandError(INPUT, f"{file}: its noise cannot be estimated: {error}") from error
        return _result(file, picture, looks)

    each(files_of(images), work, done="looked at", json=json)


def _looks(picture: Picture, poisson: bool, offset: float | None, name: str) -> list[Look]:
    from epitomes.formats import count_planes, planes

    n = count_planes(picture)
    chosen = {round(i * (n - 1) / max(1, min(n, MOST_PLANES) - 1)) for i in range(min(n, MOST_PLANES))}
    looks = []
    with moving(name, len(chosen)) as move:
        for at, plane in enumerate(planes(picture)):
            if at in chosen:
                looks.append(_look(plane.pixels, plane.label, poisson, offset))
                move(len(looks), plane.label)
    return looks


def _look(pixels: NDArray[Any], label: str, poisson: bool, offset: float | None) -> Look:
    from epitomes.noise import estimate_noise, fit_poisson_gaussian, noise_correlation

    channel_axis = None if pixels.ndim == 2 else -1
    estimate = estimate_noise(pixels, channel_axis=channel_axis)
    correlation = None
    if estimate.sigma > 0 and min(pixels.shape[:2]) >= 16:
        correlation = noise_correlation(pixels, channel_axis=channel_axis)
    channels = [pixels] if channel_axis is None else [pixels[..., at] for at in range(pixels.shape[2])]
    fits = (
        tuple(fit_poisson_gaussian(each, offset=offset) for each in channels) if poisson and estimate.sigma > 0 else ()
    )
    return Look(label, estimate, correlation, fits)


def _result(file: Path, picture: Picture, looks: list[Look]) -> Result:
    from statistics import median

    from epitomes.formats import count_planes

    found = [look.estimate for look in looks]
    facts = {
        "input": str(file),
        "planes": count_planes(picture),
        "looked_at": len(looks),
        "sigma": median(each.sigma for each in found),
        "low": min(each.low for each in found),
        "high": max(each.high for each in found),
        "reliable": all(each.reliable for each in found),
        "reason": next((each.reason for each in found if each.reason), ""),
        "warning": next((look.correlation.warning for look in looks if look.correlation), ""),
        "looks": [_look_facts(look) for look in looks],
    }
    return Result("\n".join(_words(file, facts, looks)), facts)


def _look_facts(look: Look) -> dict[str, Any]:
    return {
        "label": look.label,
        **asdict(look.estimate),
        "correlation": None if look.correlation is None else asdict(look.correlation),
        "poisson": [
            {**asdict(fit.model), **{name: value for name, value in asdict(fit).items() if name != "model"}}
            for fit in look.fits
        ],
    }


def _words(file: Path, facts: dict[str, Any], looks: list[Look]) -> list[str]:
    first = looks[0]
    lines = [f"{file}: sigma {facts['sigma']:.4g}, 90 % between {facts['low']:.4g} and {facts['high']:.4g}"]
    if len(looks) > 1:
        least, most = (end(look.estimate.sigma for look in looks) for end in (min, max))
        lines[0] = f"{file}: sigma {least:.4g} to {most:.4g}, median {facts['sigma']:.4g}"
        lines.append(f"  {facts['looked_at']} of {facts['planes']} planes were looked at, each by itself")
    elif first.estimate.channels:
        lines.append("  channels: " + ", ".join(f"{each.sigma:.4g}" for each in first.estimate.channels))
    doubts = dict.fromkeys(doubt for look in looks for doubt in _doubts(look.estimate))
    lines += [f"  not reliable: {doubt}" for doubt in doubts]
    if first.correlation is not None and not facts["warning"]:
        lines.append(
            f"  white, as far as can be seen: neighbours correlate by {first.correlation.across:+.2f} across, "
            f"{first.correlation.down:+.2f} down"
        )
    if facts["warning"] and not any(facts["warning"] in doubt for doubt in doubts):
        lines.append(f"  warning: {facts['warning']}")
    lines += [_fit_words(look.label, fit) for look in looks for fit in look.fits]
    return lines


def _doubts(estimate: NoiseEstimate) -> list[str]:
    if estimate.channels:
        return [
            f"channel {at}: {for_commands(each.reason)}" for at, each in enumerate(estimate.channels) if each.reason
        ]
    return [for_commands(estimate.reason)] if estimate.reason else []


def _fit_words(label: str, fit: PoissonFit) -> str:
    model = fit.model
    words = (
        f"  {f'{label}: ' if label else ''}gain {model.gain:.4g} per count, 90 % between {fit.gain_low:.4g} and "
        f"{fit.gain_high:.4g}; offset {model.offset:.4g}, read noise {model.read_noise:.4g}"
    )
    return words if fit.reliable else f"{words}; not reliable: {for_commands(fit.reason)}"
