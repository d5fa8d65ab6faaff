"""Ways to denoise that `choose` can try, and how long each would take for the whole image.

Most of the time goes with the number of pixels and is scaled by it. What an epitome takes to learn does not: it is
measured apart, and counted in steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epitomes.checks import Array
from epitomes.coders import OLS, Lasso
from epitomes.epitome import Epitome
from epitomes.learn import online, run
from epitomes.patches import Patches
from epitomes.restoration._denoise import denoise, shipped
from epitomes.restoration.recipe import PRICE, Recipe, several
from epitomes.restoration.trial import Split

GAIN = 1.15  # the paper's C
ROUNDS = 1.0  # passes over the patches of the tiles: an epitome is tried half-learned, and is judged too severely


@dataclass(frozen=True)
class Way:
    """A method with its settings."""

    label: str
    preset: str | None = None  # of the non-local method
    price: float | None = None  # of the paper's: lambda over sigma
    cost: float = 1.0  # at least, for an image, with that of "fast" as unit: a guess, until it is measured
    tile_cost: float = 1.0  # about, for the try on a tile, likewise


FAST = Way("fast", preset="fast", tile_cost=3.0)  # asked three times
BALANCED = Way("balanced", preset="balanced", cost=3.0, tile_cost=10.0)
BEST = Way("best", preset="best")  # never tried: its time follows from that of "balanced"
PAPER = (
    Way("paper with lambda 3 sigma", price=3.0, cost=5.0, tile_cost=15.0),  # for textures under faint noise
    Way("paper", price=PRICE, cost=4.0, tile_cost=10.0),
)
BEST_TO_BALANCED = 6.0  # how much longer "best" takes: 4 to 8 times


@dataclass(frozen=True, eq=False)
class Task:
    """An image, and the time there is for it."""

    pixels: Array
    sigma: float
    limit: float | None  # seconds for everything
    seed: int
    threads: int | None
    began: float

    @property
    def left(self) -> float:
        """Seconds."""
        return math.inf if self.limit is None else self.limit - (time.perf_counter() - self.began)

    def has_time_for(self, seconds: float) -> bool:
        return seconds <= self.left


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a way made of tiles, and what it would take for the whole image."""

    answers: tuple[Array, ...]  # of the first tiles, or of all
    seconds: float


def tried(way: Way, task: Task, halves: Split) -> Iterator[Outcome]:
    """The outcome after one tile, two tiles, ..."""
    return _learned(way, task, halves) if way.preset is None else _grouped(way.preset, task, halves)


def atoms_needed(task: Task, halves: Split) -> float:
    """Atoms per patch of the shipped epitome until the rest is noise: how much structure stands out of it.

    A sample of patches of the tiles, as they came; of colours, their mean.
    """
    start = shipped()
    counts, n_patches = 0, 0
    for tile in halves.tiles:
        channels = tile.reshape(*tile.shape[:2], -1)
        sigma = task.sigma / math.sqrt(channels.shape[2])
        patches = Patches(channels.mean(axis=2), start.phi.patch_shape, stride=4)
        coder = OLS(residual=patches.patch_size * (GAIN * sigma) ** 2)
        counts += coder.encode(patches, start.dictionary.astype(patches.image.dtype), threads=task.threads).nnz
        n_patches += len(patches)
    return counts / n_patches


def recipe_of(way: Way, pixels: Array, sigma: float) -> Recipe | None:
    """How the paper's method is to learn from an image; None for the other method."""
    return None if way.price is None else several(pixels, sigma, price=way.price)


def _grouped(preset: str, task: Task, halves: Split) -> Iterator[Outcome]:
    answers: list[Array] = []
    spent = seen = 0.0
    for tile in halves.tried:
        done = denoise(tile, halves.sigma, preset=preset, seed=task.seed, threads=task.threads)
        answers.append(done.image)
        spent, seen = spent + done.seconds, seen + tile.size
        yield Outcome(tuple(answers), spent * task.pixels.size / seen)


def _learned(way: Way, task: Task, halves: Split) -> Iterator[Outcome]:
    """One epitome is learned from all tiles, and codes them in turn."""
    assert way.price is not None
    tiles = np.stack(halves.tried)
    recipe = several(tiles, halves.sigma, price=way.price, passes=ROUNDS)
    began = time.perf_counter()
    epitome = _epitome(tiles, recipe, task)
    steps_seconds = (time.perf_counter() - began) / recipe.n_steps
    learning = steps_seconds * several(task.pixels, task.sigma, price=way.price).n_steps
    answers: list[Array] = []
    coding = seen = 0.0
    for tile in halves.tried:
        done = denoise(tile, halves.sigma, method="paper", epitome=epitome, threads=task.threads)
        answers.append(done.image)
        coding, seen = coding + done.seconds, seen + tile.size
        yield Outcome(tuple(answers), learning + coding * task.pixels.size / seen)


def _epitome(tiles: Array, recipe: Recipe, task: Task) -> Epitome:
    """The tiles one below the other are one image, of whose patches those across a border are left out."""
    patch = recipe.start.phi.patch_shape
    n, high, wide = tiles.shape
    inside = np.arange(high - patch[0] + 1)
    patches = Patches(tiles.reshape(n * high, wide), patch, chosen=(np.arange(n)[:, None] * high + inside).ravel())
    steps = online(
        patches,
        recipe.start,
        coder=Lasso(lam=recipe.lam),
        batch=recipe.batch,
        forget=recipe.forget,
        rng=task.seed,
        threads=task.threads,
    )
    return run(steps, max_steps=recipe.n_steps).epitome
