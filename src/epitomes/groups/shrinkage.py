"""Shrinkers: what is believed of a group of similar patches.

`LowRank`: the members differ from their mean in few directions. `SharedAtoms`: besides, these directions lie in the
span of a few atoms of a dictionary, the same for all members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.checks import Array, positive, whole


class Shrinker(Protocol):
    """Anything that tells the kernel what to do with groups of patches of `m` pixels, all channels counted."""

    def shrinkage(self, m: int, channels: int) -> kernels.Shrinkage: ...


@dataclass(frozen=True, kw_only=True)
class LowRank:
    """Shrink the singular values of the group, less its mean patch, by the weighted nuclear norm's rule.

    A singular value y becomes `(y + sqrt(y^2 - 4 C)) / 2` with `C = 2 strength sqrt(n) level^2`, or 0 if `y^2 < 4 C`,
    for n members and noise of standard deviation `level`.
    """

    strength: float = 2.83

    def __post_init__(self) -> None:
        positive("strength", self.strength, zero=True)

    def shrinkage(self, m: int, channels: int) -> kernels.Shrinkage:
        none = np.empty((0, m), np.float32)
        return kernels.Shrinkage(none, none, 1, 0, 0.0, self.strength, False)


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedAtoms:
    """Choose atoms on the nearest members together, by simultaneous pursuit; then low rank within their span.

    The mean of each channel is always kept. Atoms are added until what is left of a voter is `bound` times the
    variance of the noise for each of its pixels: about 1 where the voters are noisy, near 0 where they are estimates.
    A group that `most_atoms` leave with more error than noise has is shrunk in directions of its own, as by `LowRank`.
    """

    atoms: Array  # (p, m): any dictionary; what the means explain is taken off, and atoms are made unit
    bound: float
    n_voters: int = 16
    most_atoms: int = 20
    strength: float = 2.2
    by_rank: bool = False  # weigh estimates by 1 / (1 + directions kept)

    def __post_init__(self) -> None:
        positive("bound", self.bound, zero=True)
        positive("strength", self.strength, zero=True)
        whole("n_voters", self.n_voters, least=1)
        whole("most_atoms", self.most_atoms, least=1)

    def shrinkage(self, m: int, channels: int) -> kernels.Shrinkage:
        if self.atoms.ndim != 2 or self.atoms.shape[1] != m:
            raise ValueError(f"atoms need {m} pixels, as the patches, got shape {self.atoms.shape}")
        base = np.kron(np.eye(channels), np.full((1, m // channels), (m // channels) ** -0.5))
        return kernels.Shrinkage(
            base.astype(np.float32),
            _unit(self.atoms, base),
            self.n_voters,
            min(self.most_atoms, m - channels),
            self.bound * m,
            self.strength,
            self.by_rank,
        )


def _unit(atoms: Array, base: NDArray[np.float64]) -> NDArray[np.float32]:
    """Atoms without what the base explains, of norm one; those of which nothing is left are dropped."""
    rest = atoms.astype(np.float64) - np.einsum("pb,bm->pm", np.einsum("pm,bm->pb", atoms, base), base)
    norms = np.sqrt((rest**2).sum(axis=1))
    kept = norms > 1e-6 * np.sqrt((atoms.astype(np.float64) ** 2).sum(axis=1))  # nothing but rounding is left of others
    if not kept.any():
        raise ValueError("every atom is constant, which the means explain already: give a dictionary with contrast")
    return np.ascontiguousarray(rest[kept] / norms[kept, None], np.float32)
