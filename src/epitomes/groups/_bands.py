"""References in bands and tiles: their groups are found and shrunk within the box of the image that they can reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.blocks import Stop
from epitomes.groups.matching import Matching, Planar, Reference, matches
from epitomes.groups.shrinkage import Shrinker

Slice = NDArray[np.float32]  # (channels, height, width): a plane
Levels = Sequence[NDArray[np.float32]]  # standard deviation of the noise of each reference, for each estimate
Sums = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Images:
    """Planes that are estimated, those on which patches are compared, and those on which atoms are chosen."""

    noisy: Sequence[Slice]
    match_on: Sequence[Slice]
    guide: Sequence[Slice]

    @classmethod
    def of(cls, noisy: Planar, match_on: Planar, guide: Planar) -> Images:
        """The planes of planar images."""
        planes = {id(image): [image[:, k] for k in range(image.shape[1])] for image in (noisy, match_on, guide)}
        return cls(*(planes[id(image)] for image in (noisy, match_on, guide)))


@dataclass(frozen=True, eq=False)
class Box:
    """The part of an image that groups can touch: some rows and columns, shifted from plane to plane."""

    first: int  # plane
    rows: slice
    columns: slice
    shifts: tuple[tuple[int, int], ...]  # of rows and columns, one for each plane

    @property
    def planes(self) -> slice:
        return slice(self.first, self.first + len(self.shifts))

    def parts(self) -> Iterator[tuple[int, slice, slice]]:
        """Plane, rows and columns of each of its parts."""
        for k, (down, across) in enumerate(self.shifts):
            rows = slice(self.rows.start + down, self.rows.stop + down)
            yield self.first + k, rows, slice(self.columns.start + across, self.columns.stop + across)

    def cut(self, planes: Sequence[Slice]) -> Planar:
        """A copy of this part of an image, `(channels, planes, rows, columns)`."""
        return np.stack([planes[k][:, rows, columns] for k, rows, columns in self.parts()], axis=1)


@dataclass(frozen=True, eq=False)
class Contribution:
    """What some groups say about the pixels of a box: sums of their estimates, and of their weights."""

    box: Box
    total: Planar
    weight: Planar


class GroupEstimator:
    """Finds and shrinks the groups of some references; holds all that they have in common."""

    def __init__(self, matching: Matching, shrinker: Shrinker, channels: int, by_channel: bool) -> None:
        self.matching = matching
        # One part: all channels as one vector. Else one part per channel, with the same groups.
        self.parts = [slice(c, c + 1) for c in range(channels)] if by_channel else [slice(0, channels)]
        self.wide = 1 if by_channel else channels
        self.shrinkage = shrinker.shrinkage(self.wide * matching.size, self.wide)

    def box(self, reference: Reference, shape: tuple[int, ...]) -> Box:
        """What members of these groups can touch, in an image of planes, rows and columns."""
        (deep, *far), (thick, *patch) = self.matching.search_radius, self.matching.patch
        first, last = max(0, reference.plane - deep), min(shape[0] - thick, reference.plane + deep) + thick
        rows, columns = (
            slice(max(0, int(at[0]) - reach), min(size, int(at[-1]) + reach + side))
            for at, reach, side, size in zip((reference.tops, reference.lefts), far, patch, shape[1:], strict=True)
        )
        return Box(first, rows, columns, ((0, 0),) * (last - first))

    def run(
        self,
        images: Images,
        reference: Reference,
        stop: Stop,
        *,
        box_of: Callable[[Reference], Box],
        levels_of: Callable[[Reference, Box], Levels],
    ) -> Contribution:
        """Find and shrink the groups of some references within their box."""
        box = box_of(reference)
        inside = Reference(
            reference.plane - box.first, reference.tops - box.rows.start, reference.lefts - box.columns.start
        )
        noisy, match_on, guide = _cut(box, images)
        places, counts = matches(match_on, self.matching, inside, stop)
        total, weight = np.zeros_like(noisy), np.zeros_like(noisy)
        offsets = _offsets(self.matching.patch, (self.wide, *noisy.shape[1:]))
        shrinkage = _within(box, self.shrinkage, images)
        for part, level in zip(self.parts, levels_of(reference, box), strict=True):
            groups = kernels.Groups(
                noisy[part].reshape(-1), guide[part].reshape(-1), offsets, offsets, 0, places, counts, level
            )
            kernels.shrink_groups(groups, shrinkage, total[part].reshape(-1), weight[part].reshape(-1), stop)
        return Contribution(box, total, weight)


class RunningAverage:
    """Weighted averages along the first axis of a box, part by part; only unfinished parts are in memory."""

    def __init__(self, channels: int, inner: tuple[int, ...]) -> None:
        self.first = 0  # what comes before it is finished
        self.total: Sums = np.zeros((channels, 0, *inner))
        self.weight: Sums = np.zeros_like(self.total)

    def add(self, along: slice, inner: tuple[slice, ...], total: Planar, weight: Planar) -> None:
        """Add sums and weights of a box: a part of the first axis and of those after it."""
        more = along.stop - self.first - self.total.shape[1]
        if more > 0:
            room = np.zeros((len(self.total), more, *self.total.shape[2:]))
            self.total = np.concatenate([self.total, room], axis=1)
            self.weight = np.concatenate([self.weight, room], axis=1)
        here = (slice(None), slice(along.start - self.first, along.stop - self.first), *inner)
        self.total[here] += total
        self.weight[here] += weight

    def finish(self, end: int) -> tuple[Sums, Sums]:
        """Return the sums and weights before `end`, to which nothing will be added any more, and forget them."""
        n = max(0, end - self.first)
        done = self.total[:, :n], self.weight[:, :n]
        self.total, self.weight = self.total[:, n:].copy(), self.weight[:, n:].copy()
        self.first += n
        return done


def _cut(box: Box, images: Images) -> tuple[Planar, Planar, Planar]:
    """The part of each image, once for those that are the same."""
    noisy = box.cut(images.noisy)
    match_on = noisy if images.match_on is images.noisy else box.cut(images.match_on)
    if images.guide is images.noisy:
        return noisy, match_on, noisy
    return noisy, match_on, match_on if images.guide is images.match_on else box.cut(images.guide)


def _within(box: Box, shrinkage: kernels.GroupSettings, images: Images) -> kernels.GroupSettings:
    """The settings for a part of the image: variances are those of its pixels."""
    if not isinstance(shrinkage, kernels.ConditionalMean):
        return shrinkage
    shape = len(images.noisy), *images.noisy[0].shape[1:]
    if shrinkage.variances.size % math.prod(shape):
        raise ValueError("the image and the variances of its pixels differ in size")
    variances = shrinkage.variances.reshape(-1, *shape)
    return shrinkage._replace(variances=box.cut([variances[:, k] for k in range(shape[0])]).reshape(-1))


def _offsets(patch: tuple[int, int, int], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """From the place of a patch to its pixels: channels, planes, rows, columns."""
    channels, planes, rows, width = shape
    line = np.arange(patch[2]) + width * np.arange(patch[1])[:, None]
    plane = line + width * rows * np.arange(patch[0])[:, None, None]
    offsets = plane + planes * rows * width * np.arange(channels)[:, None, None, None]
    return offsets.reshape(-1).astype(np.int64)
