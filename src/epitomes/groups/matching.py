"""Matching: which patches of an image are similar."""

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
    """How groups of similar patches are found (block matching).

    References stand on a grid. Each is compared with every patch of the search window around it, and the nearest ones
    form its group. The reference itself is the first member.

    Parameters
    ----------
    patch : tuple of int
        Planes, height and width of a patch. A grey or colour image is one plane.
    search_radius : tuple of int, default: (0, 18, 18)
        How far from the reference members may be, each way: planes, rows and columns.
    stride : tuple of int, default: (1, 4, 4)
        Distance from one reference to the next. It must not be longer than the patch.
    group_size : int, default: 64
        Largest number of members.
    threshold : float, optional
        Largest distance of a member. Default: none, so that groups are as large as they can be.
    least_members : int, default: 12
        Members that a group has even if they are beyond the threshold.

    See Also
    --------
    estimate : Find groups and estimate an image from them.

    Notes
    -----
    The distance of two patches is the mean of their squared differences over all pixels and channels, so the threshold
    is in squared grey levels and does not depend on the size of the patch.

    Examples
    --------
    >>> from epitomes.groups import Matching
    >>> matching = Matching(patch=(1, 8, 8), group_size=32, threshold=100.0)
    >>> matching.size
    64
    """

    patch: tuple[int, int, int]
    search_radius: tuple[int, int, int] = (0, 18, 18)
    stride: tuple[int, int, int] = (1, 4, 4)
    group_size: int = 64
    threshold: float | None = None
    least_members: int = 12

    def __post_init__(self) -> None:
        for name in ("patch", "search_radius", "stride"):
            if len(getattr(self, name)) != 3:
                raise ValueError(f"{name} needs planes, height and width, got {getattr(self, name)}")
        for name in ("patch", "stride"):
            for side in getattr(self, name):
                whole(name, side, least=1)
        for far in self.search_radius:
            whole("search_radius", far, least=0)
        whole("group_size", self.group_size, least=1)
        whole("least_members", self.least_members, least=1)
        if self.threshold is not None:
            positive("threshold", self.threshold, zero=True)

    @property
    def size(self) -> int:
        """Number of pixels of a patch in one channel."""
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
        positions(size, side, step) for size, side, step in zip(shape, matching.patch, matching.stride, strict=True)
    )
    for plane in planes:
        for first in range(0, len(tops), n_lines):
            yield Reference(int(plane), tops[first : first + n_lines], lefts)


def matches(
    image: Planar, matching: Matching, reference: Reference, stop: Stop
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Places of the members of each group, `(n, group_size)`, nearest first, and how many of them belong to it."""
    places, distances = kernels.match(
        image,
        matching.patch,
        matching.search_radius,
        reference.plane,
        reference.tops,
        reference.lefts,
        matching.group_size,
        stop,
    )
    present = np.isfinite(distances).sum(axis=1)
    if matching.threshold is None:
        return places, present.astype(np.int32)
    near = (np.isfinite(distances) & (distances <= matching.threshold * matching.size * len(image))).sum(axis=1)
    return places, np.maximum(near, np.minimum(present, matching.least_members)).astype(np.int32)


def positions(size: int, side: int, step: int) -> NDArray[np.int64]:
    """0, step, 2 step, ... and the last position that fits."""
    last = size - side
    positions = np.arange(0, last + 1, step, dtype=np.int64)
    return positions if positions[-1] == last else np.append(positions, last)
