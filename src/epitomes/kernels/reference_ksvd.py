"""Updates of atoms one by one: the NumPy specification of the kernel `update_atoms`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.kernels.protocol import Array


def update_atoms(
    residual: Array, begin: NDArray[np.int64], users: NDArray[np.int32], values: Array, atoms: Array, exact: bool
) -> None:
    """Replace each used atom and its values by the best rank-one fit to the rows without it, or one power step."""
    for j in range(len(atoms)):
        mine = slice(int(begin[j]), int(begin[j + 1]))
        rows = users[mine]
        without = residual[rows].astype(np.float64) + np.outer(values[mine], atoms[j])
        if exact:
            best = np.linalg.svd(without, full_matrices=False)[2][0] if without.any() else np.zeros(without.shape[1])
            best = -best if best @ atoms[j] < 0 else best
        else:
            best = values[mine].astype(np.float64) @ without
        if not best.any():
            continue
        best /= np.linalg.norm(best)
        atoms[j] = best
        values[mine] = without @ best
        residual[rows] = without - np.outer(values[mine], best)
