"""Matching: which patches of an image are alike.

References stand on a grid. Each is compared with all patches of a window around it, and the nearest become its group.
The distance of two patches is the mean of their squared differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.blocks import Stop
from epitomes.checks import positive, whole

Planar = NDArray[np.float32]  # (channels, planes, height, width)


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How groups are found. A grey image is one plane; the planes of a volume or video are searched, too."""

    patch: tuple[int, int, int]  # planes, height, width
    reach: tuple[int, int, int] = (0, 18, 18)  # how far from the reference, each way
    stride: tuple[int, int, int] = (1, 4, 4)  # from one reference to the next
    n_matches: int = 64  # members of a group, at most
    limit: float | None = None  # the largest distance of a member, in squared grey levels
    n_least: int = 12  # members of a group, even if they are further away

    def __post_init__(self) -> None:
        for name in ("patch", "reach", "stride"):
            if len(getattr(self, name)) != 3:
                raise ValueError(f"{name} needs planes, height and width, got {getattr(self, name)}")
        for name in ("patch", "stride"):
            for side in getattr(self, name):
                whole(name, side, least=1)
        for far in self.reach:
            whole("reach", far, least=0)
        whole("n_matches", self.n_matches, least=1)
        whole("n_least", self.n_least, least=1)
        if self.limit is not None:
            positive("limit", self.limit, zero=True)

    @property
    def size(self) -> int:
        """Pixels of a patch, in one channel."""
        return int(np.prod(self.patch))


@dataclass(frozen=True)
class Reference:
    """Lines of references in one plane: some rows, all columns."""

    plane: int
    tops: NDArray[np.int64]
    lefts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tops) * len(self.lefts)


def references(matching: Matching, shape: tuple[int, ...], n_lines: int) -> Iterator[Reference]:
    """The grid of references, `n_lines` lines at a time; its last lines and columns touch the border."""
    planes, tops, lefts = (
        _positions(size, side, step) for size, side, step in zip(shape, matching.patch, matching.stride, strict=True)
    )
    for plane in planes:
        for first in range(0, len(tops), n_lines):
            yield Reference(int(plane), tops[first : first + n_lines], lefts)


def matches(
    image: Planar, matching: Matching, reference: Reference, stop: Stop
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Places of the members of each group, `(n, n_matches)`, nearest first, and how many of them belong to it."""
    places, distances = kernels.match(
        image,
        matching.patch,
        matching.reach,
        reference.plane,
        reference.tops,
        reference.lefts,
        matching.n_matches,
        stop,
    )
    present = np.isfinite(distances).sum(axis=1)
    if matching.limit is None:
        return places, present.astype(np.int32)
    near = (np.isfinite(distances) & (distances <= matching.limit * matching.size * len(image))).sum(axis=1)
    return places, np.maximum(near, np.minimum(present, matching.n_least)).astype(np.int32)


def _positions(size: int, side: int, step: int) -> NDArray[np.int64]:
    """0, step, 2 step, ... and the last position that fits."""
    last = size - side
    positions = np.arange(0, last + 1, step, dtype=np.int64)
    return positions if positions[-1] == last else np.append(positions, last)
