"""Candidates: methods that the search can try, and how long each would take for the whole image.

Most of the time grows with the number of pixels and is scaled by it. Learning does not: it is timed apart, per step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from epitomes.checks import Array
from epitomes.coders import OLS
from epitomes.epitome import RESIDUAL_FACTOR
from epitomes.noise import BlockSpectrum
from epitomes.patches import Patches
from epitomes.restoration.method import Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.method import shipped_epitome
from epitomes.restoration.patchwise import Patchwise, Recipe
from epitomes.restoration.patchwise.recipe import stacked_patches
from epitomes.restoration.planning.held_out import HeldOut

RIM = 12  # pixels: groups of a tile take as long as those of a part of a large image that is wider by so much
TRIAL_PASSES = 1.0  # over the patches of the tiles: the epitome is tried half-learned and judged too severely


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method, and guesses of its time until it is measured."""

    method: Method
    cost: float = 1.0  # time for an image, at least, relative to "fast"
    trial_cost: float = 1.0  # time for the trial on a tile, about, likewise

    @property
    def label(self) -> str:
        return self.method.label


FAST = Candidate(NonLocal(preset="fast"), trial_cost=3.0)  # called three times
BALANCED = Candidate(NonLocal(preset="balanced"), cost=3.0, trial_cost=10.0)
BEST = Candidate(NonLocal(preset="best"), cost=12.0)  # its gain is never tried, only its time
PAPER = (
    Candidate(Patchwise(recipe=Recipe(lam_per_sigma=3.0)), cost=5.0, trial_cost=15.0),  # for textures, faint noise
    Candidate(Patchwise(recipe=Recipe()), cost=4.0, trial_cost=10.0),
)
COARSE = tuple(Candidate(NonLocal(preset="fast", stride=stride)) for stride in (2, 4))  # if "fast" takes too long


@dataclass(frozen=True, eq=False)
class Task:
    """An image with white noise, and the time there is for it and others like it."""

    image: Array
    sigma: float
    limit: float | None  # seconds for everything
    seed: int
    threads: int | None
    began: float
    n_planes: int = 1  # of the same size, to which the choice is applied
    larger: float = 1.0  # how many times larger a plane is: under a time limit, `image` may be a part of it
    blocks: BlockSpectrum | None = None  # of correlated noise
    channels: bool = False  # whether the last axis holds them
    volume: Array | None = None  # whose plane the image is, if planes are denoised together

    @property
    def n_values(self) -> float:
        """Values to denoise, all planes counted."""
        return self.image.size * self.n_planes * self.larger

    @property
    def work(self) -> float:
        """Time for all planes by groups, in units of `work_of` a tile."""
        high, wide = (side * math.sqrt(self.larger) for side in self.image.shape[:2])
        return float(self.n_values * work_of((high, wide)) / (high * wide))

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return math.inf if self.limit is None else self.limit - (time.perf_counter() - self.began)

    def has_time_for(self, seconds: float) -> bool:
        return seconds <= self.left


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a candidate makes of the tiles, and the time predicted for everything."""

    estimates: tuple[Array, ...]  # of the first tiles, or of all
    seconds: float


def work_of(shape: tuple[float, ...]) -> float:
    """How long groups of an image take: its area with a rim, because calls and borders cost time, too.

    Measured for "fast" and "balanced", sigma 10 to 50, on one and two threads: tiles of 64, 96 and 192 pixels took 1.3
    to 1.7, 1.1 to 1.5 and 1.1 to 1.3 times as long per pixel as the whole image; the rim makes 1.4, 1.3 and 1.1 of it.
    """
    high, wide, *channels = shape
    return (high + RIM) * (wide + RIM) * math.prod(channels)


def tried(candidate: Candidate, task: Task, held: HeldOut) -> Iterator[Outcome]:
    """The outcome after one tile, two tiles, ..."""
    method = candidate.method
    if isinstance(method, Patchwise) and method.epitome is None:
        return _learned(method, task, held)
    return _timed(method, task, held, before=0.0)


def warm_up(dtype: np.dtype[np.floating]) -> None:
    """Read and prepare the shipped epitome, which happens once and must not be counted for every tile."""
    assert shipped_epitome().dictionary.astype(dtype).engine is not None


def atoms_needed(task: Task, held: HeldOut) -> float:
    """Atoms of the shipped epitome per patch until the rest is noise: how much structure stands out of it.

    Measured on a sample of the patches of the tiles; of colours, on their mean.
    """
    epitome = shipped_epitome()
    counts, n_patches = 0, 0
    for tile in held.tiles:
        channels = tile.reshape(*tile.shape[:2], -1)
        sigma = task.sigma / math.sqrt(channels.shape[2])
        patches = Patches(channels.mean(axis=2), epitome.phi.patch_shape, stride=4)
        coder = OLS(residual=patches.patch_size * (RESIDUAL_FACTOR * sigma) ** 2)
        counts += coder.encode(patches, epitome.dictionary.astype(patches.image.dtype), threads=task.threads).nnz
        n_patches += len(patches)
    return counts / n_patches


def _timed(method: Method, task: Task, held: HeldOut, before: float) -> Iterator[Outcome]:
    """Denoise tile after tile; `before` are seconds that do not grow with the image."""
    groups = isinstance(method, NonLocal)
    if isinstance(method, NonLocal):
        method = method.settled(task.image, task.sigma)
    estimates: list[Array] = []
    spent = seen = 0.0
    everything = task.work if groups else task.n_values
    for tile in held.noisier:
        began = time.perf_counter()
        done = method.run(tile, held.sigma, channels=task.channels, seed=task.seed, threads=task.threads)
        estimates.append(done.image)
        spent, seen = spent + time.perf_counter() - began, seen + (work_of(tile.shape) if groups else tile.size)
        yield Outcome(tuple(estimates), before + spent * everything / seen)


def _learned(method: Patchwise, task: Task, held: HeldOut) -> Iterator[Outcome]:
    """One epitome is learned from all tiles, and codes them in turn."""
    assert method.recipe is not None
    tiles = np.stack(held.noisier)
    schedule = replace(method.recipe, n_passes=TRIAL_PASSES).settle(tiles, held.sigma)
    began = time.perf_counter()
    fit = schedule.learn(stacked_patches(tiles, schedule.start), seed=task.seed, threads=task.threads, callback=None)
    per_step = (time.perf_counter() - began) / schedule.n_steps
    learning = per_step * method.recipe.settle(task.image, task.sigma).n_steps * task.n_planes
    yield from _timed(Patchwise(epitome=fit.epitome), task, held, before=learning)
