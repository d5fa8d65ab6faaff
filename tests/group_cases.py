"""Groups of patches to try shrinkers on, by every instruction set and by the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.groups import Shrinker
from epitomes.kernels import Groups, GroupSettings, _native, reference_groups

Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Sums = tuple[Singles, Singles]

NATIVE = [isa for isa in kernels.isas if kernels.isa != "reference"]


def shrunk(isa: str, groups: Groups, shrinkage: GroupSettings, size: int | None = None) -> Sums:
    """Total and weight by an instruction set, or by the specification."""
    total, weight = (np.zeros(len(groups.noisy) if size is None else size, np.float32) for _ in range(2))
    if isa == "reference":
        reference_groups.shrink_groups(groups, shrinkage, total, weight)
    else:
        _native.shrink_groups(kernels.isas.index(isa), *groups, *shrinkage, np.zeros(1, np.uint8), total, weight)
    return total, weight


def one_group(members: Any, level: float, guide: Any = None) -> Groups:
    """Members `(n, m)` that do not overlap: total and weight are theirs, row by row."""
    rows = np.ascontiguousarray(members, np.float32)
    n, m = rows.shape
    return Groups(
        rows.ravel(),
        rows.ravel() if guide is None else np.ascontiguousarray(guide, np.float32).ravel(),
        np.arange(m),
        np.arange(m),
        0,
        (m * np.arange(n, dtype=np.int32))[None],
        np.array([n], np.int32),
        np.array([level], np.float32),
    )


def estimates(
    isa: str, members: Any, shrinker: Shrinker, level: float, *, guide: Any = None, channels: int = 1
) -> Doubles:
    shrinkage = shrinker.shrinkage(np.shape(members)[1], channels)
    total, weight = shrunk(isa, one_group(members, level, guide), shrinkage)
    return (total.astype(np.float64) / weight).reshape(np.shape(members))


def many_groups(m: int, n_matches: int, rng: np.random.Generator, n: int = 9) -> Groups:
    """Overlapping patches of a rough image, groups of every size, each with a level of its own."""
    noisy = (100 + 20 * rng.standard_normal(400).cumsum() / 5 + 10 * rng.standard_normal(400)).astype(np.float32)
    guide = (noisy + 3 * rng.standard_normal(400)).astype(np.float32)
    offsets = np.sort(rng.choice(90, m, replace=False))
    counts = rng.integers(1, n_matches + 1, n).astype(np.int32)
    counts[:2] = 1, n_matches
    levels = rng.uniform(1, 15, n).astype(np.float32)
    return Groups(
        noisy, guide, offsets, offsets, 0, rng.integers(0, 310, (n, n_matches)).astype(np.int32), counts, levels
    )


def agree(one: Sums, other: Sums, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(one[0], other[0], rtol=0, atol=tolerance * max(1e-30, np.abs(other[0]).max()))
    np.testing.assert_allclose(one[1], other[1], rtol=1e-5)


def correlated(m: int) -> Doubles:
    """Covariance of noise of variance one that fades along a patch."""
    place = np.arange(m)
    return np.asarray(0.7 ** np.abs(place[:, None] - place))


def orthonormal(n: int, m: int, rng: np.random.Generator) -> Doubles:
    """Rows that are orthonormal, and orthogonal to constants."""
    rows = rng.standard_normal((n, m))
    basis, _ = np.linalg.qr((rows - rows.mean(axis=1, keepdims=True)).T)
    return np.asarray(basis.T)
