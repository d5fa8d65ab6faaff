"""`epitomes denoise`: take the noise off pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.batch import each, files_of, goals_in, into_folder
from epitomes.cli.common import (
    MOST_PIXELS,
    STREAM,
    Axes,
    Json,
    MaxPixels,
    Overwrite,
    Seed,
    Sigma,
    Threads,
    examples,
    level_of,
    require_axes,
    require_goal,
    require_picture_goal,
)
from epitomes.cli.errors import usage
from epitomes.cli.planewise import Job, Method, Preset
from epitomes.cli.single import Aside, denoise_file
from epitomes.cli.story import command_of

if TYPE_CHECKING:
    from epitomes.epitome import Epitome

EXAMPLES = examples(
    "denoise noisy.png -o clean.png --report clean.html",
    "denoise noisy.png -o clean.png --time 30",
    "denoise stack.tif -o clean.tif --axes ZYX --sigma 12 --preset best",
    "denoise 'scans/*.tif' -o clean --json",
    "denoise - -o - < noisy.png > clean.png",
    "denoise noisy.png -o clean.png --method paper --save-model noisy.epitome",
)


def denoise(
    context: typer.Context,
    images: Annotated[list[Path], typer.Argument(metavar="IN", help="pictures or patterns; - for stdin")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="the clean picture, - for stdout; a folder for many")
    ],
    sigma: Sigma = "auto",
    poisson: Annotated[
        bool, typer.Option("--poisson", help="the noise grows with brightness, as that of counted light does")
    ] = False,
    offset: Annotated[
        float | None, typer.Option(metavar="X", help="brightness without light, for --poisson; fitted unless given")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="groups of similar patches, or every patch by itself, as in the paper; chosen unless given",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="how long it may take; auto, the default without --method and --model, tries on parts of the picture "
            "what suits it",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--time",
            metavar="SECONDS",
            help="for each file, a report not counted: the best settings that fit are chosen",
        ),
    ] = None,
    axes: Axes = None,
    mask: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="a picture that is not 0 at bad pixels: they are not used, and stay as they are; of the size of IN, "
            "or of one plane of it",
        ),
    ] = None,
    fill: Annotated[bool, typer.Option("--fill", help="with --mask: estimates in place of the bad pixels")] = False,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="use this epitome, of epitomes learn")] = None,
    suffix: Annotated[
        str | None, typer.Option(metavar=".TIF", help="kind of the files in a folder; that of the inputs unless given")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="HTML", help="a page that shows why to believe the result; takes three times as long"),
    ] = None,
    several: Annotated[
        bool | None,
        typer.Option("--several/--single", help="paper: learn twenty epitomes of 15 x 15 (default), or one of 42 x 42"),
    ] = None,
    lam: Annotated[
        float | None, typer.Option(metavar="X", help="paper: price of a coefficient; 4.5 sigma unless given")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="paper: steps of learning; by size and noise unless given")
    ] = None,
    gain: Annotated[
        float | None,
        typer.Option(metavar="X", help="paper: patches may keep (gain * sigma)^2 per pixel; 1.15 unless given"),
    ] = None,
    blend: Annotated[
        float | None, typer.Option(metavar="X", min=0, help="paper: weight of the noisy pixel; 0 unless given")
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="paper and best: keep the learned epitome")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
    overwrite: Overwrite = False,
    max_pixels: MaxPixels = MOST_PIXELS,
) -> None:
    """Take the noise off pictures.

    It should be white and Gaussian, or that of counted light (--poisson). Its level is estimated unless --sigma gives
    it. Three colours are denoised together; volumes, stacks and video plane by plane. What the file says besides its
    pixels is kept as far as the format of the output can. Settings that are not given are chosen: what suits the
    picture is tried on parts of it, within --time if there is one, and told.
    """
    learning = {"--lam": lam, "--steps": steps, "--several/--single": several}
    paper = {**learning, "--gain": gain, "--blend": blend}
    _require_sense(method, preset, _given(paper), {"--lam": lam, "--gain": gain, "--time": seconds})
    _require_choice(preset, seconds, _given({"--method": method, "--model": model}))
    _require_learning(method, preset, model, _given({"--save-model": save_model, **learning}))
    level = level_of(sigma)
    _require_noise(level, poisson, offset)
    if fill and mask is None:
        raise usage("--fill is about the bad pixels that --mask names: add it, or leave --fill out")
    require_axes(axes)
    files = files_of(images)
    several_files = into_folder(images, files, output)
    goals = goals_in(output, files, suffix) if several_files else {files[0]: output}
    if suffix is not None and not several_files:
        raise usage("--suffix is for results in a folder: the suffix of --output says what kind of file it is")
    if not several_files:
        require_picture_goal(output, overwrite)
    _require_beside("--save-model", save_model, files, output, overwrite)
    _require_beside("--report", report, files, output, overwrite)

    job = Job(
        method=method or Method.nonlocal_,
        preset=preset or (Preset.auto if method is None and model is None else Preset.balanced),
        sigma=level,
        poisson=poisson,
        offset=offset,
        epitome=None if model is None else _loaded(model),
        several=several is not False,
        lam=lam,
        steps=steps,
        gain=1.15 if gain is None else gain,
        blend=blend or 0.0,
        seed=seed,
        threads=threads,
        seconds=seconds,
    )
    if several_files:
        output.mkdir(exist_ok=True)

    aside = Aside(axes, mask, fill, save_model, report, command_of(context.obj or []), overwrite, max_pixels)
    each(
        files,
        lambda file: denoise_file(job, file, goals[file], aside),
        done="denoised",
        json=json,
        aside=str(output) == STREAM,
    )


def _given(options: dict[str, Any]) -> list[str]:
    return [name for name, value in options.items() if value is not None]


def _require_sense(
    method: Method | None, preset: Preset | None, paper: list[str], above_zero: dict[str, float | None]
) -> None:
    for name, value in above_zero.items():
        if value is not None and not 0 < value < float("inf"):
            raise usage(f"{name} must be above 0, got {value:g}")
    if method is not Method.paper and paper:
        raise usage(f"{paper[0]} belongs to the paper's method: add --method paper, or leave it out")
    if method is Method.paper and preset is not None:
        raise usage("--preset belongs to the non-local method: leave out --preset or --method paper")


def _require_choice(preset: Preset | None, seconds: float | None, settings: list[str]) -> None:
    """Refuse to choose what is given already."""
    asked = "--time" if seconds is not None else "--preset auto"
    if seconds is not None and preset not in (None, Preset.auto):
        raise usage(f"--time chooses the preset, and --preset {preset} gives it: leave one of them out")
    if settings and (seconds is not None or preset is Preset.auto):
        raise usage(f"{asked} chooses the method and its epitome, and {settings[0]} is given: leave one of them out")


def _require_learning(method: Method | None, preset: Preset | None, model: Path | None, learning: list[str]) -> None:
    """Refuse options about an epitome that will not be learned."""
    if model is not None and learning:
        raise usage(f"{learning[0]} is about learning, and with --model nothing is learned: leave one of them out")
    if learning and method is not Method.paper and preset is not Preset.best:
        raise usage(f"{learning[0]} needs an epitome that is learned: add --method paper or --preset best")


def _require_noise(level: float | None, poisson: bool, offset: float | None) -> None:
    if poisson and level is not None:
        raise usage("--poisson fits the noise to the picture, and --sigma gives one level: leave one of them out")
    if offset is not None and not poisson:
        raise usage("--offset is for --poisson: add it, or leave --offset out")
    if offset is not None and not abs(offset) < float("inf"):
        raise usage(f"--offset must be a finite number, got {offset:g}")


def _require_beside(option: str, path: Path | None, files: list[Path], output: Path, overwrite: bool) -> None:
    """Refuse a second output that cannot be."""
    if path is None:
        return
    if len(files) > 1:
        raise usage(f"{option} is about one picture, and {len(files)} were given: give one")
    require_goal(path, overwrite, option=option)
    if path.resolve() == output.resolve():
        raise usage(f"{option} and --output name the same file: give them different names")


def _loaded(path: Path) -> Epitome:
    from epitomes.model_file import load

    return load(path)
