"""One tile of a stored image: read with what is around it, denoised, written. And one of a level of the pyramid."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from epitomes.formats.errors import library
from epitomes.formats.ome_zarr import ORDER, halved
from epitomes.formats.picture import Pixels, ordered
from epitomes.formats.stored import StoredImage, open_stored
from epitomes.layout import Place
from epitomes.restoration import Plan
from epitomes.restoration.parts import for_picture, with_whole
from epitomes.restoration.whole_image import WholeImage
from epitomes.scale.masks import open_mask
from epitomes.scale.tiles import Tile
from epitomes.scale.units import Units


@dataclass(frozen=True)
class StoreJob:
    """What all tiles of a job have in common. Workers get it with every tile: it is a few kilobytes."""

    name: str  # of this job and no other, whichever process asks
    source: str
    axes: str | None  # given by the user; None: as the file says
    series: int | str | None
    goal: str  # directory that is written
    plan: Plan  # for the whole image
    at_once: int  # spatial axes
    threads: int
    mask: tuple[str, str] | None = None  # path, and letters of its axes

    @cached_property
    def image(self) -> StoredImage:
        """The image that is read."""
        return open_stored(self.source, axes=self.axes, series=self.series)

    @cached_property
    def units(self) -> Units:
        """How it falls into pictures."""
        return Units(self.image, self.at_once, None if self.mask is None else open_mask(*self.mask))


@dataclass(frozen=True)
class TileTask:
    """A tile of one unit, and what it must know of the unit."""

    index: int
    place: Place  # of the unit
    tile: Tile
    whole: WholeImage | None  # None: there is no noise, or no good pixel
    halo: tuple[int, ...]  # pixels that reach into it


@dataclass(frozen=True)
class TileDone:
    """What is known of a tile that was written."""

    index: int
    crc: int  # CRC-32 of its pixels, in the order of the file
    bad: bool = False  # whether pixels of it are masked or missing, and left as they were


@dataclass(frozen=True)
class LevelTask:
    """A part of a level of the pyramid, in the order of the specification."""

    level: int
    part: tuple[slice, ...]


def denoise_tile(job: StoreJob, task: TileTask) -> TileDone:
    """Denoise one tile and write it: chunks are written whole or not at all, by nobody else."""
    job = _known(job)
    units = job.units
    noisy, bad = units.masked(task.place, task.tile.window)
    given, hidden = noisy[task.tile.inner], None if bad is None else bad[task.tile.inner]
    if hidden is not None and hidden.all():
        clean = given
    else:
        if bad is not None:
            noisy = units.filled(task.place, task.tile, task.halo)
        clean = plan_of(job, task.place, task.whole).run(noisy, threads=job.threads).image[task.tile.inner]
        if hidden is not None:
            clean = np.where(hidden, given, clean)
    part, index = stored_part(units, task.place, task.tile.core, clean)
    _array(job.goal, 0, job.name)[index] = part
    return TileDone(task.index, zlib.crc32(part.data), hidden is not None and bool(hidden.any()))


def plan_of(job: StoreJob, place: Place, whole: WholeImage | None) -> Plan:
    """The plan for parts of one unit."""
    plan = for_picture(job.plan, place, job.units.shape)
    return replace(plan, method=with_whole(plan.method, whole))


def halve_part(job: StoreJob, task: LevelTask) -> None:
    """Compute a part of a level from the one below it, by means of 2 x 2 pixels."""
    below, here = (_array(job.goal, level, job.name) for level in (task.level - 1, task.level))
    source = (
        *task.part[:-2],
        *(
            slice(2 * part.start, min(2 * part.stop, n))
            for part, n in zip(task.part[-2:], below.shape[-2:], strict=True)
        ),
    )
    here[task.part] = halved(np.asarray(below[source]))


def crc_of(job: StoreJob, task: TileTask) -> int:
    """The CRC-32 of a tile as it is on disk."""
    index = _index(job.units, job.units.window(task.place, task.tile.core))
    return zlib.crc32(np.ascontiguousarray(_array(job.goal, 0, job.name)[index]).data)


def stored_part(
    units: Units, place: Place, window: tuple[slice, ...], pixels: Pixels
) -> tuple[Pixels, tuple[slice, ...]]:
    """Pixels in the order of the specification, and where they belong."""
    full = pixels.reshape((1,) * len(units.counted) + pixels.shape)
    part = np.ascontiguousarray(ordered(full, units.letters, ORDER)[0])
    return part, _index(units, units.window(place, window))


def _index(units: Units, window: Mapping[str, slice]) -> tuple[slice, ...]:
    return tuple(window.get(letter, slice(None)) for letter in ORDER if letter in units.image.axes)


@lru_cache(maxsize=4)
def _array(goal: str, level: int, name: str) -> Any:
    """An array of the directory that a job writes; opened once per process."""
    zarr = library("zarr", extra="zarr", what="Zarr")
    return zarr.open(store=zarr.storage.LocalStore(goal), mode="r+")[str(level)]


_jobs: dict[str, StoreJob] = {}


def _known(job: StoreJob) -> StoreJob:
    """The job as this process first saw it, with files open and dictionaries prepared."""
    if job.name not in _jobs:
        _jobs.clear()  # one job at a time, in almost all processes
        _jobs[job.name] = job
    return _jobs.get(job.name, job)
