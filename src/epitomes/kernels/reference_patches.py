"""Extraction and aggregation of patches: the NumPy specification of the kernels `gather` and `scatter`.

Both use the flat image: pixel `k` of patch `i` is at `starts[i] + offsets[k]`. Each sum has a fixed order, so that
blocks and tiles change no bit: pixels of a patch in the order of `offsets`, patches that share a pixel in the order of
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def gather(image_flat: Array, starts: NDArray[np.intp], offsets: NDArray[np.intp], centre: bool) -> tuple[Array, Array]:
    """Copy patches `(b, m)` from the image; with `centre`, subtract their means `(b,)`, which are zeros otherwise."""
    rows = image_flat[starts[:, None] + offsets]
    if not centre:
        return rows, np.zeros(len(starts), rows.dtype)
    total = np.zeros(len(starts))
    for k in range(len(offsets)):  # column by column: the order of np.sum may depend on the number of rows
        total += rows[:, k]
    means = (total / len(offsets)).astype(rows.dtype)
    rows -= means[:, None]
    return rows, means


def scatter(
    total: NDArray[np.float64],
    weight: NDArray[np.float64],
    starts: NDArray[np.intp],
    offsets: NDArray[np.intp],
    estimates: Array,
    weights: Array,
) -> None:
    """Add `weights[i] * estimates[i]` to the pixels of patch `i` in `total`, and `weights[i]` in `weight`, in place.

    `estimates` `(b, m)` and `weights` `(b,)` have one dtype; products and sums are in float64. `np.add.at` adds one
    value after another, in the order of the rows; separate sums per block would be rounded differently.
    """
    pixels = (starts[:, None] + offsets).ravel()
    np.add.at(total, pixels, (estimates.astype(np.float64) * weights[:, None]).ravel())
    np.add.at(weight, pixels, np.repeat(weights, len(offsets)))
