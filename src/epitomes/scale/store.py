"""`denoise_store`: denoise an image that is larger than memory, from file to file, tile by tile.

Tiles are a way to run a `Plan`, not another method: what depends on the whole image is settled once, on samples, and
each tile is read with the pixels around it that reach into it. The result therefore has the same bits for every tile
size, executor and number of workers, and after a job was killed and went on.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import whole
from epitomes.epitome import Epitome
from epitomes.formats.errors import ImageFileError
from epitomes.formats.ome_zarr import ORDER, ZarrInfo, create_zarr, level_shapes
from epitomes.formats.stored import StoredImage, open_stored, require_safe, suffix_is_folder
from epitomes.noise import Noise
from epitomes.restoration import Method, Plan
from epitomes.restoration.whole_image import Support
from epitomes.scale.executors import ThreadPools
from epitomes.scale.job import LevelTask, StoreJob, TileDone, TileTask, crc_of, denoise_tile, halve_part
from epitomes.scale.journal import Journal
from epitomes.scale.masks import mask_for
from epitomes.scale.memory import SIDE, Room, bytes_of, require_tile
from epitomes.scale.progress import StoreProgress, Teller
from epitomes.scale.settling import SettledStore, fingerprint, plan_for, settle_store
from epitomes.scale.tasks import Failure, Workers, run_tasks, worker_count
from epitomes.scale.tiles import n_tiles, tiles_of
from epitomes.scale.units import Units

VERIFIED = 64  # tiles whose checksums are compared when a job goes on: those that a crash may have lost
LEFT = "pixels are masked or missing (NaN): they were not used, and are left as they were"
LEVEL_SIDE = 2 * SIDE  # of the parts in which levels of the pyramid are made


@dataclass(frozen=True, eq=False)
class StoreResult:
    """What `denoise_store` did.

    Parameters
    ----------
    path : Path
        The directory that was written: the goal, or an unfinished one beside it if tiles failed.
    plan : Plan
        The plan that was run.
    shape : tuple of int
        Shape of the image.
    tile : tuple of int
        Sides of the tiles, along the axes that are denoised together.
    halo : tuple of int
        Pixels around a tile that were read with it.
    n_tiles : int
        Number of tiles.
    n_resumed : int
        Tiles that had been done before.
    failures : tuple of Failure
        Tiles that were given up, and why; empty if the image is complete.
    seconds : float
        Time that it took.
    notes : tuple of str
        What the user should know.

    See Also
    --------
    denoise_store : Denoise a stored image.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from epitomes.formats import write
    >>> from epitomes.scale import denoise_store
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48)).astype(np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     losses = write(Path(folder) / "in.zarr", noisy)
    ...     result = denoise_store(Path(folder) / "in.zarr", Path(folder) / "out.zarr", 10.0, preset="fast", tile=32)
    >>> result.n_tiles, result.complete
    (4, True)
    """

    path: Path
    plan: Plan
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    halo: tuple[int, ...]
    n_tiles: int
    n_resumed: int
    failures: tuple[Failure, ...]
    seconds: float
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether all tiles were written."""
        return not self.failures


def denoise_store(
    source: str | os.PathLike[str],
    goal: str | os.PathLike[str],
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    plan: Plan | None = None,
    method: str | Method | None = None,
    preset: str = "auto",
    epitome: Epitome | None = None,
    axes: str | None = None,
    series: int | str | None = None,
    mask: ArrayLike | str | os.PathLike[str] | None = None,
    tile: int | tuple[int, ...] | None = None,
    memory: int | str | None = None,
    executor: Workers = None,
    threads: int = 1,
    resume: bool = True,
    overwrite: bool = False,
    callback: Callable[[StoreProgress], None] | None = None,
) -> StoreResult:
    """Denoise an image that is larger than memory, from an OME-Zarr or TIFF file to an OME-Zarr directory.

    Noise and method are settled once; then every tile is denoised by itself, on threads, processes or a cluster. The
    result does not depend on the tiles, on the executor, or on interruptions.

    Parameters
    ----------
    source : path-like
        OME-Zarr 0.4 or 0.5, a Zarr array, TIFF or BigTIFF.
    goal : path-like
        OME-Zarr directory to write, with the levels of a pyramid. It gets its name when it is complete.
    sigma : float, optional
        Standard deviation of white noise, in the units of the image.
    noise : Noise, optional
        Noise model. Default: estimated on a part of the image.
    plan : Plan, optional
        Method and noise at once, for example from `epitomes.plan` on a part of the image.
    method, preset, epitome : see `denoise`
        How to denoise. "auto" means "balanced"; planes of volumes are denoised one by one unless `method` is an object,
        such as ``NonLocal(planes="auto")`` for groups across planes.
    axes : str, optional
        Letters of the axes, if the file does not give them.
    series : int or str, optional
        Image of a TIFF file that holds several.
    mask : array_like or path-like, optional
        Non-zero at bad pixels, which are not used and stay as they are. OME-Zarr and TIFF files are read by windows. It
        has the shape of the image, or lacks its channels, or is that of one picture or plane.
    tile : int or tuple of int, optional
        Sides of a tile. Above 512 they are multiples of it. Default: large enough to read little more than is written.
    memory : int or str, optional
        Most memory for all workers on this machine, such as "2G"; on a cluster, for one worker. It sets the tile.
    executor : Executor or callable, optional
        Where tiles are denoised, see `run_tasks`. Default: threads of this process.
    threads : int, default: 1
        Threads for each tile. It changes no bit of the result.
    resume : bool, default: True
        Whether to go on where an interrupted job with the same settings ended.
    overwrite : bool, default: False
        Whether an existing goal may be replaced.
    callback : callable, optional
        Called with a `StoreProgress` after each tile.

    Returns
    -------
    StoreResult
        What was done. If tiles failed, the others are kept, and the same call tries the failed ones again.

    Raises
    ------
    ValueError
        If a pixel depends on the whole image, as with an epitome learned from it, preset "best" of images, planes
        aligned along their motion or noise given by a spectrum; or `memory` is too little. It says what to use.
    FileExistsError
        If the goal exists and `overwrite` is False.

    See Also
    --------
    epitomes.denoise : Denoise an array in memory.
    run_tasks : Where tiles run.

    Notes
    -----
    Impulses and stripes, which `epitomes.denoise` removes before the noise, are left in the image; a note names those
    of the part on which the noise is estimated. Missing values (NaN) are treated as those of `mask`. Mean and contrast
    of each picture are taken from samples if it has more than four million values; smaller ones have the values of
    `epitomes.denoise`, up to the rounding of sums in "balanced".

    Examples
    --------
    >>> from epitomes.scale import denoise_store, process_pool
    >>> if __name__ == "__main__":  # doctest: +SKIP
    ...     denoise_store("slide.zarr", "clean.zarr", memory="2G", executor=process_pool(4))
    """
    began = time.monotonic()
    goal = Path(goal)
    bound = None if memory is None else bytes_of(memory)
    whole("threads", threads, least=1)
    _require_goal(goal, overwrite)
    image = open_stored(source, axes=axes, series=series)
    require_safe(image.path)
    tell = Teller(callback, began)
    tell("settling")
    bad = None if mask is None else mask_for(image, mask)
    chosen, notes = plan_for(image, sigma, noise, plan, method, preset, epitome, bad)
    settled = settle_store(image, chosen, threads, bad)
    room = Room(
        settled.plan, settled.units.shape, image.dtype, settled.support, _chunk_bytes(image), 1, bad is not None
    )
    shared, workers = shares_memory(executor), 1 if is_cluster(executor) else worker_count(executor)
    room = replace(room, workers=workers)
    sides = room.tile(bound, shared) if tile is None else require_tile(tile, settled.units.at_once)
    if bound is not None and tile is not None and (needed := room.total(sides, shared)) > bound:
        raise ValueError(
            f"tiles of {' x '.join(map(str, sides))} pixels need about {needed / 2**20:.0f} MB for {workers} workers, "
            f"and memory is {bound / 2**20:.0f} MB: leave out tile"
        )
    partial_goal = goal.with_name(f"{goal.name}.partial")
    total = len(settled.wholes) * n_tiles(settled.units.spatial, sides)
    name = fingerprint(image, chosen, settled, sides)
    unique = f"{name} {secrets.token_hex(8)}"
    job = StoreJob(unique, str(image.path), axes, series, str(partial_goal), chosen, settled.units.at_once, threads)
    mask_file = goal.with_name(f"{goal.name}.partial.mask.npy")
    with Journal(goal.with_name(f"{goal.name}.partial.jsonl"), name) as journal:
        levels = _begin(journal, image, partial_goal, sides, settled, resume)
        if bad is not None:
            bad = bad.saved(mask_file)
            job = replace(job, mask=(bad.path, bad.letters))
        resumed = len(_verified(journal, job, settled, sides))
        tell.start(resumed, total)
        failures, left = list[Failure](), False
        todo = (task for task in settled.tasks(sides) if task.index not in journal.done)
        for found in run_tasks(partial(denoise_tile, job), todo, executor):
            if isinstance(found, TileDone):
                journal.add(found.index, found.crc)
                left |= found.bad
            else:
                failures.append(replace(found, item=_where(settled.units, found.item)))
            tell("tiles", failed=len(failures))
        if not failures:
            failures += _build_levels(job, image, levels, executor, tell)
        if not failures:
            if goal.exists():
                shutil.rmtree(goal)
            partial_goal.rename(goal)
            journal.remove()
            mask_file.unlink(missing_ok=True)
    tell("done", failed=len(failures))
    return StoreResult(
        path=partial_goal if failures else goal,
        plan=chosen,
        shape=image.shape,
        tile=sides,
        halo=settled.support.halo,
        n_tiles=total,
        n_resumed=resumed,
        failures=tuple(failures),
        seconds=time.monotonic() - began,
        notes=(*image.notes, *notes, *settled.notes, *((LEFT,) if left else ())),
    )


def _require_goal(goal: Path, overwrite: bool) -> None:
    if not suffix_is_folder(goal):
        raise ImageFileError(f"{goal}: the output is an OME-Zarr directory: give it the suffix .zarr")
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"cannot write {goal}: the directory {goal.parent} does not exist, make it first")
    if goal.exists() and not overwrite:
        raise FileExistsError(f"{goal} exists already: choose another name or allow overwriting")


def _begin(
    journal: Journal, image: StoredImage, goal: Path, tile: tuple[int, ...], settled: SettledStore, resume: bool
) -> int:
    """Make the directory, or find that of an interrupted job; return the number of its levels."""
    info = image.metadata if isinstance(image.metadata, ZarrInfo) else None
    n_levels = len(level_shapes(_ordered(image), info))
    if resume and journal.exists() and goal.exists():
        if not journal.resume():
            raise ValueError(
                f"{goal} is unfinished, of a job with another image or other settings: finish that one, or begin anew "
                "with resume=False"
            )
        return n_levels
    if goal.exists():
        shutil.rmtree(goal)
    letters = settled.units.letters[len(settled.units.counted) :][: settled.units.at_once]
    chunk = {letter: min(side, SIDE) for letter, side in zip(letters, tile, strict=True) if letter in "YX"}
    create_zarr(image, image.shape, image.dtype, goal, chunk)
    journal.begin()
    return n_levels


def _ordered(image: StoredImage) -> tuple[int, ...]:
    """The shape in the order of the specification."""
    sides = dict(zip(image.axes, image.shape, strict=True))
    return tuple(sides[letter] for letter in ORDER if letter in sides)


def _verified(journal: Journal, job: StoreJob, settled: SettledStore, tile: tuple[int, ...]) -> dict[int, int]:
    """Drop those of the last tiles from the journal that are not on disk as it says; return the others."""
    last = {*list(journal.done)[-VERIFIED:]}
    if last:
        for task in islice(settled.tasks(tile), max(last) + 1):
            if task.index in last and crc_of(job, task) != journal.done[task.index]:
                del journal.done[task.index]
    return journal.done


def _build_levels(job: StoreJob, image: StoredImage, levels: int, executor: Workers, tell: Teller) -> Iterator[Failure]:
    """Make the pyramid, one level after another."""
    info = image.metadata if isinstance(image.metadata, ZarrInfo) else None
    for level, shape in enumerate(level_shapes(_ordered(image), info)[:levels]):
        if level == 0:
            continue
        parts = tiles_of(
            shape, (*(1,) * (len(shape) - 2), LEVEL_SIDE, LEVEL_SIDE), Support((0,) * len(shape), (1,) * len(shape))
        )
        for found in run_tasks(partial(halve_part, job), (LevelTask(level, part.core) for part in parts), executor):
            if isinstance(found, Failure):
                yield found
        tell("levels")


def _where(units: Units, task: TileTask) -> str:
    """Where a tile lies, for people."""
    window = units.window(task.place, task.tile.core)
    return ", ".join(f"{letter} {part.start}:{part.stop}" for letter, part in window.items())


def _chunk_bytes(image: StoredImage) -> int:
    return int(np.prod(image.chunk)) * image.dtype.itemsize


def shares_memory(executor: Workers) -> bool:
    """Whether tasks run on threads of this process."""
    return executor is None or isinstance(executor, (ThreadPools, ThreadPoolExecutor))


def is_cluster(executor: Workers) -> bool:
    """Whether tasks run on other machines, as far as one can tell."""
    return hasattr(executor, "_client")
