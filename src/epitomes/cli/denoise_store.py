"""Images larger than memory of `epitomes denoise`: from OME-Zarr or TIFF to OME-Zarr, tile by tile."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epitomes.cli.batch import MOST_NAMED
from epitomes.cli.common import Result, size
from epitomes.cli.errors import LIMIT, PARTIAL, CommandError, tell, usage
from epitomes.cli.executors import executor_of, require_one_place
from epitomes.cli.help import SCALE
from epitomes.cli.progress import progress

if TYPE_CHECKING:
    from epitomes.cli.denoise_file import Job
    from epitomes.noise import Noise
    from epitomes.scale import StoreProgress, StoreResult


class ProgressForm(StrEnum):
    """How progress is told."""

    bar = "bar"
    json = "json"


Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="most memory for all workers, such as 2G (it sets the tile)", rich_help_panel=SCALE
    ),
]
TileSide = Annotated[
    int | None,
    typer.Option("--tile", metavar="N", min=1, help="side of a tile [default: by --memory]", rich_help_panel=SCALE),
]
ProgressOption = Annotated[
    ProgressForm,
    typer.Option("--progress", metavar="FORM", help="bar, or json: a line on stderr per tile", rich_help_panel=SCALE),
]
Restart = Annotated[
    bool,
    typer.Option("--restart", help="begin anew instead of resuming an interrupted job", rich_help_panel=SCALE),
]


STAGES = {"settling": "settling noise and method", "levels": "levels of the pyramid"}  # in words


@dataclass(frozen=True)
class StoreOptions:
    """What the options say of images larger than memory."""

    memory: str | None
    tile: int | None
    workers: int | None
    cluster: str | None
    progress: ProgressForm
    restart: bool

    def require(self) -> None:
        """Refuse what contradicts itself, before any file is opened."""
        require_one_place(self.workers, self.cluster)

    @property
    def asked(self) -> bool:
        """Whether an option was given that means tiles."""
        return any(each is not None for each in (self.memory, self.tile, self.workers, self.cluster)) or self.restart


def denoise_stored(job: Job, file: Path, goal: Path) -> Result | None:
    """Denoise an image tile by tile; None if no option asks for it and the image is within the size limit."""
    from epitomes.formats import ImageFileError
    from epitomes.formats.stored import is_stored, open_stored, suffix_is_folder

    if not job.store.asked and not (is_stored(file) and suffix_is_folder(goal)):
        return None
    if not is_stored(file):
        raise usage(f"{file}: tiles can be read of OME-Zarr and TIFF images only: leave out {_named(job.store)}")
    try:
        image = open_stored(file, axes=job.axes, series=job.series)
    except ImageFileError:
        if job.store.asked:
            raise
        return None  # reading it as a whole may work, or tells why not
    if not job.store.asked and not _is_large(image.shape, job.max_pixels):
        return None
    if not suffix_is_folder(goal):
        raise usage(
            f"--output {goal}: tiles are written to an OME-Zarr directory", "-o", str(goal.with_suffix(".zarr"))
        )
    _require_plain(job, file)
    return _result(_run(job, file, goal), file, image.axes)


def _run(job: Job, file: Path, goal: Path) -> StoreResult:
    from epitomes.scale import denoise_store
    from epitomes.scale.memory import MemoryLimitError

    store = job.store
    with (
        executor_of(store.workers, store.cluster, job.threads) as executor,
        watching_tiles(file.name, store.progress) as callback,
    ):
        try:
            result = denoise_store(
                file,
                goal,
                job.noise.level,
                noise=_noise(job),
                method=job.method,
                preset=job.preset,
                epitome=job.epitome,
                axes=job.axes,
                series=job.series,
                mask=job.mask_file,
                tile=store.tile,
                memory=store.memory,
                executor=executor,
                resume=not store.restart,
                overwrite=job.overwrite,
                callback=callback,
            )
        except MemoryLimitError as error:
            raise CommandError(LIMIT, str(error), "--memory", error.value) from error
    for note in result.notes:
        tell(f"note: {file}: {note}")
    job.tell_doubts(result.plan.noise, file, goal)
    if result.failures:
        named = "; ".join(f"{each.item}: {each.reason}" for each in result.failures[:MOST_NAMED])
        raise CommandError(
            PARTIAL,
            f"{file}: {len(result.failures)} of {result.n_tiles} tiles failed ({named}): the others are kept in "
            f"{result.path}, and the same command tries these again",
        )
    return result


def _result(result: StoreResult, file: Path, axes: str) -> Result:
    plan, tile = result.plan, size(result.tile)
    facts: dict[str, Any] = {
        "input": str(file),
        "output": str(result.path),
        "axes": axes,
        "shape": list(result.shape),
        "plan": plan.as_dict(),
        "tile": list(result.tile),
        "halo": list(result.halo),
        "tiles": result.n_tiles,
        "resumed": result.n_resumed,
        "seconds": result.seconds,
        "notes": list(result.notes),
    }
    words = [
        plan.noise.describe(),
        plan.explain(),
        f"{result.n_tiles} tile{'s' if result.n_tiles > 1 else ''} of {tile}",
    ]
    if result.n_resumed:
        words.append(f"{result.n_resumed} of them from an interrupted job")
    return Result(f"{file} -> {result.path}: {', '.join(words)}, {result.seconds:.1f} s", facts)


@contextmanager
def watching_tiles(label: str, form: ProgressForm) -> Iterator[Callable[[StoreProgress], None] | None]:
    """Yield a callback that draws a bar, or prints lines for batch systems."""
    if form is ProgressForm.json:
        yield lambda state: print(json_text.dumps(_facts(label, state)), file=sys.stderr, flush=True)
        return
    with progress(label) as bar:
        yield None if bar is None else lambda state: bar(_fraction(state), _words(state))


def _facts(label: str, state: StoreProgress) -> dict[str, Any]:
    return {
        "progress": label,
        "stage": state.stage,
        "tiles": state.done,
        "of": state.total,
        "tiles_per_second": state.rate,
        "seconds_left": state.left,
        "failed": state.failed,
    }


def _fraction(state: StoreProgress) -> float:
    return (state.done + state.failed) / state.total if state.total else 0.0


def _words(state: StoreProgress) -> str:
    if state.stage != "tiles":
        return {"settling": "settling noise and method", "levels": "levels of the pyramid"}.get(
            state.stage, state.stage
        )
    words = f"{state.done} of {state.total} tiles, {state.rate:.3g} per second"
    return f"{words}, {state.failed} failed" if state.failed else words


def _is_large(shape: tuple[int, ...], max_pixels: int | None) -> bool:
    """Whether an image is above the size limit, so that it cannot be read as a whole."""
    import math

    from epitomes.formats import default_max_pixels

    return math.prod(shape) > (default_max_pixels() if max_pixels is None else max_pixels)


def _require_plain(job: Job, file: Path) -> None:
    """Refuse options that need the whole image."""
    wanted = {
        "--fill": job.fill,
        "--keep": bool(job.keep),
        "--time": job.seconds is not None,
        "--report": job.report is not None,
        "--save-model": job.save_model is not None,
        "--burst": bool(job.noise.burst),
        "--noise-from X,Y,W,H": job.noise.region is not None,
        "--poisson": job.noise.poisson,
        "--rician": job.noise.rician,
        "--strength": job.noise.estimates,
    }
    if given := [name for name, value in wanted.items() if value]:
        raise usage(f"{file}: {given[0]} needs the whole image in memory, and it is denoised in tiles: leave it out")


def _noise(job: Job) -> Noise | None:
    """The noise that options give; None if it is a level, or is to be estimated."""
    from epitomes.noise import Noise

    options = job.noise
    found = None if options.elsewhere is None else options.elsewhere[1]
    if options.gain is not None:
        found = Noise.poisson_gaussian(options.gain, options.offset or 0.0, options.read_noise or 0.0)
    return found if found is None or options.strength == 1 else found.times(options.strength)


def _named(options: StoreOptions) -> str:
    names = ("memory", "tile", "workers", "cluster")
    return next((f"--{name}" for name in names if getattr(options, name) is not None), "--restart")
