"""Stages for volumes and video: each turns noisy planes and the last estimate into a better estimate.

Planes are in units of the noise, so that its standard deviation is 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.groups import LowRank, Matching, SharedAtoms, Shrinker
from epitomes.restoration.non_local.passes import mean_squares
from epitomes.restoration.non_local.volumes.stream import Plane, Source, Triple, fitting

CLEAR = 2.5  # contrast in units of the noise, below which patches grow


@dataclass(frozen=True, kw_only=True)
class Search:
    """How groups are found: settings that all stages share."""

    patch: Triple = (4, 4, 4)
    search_radius: Triple = (4, 5, 5)
    stride: Triple = (3, 3, 3)
    group_size: int = 64

    def within(self, shape: Triple) -> Search:
        """The same for a volume that may be small: groups need patches of several places in a plane."""
        planes, *sides = shape
        high, wide = (max(min(3, side), (side + 1) // 2) for side in sides)
        patch = fitting(self.patch, (planes, high, wide))
        return replace(self, patch=patch, stride=fitting(self.stride, patch))

    def fitted(self, contrast: float) -> Search:
        """The same for a volume of some contrast, in units of the noise: faint detail shows only in large patches.

        Cubes grow along all axes, other patches within planes.
        """
        grown = max(1.0, CLEAR / contrast) ** 0.2
        cubic = self.patch[0] == self.patch[1]
        deep, high, wide = (round(side * grown) for side in self.patch)
        down, across = (int(step * grown) for step in self.stride[1:])
        return replace(
            self,
            patch=(deep if cubic else self.patch[0], high, wide),
            stride=(int(self.stride[0] * grown) if cubic else self.stride[0], down, across),
        )

    def sparse(self) -> Search:
        """The same with patches that hardly overlap: nearly as good, in a third of the time."""
        deep, high, wide = self.patch
        return replace(self, stride=(deep, max(min(4, high), 3 * high // 4), max(min(4, wide), 3 * wide // 4)))

    def reaching(self, search_radius: Triple) -> Search:
        """The same with members that are no further away than this."""
        return replace(self, search_radius=search_radius)

    def matching(self, threshold: float | None) -> Matching:
        """The same with the largest distance of members."""
        return Matching(
            patch=self.patch,
            search_radius=self.search_radius,
            stride=self.stride,
            group_size=self.group_size,
            threshold=threshold,
        )


@dataclass(frozen=True, kw_only=True)
class LowRankStage:
    """From the pilot to a first estimate: groups that are similar in the pilot are shrunk to low rank."""

    search: Search = Search()
    edge: float = 1.0
    keep: float = 0.0

    @property
    def cost(self) -> float:
        return 1.0

    def matching(self, contrast: float) -> Matching:
        return self.search.matching(None)

    def shrinker(self, patch: Triple) -> Shrinker:
        return LowRank(strength=0.0, edge=self.edge)

    def source(self, plane: Plane, patch: Triple) -> Source:
        return Source(plane, plane.noisy, plane.current, plane.noisy)

    def level(self, error: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.ones_like(error)


@dataclass(frozen=True, kw_only=True)
class FeedbackStage:
    """Residual feedback, as `FeedbackPass` does it for images."""

    search: Search = Search()
    edge: float = 1.0
    looseness: float = 1.0
    share: float = 0.4
    trust: float = 0.56
    keep: float = 0.0
    part: bool = False  # of a volume, not the whole

    @property
    def cost(self) -> float:
        return 1.0

    def matching(self, contrast: float) -> Matching:
        return self.search.matching(self.looseness * contrast)

    def shrinker(self, patch: Triple) -> Shrinker:
        return LowRank(strength=0.0, edge=self.edge)

    def source(self, plane: Plane, patch: Triple) -> Source:
        mixed = plane.current + np.float32(self.share) * (plane.noisy - plane.current)
        return Source(plane, mixed, mixed, mixed, mean_squares(plane.noisy, mixed, patch[1:], self.part))

    def level(self, error: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.float32(self.trust) * np.sqrt(np.maximum(0, 1 - error))


@dataclass(frozen=True, kw_only=True, eq=False)
class AtomsStage:
    """Joint sparse coding: groups share atoms, chosen on the current estimate; codes of noisy patches have low rank."""

    atoms: Array  # (p, m) for patches of `search`
    search: Search = Search(patch=(3, 3, 3), stride=(2, 2, 2))
    threshold: float | None = 0.4
    bound: float = 0.006
    selection_size: int = 16
    most_atoms: int = 20
    strength: float = 2.2
    select_on_noisy: bool = False
    by_rank: bool = False
    keep: float = 0.0

    @property
    def cost(self) -> float:
        return 0.6

    def matching(self, contrast: float) -> Matching:
        return self.search.matching(self.threshold)

    def shrinker(self, patch: Triple) -> Shrinker:
        return SharedAtoms(
            atoms=self.atoms,
            bound=self.bound,
            selection_size=self.selection_size,
            most_atoms=self.most_atoms,
            strength=self.strength,
            by_rank=self.by_rank,
        )

    def source(self, plane: Plane, patch: Triple) -> Source:
        return Source(plane, plane.noisy, plane.current, plane.noisy if self.select_on_noisy else plane.current)

    def level(self, error: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.ones_like(error)
