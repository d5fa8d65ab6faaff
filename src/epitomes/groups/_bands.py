"""Bands of references: their groups are found and shrunk within the box of the image that they can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.blocks import Stop
from epitomes.groups.matching import Matching, Planar, Reference, matches
from epitomes.groups.shrinkage import Shrinker

Level = float | NDArray[np.float32]
Sums = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Images:
    """The image that is estimated, the one on which patches are compared, and the one on which atoms are chosen."""

    noisy: Planar
    match_on: Planar
    guide: Planar

    def cut(self, planes: slice, rows: slice) -> Images:
        """A box of each of them, contiguous; those that are the same stay the same."""
        boxes = {id(image): np.ascontiguousarray(image[:, planes, rows]) for image in self._all()}
        return Images(*(boxes[id(image)] for image in self._all()))

    def _all(self) -> tuple[Planar, Planar, Planar]:
        return self.noisy, self.match_on, self.guide


@dataclass(frozen=True, eq=False)
class Band:
    """What the groups of some lines of references say: sums and weights of the pixels of a box."""

    planes: slice
    rows: slice
    total: Planar
    weight: Planar


class Bands:
    """Everything that the bands of an image have in common."""

    def __init__(self, images: Images, matching: Matching, shrinker: Shrinker, by_channel: bool) -> None:
        n = len(images.noisy)
        self.images, self.matching = images, matching
        # One part: all channels as one vector. Else one part per channel, with the same groups.
        self.parts = [slice(c, c + 1) for c in range(n)] if by_channel else [slice(0, n)]
        self.wide = 1 if by_channel else n
        self.shrinkage = shrinker.shrinkage(self.wide * matching.size, self.wide)

    def box(self, reference: Reference) -> tuple[slice, slice]:
        """The planes and rows that members of these groups can touch."""
        planes, height, _ = self.images.noisy.shape[1:]
        (deep, far, _), (thick, high, _) = self.matching.search_radius, self.matching.patch
        first, last = max(0, reference.plane - deep), min(planes - thick, reference.plane + deep)
        top, bottom = int(reference.tops[0]) - far, int(reference.tops[-1]) + far + high
        return slice(first, last + thick), slice(max(0, top), min(height, bottom))

    def run(self, reference: Reference, levels: Sequence[Level], stop: Stop) -> Band:
        """Find and shrink the groups of some lines; `levels` has one entry for each part."""
        planes, rows = self.box(reference)
        images = self.images.cut(planes, rows)
        inside = Reference(reference.plane - planes.start, reference.tops - rows.start, reference.lefts)
        places, counts = matches(images.match_on, self.matching, inside, stop)
        total, weight = np.zeros_like(images.noisy), np.zeros_like(images.noisy)
        offsets = _offsets(self.matching.patch, (self.wide, *images.noisy.shape[1:]))
        for part, level in zip(self.parts, levels, strict=True):
            groups = kernels.Groups(
                images.noisy[part].reshape(-1),
                images.guide[part].reshape(-1),
                offsets,
                offsets,
                0,
                places,
                counts,
                _levels(level, reference),
            )
            kernels.shrink_groups(groups, self.shrinkage, total[part].reshape(-1), weight[part].reshape(-1), stop)
        return Band(planes, rows, total, weight)


class RunningAverage:
    """Weighted averages along the first axis of a box, part by part; only unfinished parts are in memory."""

    def __init__(self, channels: int, inner: tuple[int, ...]) -> None:
        self.first = 0  # what comes before it is finished
        self.total: Sums = np.zeros((channels, 0, *inner))
        self.weight: Sums = np.zeros_like(self.total)

    def add(self, along: slice, inner: slice, total: Planar, weight: Planar) -> None:
        """Add sums and weights of a box: a part of the first axis and of the one after it."""
        more = along.stop - self.first - self.total.shape[1]
        if more > 0:
            room = np.zeros((len(self.total), more, *self.total.shape[2:]))
            self.total = np.concatenate([self.total, room], axis=1)
            self.weight = np.concatenate([self.weight, room], axis=1)
        here = slice(along.start - self.first, along.stop - self.first)
        self.total[:, here, inner] += total
        self.weight[:, here, inner] += weight

    def finish(self, end: int) -> tuple[Sums, Sums]:
        """Return the sums and weights before `end`, to which nothing will be added any more, and forget them."""
        n = max(0, end - self.first)
        done = self.total[:, :n], self.weight[:, :n]
        self.total, self.weight = self.total[:, n:].copy(), self.weight[:, n:].copy()
        self.first += n
        return done


def _offsets(patch: tuple[int, int, int], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """From the place of a patch to its pixels: channels, planes, rows, columns."""
    channels, planes, rows, width = shape
    line = np.arange(patch[2]) + width * np.arange(patch[1])[:, None]
    plane = line + width * rows * np.arange(patch[0])[:, None, None]
    offsets = plane + planes * rows * width * np.arange(channels)[:, None, None, None]
    return offsets.reshape(-1).astype(np.int64)


def _levels(level: Level, reference: Reference) -> NDArray[np.float32]:
    if isinstance(level, np.ndarray):
        chosen = level[reference.plane][np.ix_(reference.tops, reference.lefts)]
        return np.ascontiguousarray(chosen.reshape(-1), np.float32)
    return np.full(len(reference), level, np.float32)
