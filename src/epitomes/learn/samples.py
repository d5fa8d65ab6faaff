"""Samples: parts of the patches, drawn so that the seed and the number of the draw alone decide them.

Rows of an array are drawn one by one. Patches of an image are drawn by lines: neighbours in a line share their
correlations, which makes them several times cheaper than patches from everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array, as_floats, whole
from epitomes.patches import Patches

Source = Patches | Array


def as_source(patches: ArrayLike | Patches) -> Source:
    """Patches as they are, or checked rows."""
    return patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)


def batches(source: Source, size: int, seed: int, turn: int) -> list[NDArray[np.intp]]:
    """All units (rows, or lines of patches) in parts of about `size` patches, in another order for each `turn`."""
    whole("size", size, least=1)
    n_units, per_unit = _units(source)
    order = np.random.default_rng([seed, turn]).permutation(n_units).astype(np.intp)
    n_parts = max(1, round(n_units * per_unit / size))
    return [np.sort(order[part::n_parts]) for part in range(min(n_parts, n_units))]


def take(source: Source, units: NDArray[np.intp]) -> Source:
    """The patches of some units."""
    return source.lines(units) if isinstance(source, Patches) else source[units]


def _units(source: Source) -> tuple[int, int]:
    if isinstance(source, Patches):
        return len(source.positions[0]), source.n_patches // len(source.positions[0])
    return len(source), 1
