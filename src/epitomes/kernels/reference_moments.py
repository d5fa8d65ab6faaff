"""Sums over coded patches: the NumPy specification of the kernels `summarise` and `multiply`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from epitomes.kernels.protocol import Array, Start


def summarise(
    rows: Array,
    codes: Start,
    atoms: tuple[int, int],
    gram: NDArray[np.float64],
    cross: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    """Add `A'A`, `A'X` and the column sums of `|A|` for the atoms `first` to `last - 1`."""
    begin, index, values = codes
    A = csr_array((values.astype(np.float64), index, begin), shape=(len(rows), len(mass)))
    chosen = slice(*atoms)
    part = A[:, chosen].T
    gram[chosen] += (part @ A).toarray()
    cross[chosen] += part @ rows.astype(np.float64)
    mass[chosen] += np.asarray(abs(part).sum(axis=1)).ravel()


def multiply(left: NDArray[np.float64], right: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Compute `out = left @ right`, one column of `left` after another."""
    out[:] = 0.0
    for k in range(left.shape[1]):
        out += left[:, k, None] * right[k]
