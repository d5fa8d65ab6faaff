"""`epitomes denoise`: denoise images, volumes and videos."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.batch import each, files_at_once, files_of, goals_of
from epitomes.cli.common import (
    STREAM,
    Axes,
    Json,
    MaxPixels,
    NoiseFile,
    Overwrite,
    Poisson,
    Seed,
    SeriesOf,
    Sigma,
    Threads,
    level_of,
    require_axes,
    require_goal,
)
from epitomes.cli.denoise_file import Job
from epitomes.cli.denoise_store import Memory, ProgressForm, ProgressOption, Restart, StoreOptions, TileSide
from epitomes.cli.errors import usage
from epitomes.cli.executors import Cluster, Workers
from epitomes.cli.help import ADVANCED, METHOD, OUTPUT, examples
from epitomes.cli.noise_options import (
    Burst,
    DarkOffset,
    Gain,
    Merge,
    NoiseFrom,
    NoiseOptions,
    ReadNoise,
    Rician,
    Strength,
)

if TYPE_CHECKING:
    from epitomes.epitome import Epitome
    from epitomes.restoration import Method

EXAMPLES = examples(
    "denoise noisy.png -o clean.png --report clean.html",
    "denoise noisy.png -o clean.png --time 30",
    "denoise photo.png -o clean.png --noise-from 40,60,64,64 --strength 0.8",
    "denoise shot1.png -o clean.png --burst 'shot*.png'",
    "denoise stack.tif -o clean.tif --axes ZYX --sigma 12 --preset best",
    "denoise 'scans/*.tif' -o clean --noise scanner.json --json",
    "denoise slide.zarr -o clean.zarr --memory 2G --workers 4",
    "denoise - -o - < noisy.png > clean.png",
    "denoise noisy.png -o clean.png --method paper --save-model noisy.epitome",
)


class MethodName(StrEnum):
    """Methods by name."""

    nonlocal_ = "nonlocal"
    paper = "paper"


class Preset(StrEnum):
    """Presets of the non-local method."""

    auto = "auto"
    fast = "fast"
    balanced = "balanced"
    best = "best"


class Planes(StrEnum):
    """How the planes of volumes and clips are taken."""

    auto = "auto"
    deep = "deep"
    still = "still"
    flat = "flat"
    wide = "wide"
    aligned = "aligned"
    shared = "shared"
    single = "single"


def denoise(
    context: typer.Context,
    images: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help='images, directories or patterns such as "scans/*.tif", - for stdin'),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="denoised image, - for stdout, or a directory",
            rich_help_panel=OUTPUT,
        ),
    ],
    sigma: Sigma = "auto",
    noise: NoiseFile = None,
    noise_from: NoiseFrom = None,
    burst: Burst = None,
    merge: Merge = None,
    poisson: Poisson = False,
    rician: Rician = False,
    gain: Gain = None,
    offset: DarkOffset = None,
    read_noise: ReadNoise = None,
    strength: Strength = 1.0,
    preset: Annotated[
        Preset,
        typer.Option(metavar="NAME", help="speed and quality: fast, balanced, best or auto", rich_help_panel=METHOD),
    ] = Preset.auto,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--time", metavar="SECONDS", help="time budget per file, not counting --report", rich_help_panel=METHOD
        ),
    ] = None,
    planes: Annotated[
        Planes,
        typer.Option(
            metavar="NAME",
            help="planes of volumes and clips: deep, still, flat, wide, aligned (along their motion), shared (by what "
            "many share), single or auto",
            rich_help_panel=METHOD,
        ),
    ] = Planes.auto,
    method: Annotated[
        MethodName | None,
        typer.Option(
            metavar="NAME",
            help="nonlocal (groups of similar patches) or paper (patch by patch) [default: automatic]",
            show_default=False,
            rich_help_panel=METHOD,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='epitome to use, written by "epitomes learn"', rich_help_panel=METHOD),
    ] = None,
    mask: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="ignore the pixels at which this image is not 0",
            rich_help_panel=METHOD,
        ),
    ] = None,
    fill: Annotated[
        bool,
        typer.Option("--fill", help="replace bad pixels (--mask, NaN) by estimates", rich_help_panel=METHOD),
    ] = False,
    keep: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="share of what was removed that is put back, from 0 to 1, to keep film grain",
            rich_help_panel=OUTPUT,
        ),
    ] = 0.0,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="HTML", help="write a report with diagnostics (about three times slower)", rich_help_panel=OUTPUT
        ),
    ] = None,
    suffix: Annotated[
        str | None,
        typer.Option(
            metavar=".TIF", help="format of the files in a directory [default: as read]", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Json = False,
    overwrite: Overwrite = False,
    memory: Memory = None,
    workers: Workers = None,
    cluster: Cluster = None,
    tile: TileSide = None,
    progress: ProgressOption = ProgressForm.bar,
    restart: Restart = False,
    several: Annotated[
        bool | None,
        typer.Option(
            "--several/--single",
            help="paper: learn 20 epitomes of 15 x 15 pixels [default], or one of 42 x 42",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="paper: regularisation parameter lambda [default: 4.5 sigma]", rich_help_panel=ADVANCED
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="paper: learning steps [default: by size and noise]", rich_help_panel=ADVANCED
        ),
    ] = None,
    residual_factor: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="paper: residual of a patch, in units of sigma [default: 1.15]", rich_help_panel=ADVANCED
        ),
    ] = None,
    blend: Annotated[
        float | None,
        typer.Option(
            metavar="X", min=0, help="paper: weight of the noisy pixel [default: 0]", rich_help_panel=ADVANCED
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="save the epitome learned by --method paper or --preset best", rich_help_panel=ADVANCED
        ),
    ] = None,
    axes: Axes = None,
    series: SeriesOf = None,
    seed: Seed = 0,
    threads: Threads = None,
    max_pixels: MaxPixels = None,
) -> None:
    """Denoise images, volumes and videos.

    The noise is estimated from each file unless an option says what it is. The method is chosen by trials on tiles of
    the image, within the --time budget, unless --preset, --method or --model is given. Metadata is preserved if the
    output format allows it. OME-Zarr and TIFF images that are larger than memory are denoised in tiles, to OME-Zarr.
    """
    level = level_of(sigma)
    store = StoreOptions(memory, tile, workers, cluster, progress, restart)
    store.require()
    require_axes(axes)
    if not 0 <= keep <= 1:
        raise usage(f"--keep must be between 0 and 1, got {keep:g}")
    files = files_of(images)
    known = NoiseOptions(
        sigma=level,
        profile=noise,
        poisson=poisson,
        rician=rician,
        offset=offset,
        gain=gain,
        read_noise=read_noise,
        noise_from=noise_from,
        burst=tuple(files_of(burst or [])),
        merge=merge,
        strength=strength,
        axes=axes,
        series=series,
        max_pixels=max_pixels,
    )
    known.require(len(files))
    goals = goals_of(images, files, output, suffix, overwrite)
    for name, path in (("--save-model", save_model), ("--report", report)):
        _require_beside(name, path, files, output, overwrite)
    settings = {
        "--lam": lam,
        "--steps": steps,
        "--several/--single": several,
        "--residual-factor": residual_factor,
        "--blend": blend,
    }
    given = [name for name, value in settings.items() if value is not None]
    if given and method is not MethodName.paper:
        raise usage(f"{given[0]} is a setting of the paper's method", "--method", "paper")
    if save_model is not None and model is not None:
        raise usage("--save-model saves a learned epitome, and --model gives one: leave one of them out")
    if save_model is not None and method is not MethodName.paper and preset is not Preset.best:
        raise usage("--save-model needs an epitome learned by --method paper or --preset best", "--method", "paper")

    from epitomes.formats.stored import is_stored
    from epitomes.restoration import NonLocal, as_method

    epitome = None if model is None else _load(model)
    chosen: str | Method | None = None if method is None else method.value
    if given:
        chosen, epitome = _paper(epitome, several, lam, steps, residual_factor, blend), None
    if planes is not Planes.auto:
        if method is MethodName.paper or seconds is not None:
            other = "--time" if seconds is not None else "--method paper"
            raise usage(f"--planes {planes.value} is a setting of the non-local method: leave out {other}")
        name = "balanced" if preset is Preset.auto else preset.value
        chosen, preset, epitome = NonLocal(preset=name, planes=planes.value, epitome=epitome), Preset.auto, None
    as_method(chosen, preset.value, epitome, seconds)  # refused here, before any file is read
    _ = known.elsewhere  # measured once, before any image is read
    job = Job(
        goals=goals,
        noise=known,
        mask_file=mask,
        fill=fill,
        keep=keep,
        method=chosen,
        preset=preset.value,
        epitome=epitome,
        seconds=seconds,
        report=report,
        save_model=save_model,
        axes=axes,
        series=series,
        seed=seed,
        threads=threads,
        overwrite=overwrite,
        max_pixels=max_pixels,
        line=context.obj,
        names=images,
        store=store,
    )
    if mask is not None and not store.asked and not (mask.exists() and is_stored(mask)):
        _ = job.mask  # refused here, before any image is read; masks that may be large are read with their image
    goals[files[0]].parent.mkdir(exist_ok=True)
    at_once = 1 if store.asked else files_at_once(files, threads)
    if at_once > 1:
        job = replace(job, threads=1)  # one file per core; the number of threads changes no bit
    each(files, job.run, done="denoised", json=json, aside=str(output) == STREAM, at_once=at_once)


def _paper(
    epitome: Epitome | None,
    several: bool | None,
    lam: float | None,
    steps: int | None,
    residual_factor: float | None,
    blend: float | None,
) -> Method:
    """The paper's method with the settings that were given."""
    from epitomes.restoration import Patchwise, Recipe

    learning = several is not None or lam is not None or steps is not None
    shape = (42, 42) if several is False else (20, 15, 15)
    recipe = Recipe(epitome_shape=shape, lam=lam, n_steps=steps) if learning else None
    method = Patchwise(epitome=epitome, recipe=recipe, blend=blend or 0.0)
    return method if residual_factor is None else replace(method, residual_factor=residual_factor)


def _load(path: Path) -> Epitome:
    from epitomes.model_file import load

    return load(path)


def _require_beside(option: str, path: Path | None, files: list[Path], output: Path, overwrite: bool) -> None:
    """Refuse a second output that cannot be written."""
    if path is None:
        return
    if len(files) > 1:
        raise usage(f"{option} takes one image, got {len(files)}: run it for one of them")
    require_goal(path, overwrite, option=option)
    if path.resolve() == output.resolve():
        raise usage(f"{option} and --output name the same file, {path}")
