"""Streams of planes: stages take planes, hold the few that they need, and hand on each as soon as it is finished.

A stage reads its planes from the one before it, so all of them are at work at the same time, each some planes behind
the last. Length therefore costs no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks
from epitomes.groups import Matching, Shrinker
from epitomes.groups._bands import Box, GroupEstimator, Images, RunningAverage, Slice
from epitomes.groups._estimate import LINES
from epitomes.groups.matching import Reference, positions, references
from epitomes.restoration.non_local.volumes.motion import TILE, Motion, follow

Triple = tuple[int, int, int]  # planes, rows, columns


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane on its way through the stages, in units of the noise."""

    noisy: Slice
    current: Slice  # the last estimate
    before: Motion | None = None  # to the plane before it; None: nothing moves
    after: Motion | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """What a stage makes of a plane: the images that its groups are taken from."""

    plane: Plane
    noisy: Slice
    match_on: Slice
    guide: Slice
    error: Slice | None = None  # mean square of every patch of the plane; None: the level of the noise is 1


class Stage(Protocol):
    """How groups are found and estimated. Searches and thresholds are in units of the noise."""

    @property
    def cost(self) -> float:
        """Time it takes relative to other stages, about."""
        ...

    @property
    def keep(self) -> float:
        """Share of the current estimate in the new one: two that err in different ways err less together."""
        ...

    def matching(self, contrast: float) -> Matching:
        """How groups are found in a volume of this contrast, in units of the noise."""
        ...

    def shrinker(self, patch: Triple) -> Shrinker:
        """How they are estimated."""
        ...

    def source(self, plane: Plane, patch: Triple) -> Source:
        """What groups are taken from."""
        ...

    def level(self, error: NDArray[np.float32]) -> NDArray[np.float32]:
        """The level of the noise in groups whose reference has this `Source.error`."""
        ...


class Window:
    """What a stage makes of the planes of a stream, around the one that is worked on."""

    def __init__(self, planes: Iterator[Plane], source: Callable[[Plane], Source]) -> None:
        self._planes, self._source, self._held = planes, source, deque[Source]()
        self._first = 0

    def span(self, first: int, last: int) -> list[Source]:
        """The planes from `first` to before `last`; those before `first` are forgotten."""
        while self._first + len(self._held) < last:
            self._held.append(self._source(next(self._planes)))
        while self._first < first:
            self._held.popleft()
            self._first += 1
        return [self._held[k] for k in range(last - first)]


def run_stage(
    stage: Stage,
    planes: Iterator[Plane],
    shape: Triple,
    contrast: float,
    threads: int | None,
    advance: Callable[[float], None],
) -> Iterator[Plane]:
    """Improve the estimate of every plane of a volume; `advance` is told the share of the work that was done."""
    matching = stage.matching(contrast)
    thick, deep = matching.patch[0], matching.search_radius[0]
    grid = [int(at) for at in positions(shape[0], thick, matching.stride[0])]
    window = Window(planes, lambda plane: stage.source(plane, matching.patch))
    estimator: GroupEstimator | None = None
    for number, at in enumerate(grid):
        first, last = max(0, at - deep), min(shape[0] - thick, at + deep) + thick
        held = window.span(first, last)
        if estimator is None:
            channels = len(held[0].noisy)
            estimator = GroupEstimator(matching, stage.shrinker(matching.patch), channels, by_channel=True)
            average = RunningAverage(channels, shape[1:])
        around = Surroundings(stage, estimator, held, at - first, shape[1:])
        work = partial(estimator.run, around.images(), box_of=around.box, levels_of=around.levels)
        for done in blocks.run(work, around.references(), threads=threads):
            for k, rows, columns in done.box.parts():
                inside = slice(k - done.box.first, k - done.box.first + 1)
                here = slice(first + k, first + k + 1)
                average.add(here, (rows, columns), done.total[:, inside], done.weight[:, inside])
        end = shape[0] if number + 1 == len(grid) else max(0, grid[number + 1] - deep)
        total, weight = average.finish(end)
        advance(1 / len(grid))
        for k in range(total.shape[1]):
            plane = held[k].plane
            found = _mean(total[:, k], weight[:, k], plane.current)
            yield replace(plane, current=found if stage.keep == 0 else found + stage.keep * (plane.current - found))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The references of one plane, and the planes around it."""

    stage: Stage
    estimator: GroupEstimator
    held: list[Source]
    at: int  # of the plane, among those held
    shape: tuple[int, int]

    def references(self) -> list[Reference]:
        """Bands of all columns where nothing moves; tiles otherwise, so that each can follow its own motion."""
        matching = self.estimator.matching
        bands = references(matching, (matching.patch[0], *self.shape), LINES)
        if not self._moves():
            return [replace(band, plane=self.at) for band in bands]
        sides = zip(self.shape, matching.patch[1:], matching.stride[1:], strict=True)
        tops, lefts = (positions(*each) for each in sides)
        return [Reference(self.at, down, across) for down in _tiles(tops) for across in _tiles(lefts)]

    def images(self) -> Images:
        """What groups are taken from; images that are the same in every plane are the same."""
        noisy = [source.noisy for source in self.held]
        match_on = noisy if self._same("match_on", "noisy") else [source.match_on for source in self.held]
        if self._same("guide", "noisy"):
            return Images(noisy, match_on, noisy)
        guide = match_on if self._same("guide", "match_on") else [source.guide for source in self.held]
        return Images(noisy, match_on, guide)

    def box(self, reference: Reference) -> Box:
        """What the groups of some references can touch."""
        box = self.estimator.box(reference, (len(self.held), *self.shape))
        if not self._moves():
            return box
        return follow(box, [(source.plane.before, source.plane.after) for source in self.held], reference, self.shape)

    def _moves(self) -> bool:
        return any(source.plane.before is not None or source.plane.after is not None for source in self.held)

    def _same(self, one: str, other: str) -> bool:
        return all(getattr(source, one) is getattr(source, other) for source in self.held)

    def levels(self, reference: Reference, box: Box) -> list[NDArray[np.float32]]:
        """The level of each group and channel, from the errors of the planes of its reference."""
        channels = len(self.held[0].noisy)
        if self.held[self.at].error is None:
            return [np.ones(len(reference), np.float32)] * channels
        errors = []
        for k in range(self.at, self.at + self.estimator.matching.patch[0]):
            error, (down, across) = self.held[k].error, box.shifts[k - box.first]
            assert error is not None  # all planes of a stage are alike
            errors.append(error[:, (reference.tops + down)[:, None], reference.lefts + across])
        level = self.stage.level(np.mean(errors, axis=0))
        return [np.ascontiguousarray(channel.reshape(-1), np.float32) for channel in level]


def fitting(sides: Triple, shape: Triple) -> Triple:
    """Sides that are no longer than those of a volume."""
    deep, high, wide = (min(side, size) for side, size in zip(sides, shape, strict=True))
    return deep, high, wide


def _tiles(at: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions by the tiles that they lie in."""
    return [at[at // TILE == tile] for tile in np.unique(at // TILE)]


def _mean(total: NDArray[np.float64], weight: NDArray[np.float64], otherwise: Slice) -> Slice:
    """The average, or the last estimate where no group has said anything: motion may leave pixels out."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weight > 0, total / weight, otherwise).astype(np.float32)
