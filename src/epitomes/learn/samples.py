"""Samples: random subsets of the patches, determined by the seed and the number of the draw alone.

Rows of an array are drawn one by one. Patches of an image are drawn by lines, because neighbours in a line share their
correlations and are several times cheaper to code than scattered patches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array, as_floats, whole
from epitomes.patches import Patches

Source = Patches | Array


def as_source(patches: ArrayLike | Patches) -> Source:
    """Return patches of an image as they are, and rows as a checked array."""
    return patches if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)


def batches(source: Source, size: int, seed: int, turn: int) -> list[NDArray[np.intp]]:
    """Divide all lines of patches, or rows, into batches of about `size` patches, in a new order for each `turn`."""
    whole("size", size, least=1)
    n_lines, per_line = _lines(source)
    order = np.random.default_rng([seed, turn]).permutation(n_lines).astype(np.intp)
    n_batches = max(1, round(n_lines * per_line / size))
    return [np.sort(order[number::n_batches]) for number in range(min(n_batches, n_lines))]


def take(source: Source, lines: NDArray[np.intp]) -> Source:
    """Return the patches of some lines, or some rows."""
    return source.lines(lines) if isinstance(source, Patches) else source[lines]


def _lines(source: Source) -> tuple[int, int]:
    """Return the number of lines and of patches per line; a row is a line of its own."""
    if isinstance(source, Patches):
        return len(source.positions[0]), source.n_patches // len(source.positions[0])
    return len(source), 1
