"""The duality gap of the lasso: a certificate that does not depend on the solver.

On unit atoms U, with the residual `r = x - a U` and any factor s such that `|<u_j, s r>| <= lam`, weak duality gives
`1/2|r|^2 + lam |a|_1  >=  minimum  >=  s <x, r> - s^2/2 |r|^2`. The gap is the difference of the two bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from epitomes import blocks
from epitomes.checks import as_floats
from epitomes.dictionary import Dictionary
from epitomes.patches import Patches


def duality_gap(
    patches: ArrayLike | Patches,
    dictionary: Dictionary,
    codes: csr_array,
    lam: float,
    *,
    positive: bool = False,
    mask: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Compute `(n,)` gaps in float64, block by block; infinite for negative codes if codes must be positive."""
    rows = None if isinstance(patches, Patches) else as_floats("patches", patches, ndim=2)
    n = patches.n_patches if isinstance(patches, Patches) else len(np.asarray(rows))
    if not issparse(codes) or codes.shape != (n, dictionary.n_atoms):
        raise ValueError(f"codes must be sparse and of shape {(n, dictionary.n_atoms)}, got {codes.shape}")
    size = patches.patch_size if isinstance(patches, Patches) else np.asarray(rows).shape[1]
    if size != dictionary.patch_size:
        raise ValueError(
            f"patches have {size} pixels, the atoms {dictionary.patch_size}: give both the same patch shape"
        )
    atoms = dictionary.atoms.astype(np.float64)
    norms = np.linalg.norm(atoms, axis=1)
    unit = np.divide(atoms, norms[:, None], out=np.zeros_like(atoms), where=norms[:, None] > 0)
    weighted = csr_array(codes).astype(np.float64).multiply(norms[None, :]).tocsr()  # codes on unit atoms
    gaps = np.empty(n)
    for first, last in blocks.split(n):
        block = patches.rows(first, last)[0] if isinstance(patches, Patches) else np.asarray(rows)[first:last]
        X = block.astype(np.float64)
        A = weighted[first:last]
        R = X - A @ unit
        if mask is not None:
            X, R = X * mask[first:last], R * mask[first:last]
        correlations = R @ unit.T
        largest = (correlations if positive else np.abs(correlations)).max(axis=1)
        scale = np.minimum(1.0, lam / np.maximum(largest, np.finfo(np.float64).tiny))
        energy = np.einsum("nm,nm->n", R, R)
        primal = 0.5 * energy + lam * np.abs(A).sum(axis=1)
        dual = scale * np.einsum("nm,nm->n", X, R) - 0.5 * scale**2 * energy
        gaps[first:last] = primal - dual
        if positive and A.nnz and A.data.min() < 0:
            gaps[first:last][A.min(axis=1).toarray().ravel() < 0] = np.inf
    return gaps
