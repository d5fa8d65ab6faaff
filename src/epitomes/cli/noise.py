"""`epitomes noise`: estimate the noise of images."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.advice import CommandLine, after_noise, doubts
from epitomes.cli.batch import each, files_at_once, files_of, name_of_result
from epitomes.cli.common import (
    STREAM,
    Axes,
    Json,
    MaxPixels,
    Offset,
    Overwrite,
    Poisson,
    Result,
    SeriesOf,
    read_any,
    require_axes,
    require_goal,
)
from epitomes.cli.errors import usage
from epitomes.cli.help import NOISE, OUTPUT, examples
from epitomes.cli.noise_options import Region, Rician, model_of, origin_of, require_one_noise
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.formats import Picture
    from epitomes.layout import Layout
    from epitomes.noise import Noise

EXAMPLES = examples(
    "noise photo.png --report noise.html",
    "noise stack.ome.tif --poisson --json",
    "noise scan.tif --save scanner.json",
    "noise photo.png --from 40,60,64,64 --save camera.json",
)

COLOURS = ("red", "green", "blue")
MOST_LISTED = 8  # values of channels or planes; of more, the range


def noise(
    context: typer.Context,
    images: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help='images, directories or patterns such as "scans/*.tif", - for stdin'),
    ],
    poisson: Poisson = False,
    rician: Rician = False,
    offset: Offset = None,
    region: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="X,Y,W,H", help="measure it on a flat region of the image", rich_help_panel=NOISE
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='noise profile for "epitomes denoise --noise"', rich_help_panel=OUTPUT),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="HTML", help="page with the level over brightness, spectrum and correlation", rich_help_panel=OUTPUT
        ),
    ] = None,
    draw: Annotated[
        bool | None,
        typer.Option(
            "--draw/--no-draw",
            help="draw the same in the terminal [default: if the output is one]",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: Json = False,
    overwrite: Overwrite = False,
    axes: Axes = None,
    series: SeriesOf = None,
    max_pixels: MaxPixels = None,
) -> None:
    """Estimate the noise of images.

    No clean image is needed. Prints the noise level with its 90 % interval, reasons for doubt, and whether the noise of
    neighbouring pixels is correlated.
    """
    require_one_noise({"--poisson": poisson, "--rician": rician, "--from": region}, offset)
    require_axes(axes)
    files = files_of(images)
    for option, path in (("--save", save), ("--report", report)):
        if path is not None:
            if len(files) > 1:
                raise usage(f"{option} takes one image, got {len(files)}: run it for one of them")
            require_goal(path, overwrite, option=option)
    flat = None if region is None else Region.parse("--from", region)
    shown = (sys.stdout.isatty() and not json) if draw is None else draw
    job = Job(
        poisson=poisson,
        rician=rician,
        offset=offset,
        region=flat,
        save=save,
        report=report,
        draw=shown,
        overwrite=overwrite,
        axes=axes,
        series=series,
        max_pixels=max_pixels,
        line=context.obj,
        names=images,
    )
    each(files, job.run, done="examined", json=json, at_once=files_at_once(files, None))


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the options ask for, the same for every file."""

    poisson: bool
    rician: bool
    offset: float | None
    region: Region | None
    save: Path | None
    report: Path | None
    draw: bool
    overwrite: bool
    axes: str | None
    series: str | None
    max_pixels: int | None
    line: CommandLine
    names: list[Path]  # as typed

    def run(self, file: Path) -> Result:
        """Estimate the noise of one file."""
        from epitomes.filling import missing_values

        picture = read_any(file, self.max_pixels, self.axes, series=self.series, missing=True)
        found = self._estimate(file, picture) if self.region is None else self.region.noise(picture)
        if self.save is not None:
            from epitomes.noise.profile import write_profile

            write_profile(found, self.save, overwrite=self.overwrite, origin=origin_of(picture))
        lines = self._lines(file, found, picture.layout)
        if (missing := missing_values(picture.pixels)) is not None:
            lines.insert(1, f"  missing: {int(missing.sum())} of {missing.size} values (NaN), not used")
        if self.draw or self.report is not None:
            lines += self._drawn(found, picture)
        facts = {
            "input": str(file),
            "profile": None if self.save is None else str(self.save),
            "report": None if self.report is None else str(self.report),
            **found.as_dict(),
        }
        return Result("\n".join(lines), facts)

    def _drawn(self, found: Noise, picture: Picture) -> list[str]:
        """Write the page if it is wanted, and return the charts for the terminal."""
        from epitomes.cli.noise_charts import charts
        from epitomes.filling import filled, missing_values
        from epitomes.noise.survey import survey
        from epitomes.reports.noise_page import write_noise_page

        missing = missing_values(picture.pixels)
        pixels = picture.pixels if missing is None else filled(picture.pixels, missing, picture.layout)
        surveys = survey(pixels, found, picture.layout, _names(picture))
        lines = charts(surveys) if self.draw else []
        if self.report is not None:
            name = picture.name or str(self.names[0])
            write_noise_page(self.report, found, surveys, name=name, command=str(self.line), overwrite=self.overwrite)
            lines.append(f"  report in {self.report}")
        return lines

    def _estimate(self, file: Path, picture: Picture) -> Noise:
        from epitomes.noise import estimate_noise

        model, offset = model_of(picture, self.poisson, self.rician, self.offset)
        with progress(file.name) as callback:
            return estimate_noise(
                picture.pixels,
                model=model,
                offset=offset,
                channel_axis=picture.channel_axis,
                spatial=picture.spatial,
                callback=None if callback is None else lambda done, total: callback(done / total, "estimating"),
            )

    def _lines(self, file: Path, found: Noise, layout: Layout) -> list[str]:
        lines = [f"{file}: {found.describe()}"]
        if found.parts:
            lines.append(f"  {_parts(found, layout)}")
        if found.correlation is not None:
            across, down = found.correlation.across, found.correlation.down
            lines.append(f"  correlation of neighbouring pixels: {across:+.2f} across, {down:+.2f} down")
        if found.reliable:
            lines.append("  confidence: high")
        else:
            goal = file.with_name(f"clean-{name_of_result(file)}")
            steps = after_noise(self.line.for_file(self.names, file), goal)
            lines.append("  confidence: low")
            lines += doubts(found, steps if str(file) != STREAM else lambda kind: None)
        if self.save is not None:
            lines.append(f"  saved to {self.save}")
        return lines


def _names(picture: Picture) -> list[str]:
    """The names of the channels, if they are colours."""
    from epitomes.formats.raw import RawInfo

    if isinstance(picture.metadata, RawInfo):
        return [f"{colour}, pixel {number}" for number, colour in enumerate(picture.metadata.colours, start=1)]
    colours = picture.channel_axis is not None and picture.pixels.shape[picture.channel_axis] == len(COLOURS)
    return list(COLOURS) if colours else []


def _parts(found: Noise, layout: Layout) -> str:
    """The levels of the channels, planes or images that were estimated one by one."""
    from epitomes.noise.sheets import noun_of

    in_volume = noun_of(layout.picture_shape) if layout.spatial > 2 else "channel"
    noun = layout.noun if layout.stack_shape else in_volume
    levels = [part.level for part in found.parts]
    if len(levels) <= MOST_LISTED:
        return f"level of each {noun}: {', '.join(f'{level:.4g}' for level in levels)}"
    return f"level of {len(levels)} {noun}s: {min(levels):.4g} to {max(levels):.4g}"
