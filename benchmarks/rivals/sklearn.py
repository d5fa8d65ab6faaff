"""scikit-learn. It loops over patches in Python, so it codes a sample, and its time is scaled to all patches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.rivals import Problem, Rival, installed

SAMPLE = 100


def pursuit(problem: Problem) -> list[Rival]:
    """Return plain OMP on the Gram matrix. Patches below the bound are left out, since it would give each an atom."""
    if not installed("sklearn", "scikit-learn"):
        return []
    from sklearn.linear_model import orthogonal_mp_gram

    chosen = sample(problem)
    X, D = problem.rows[chosen], problem.unit

    def run() -> NDArray[np.float32]:
        energy = np.einsum("ij,ij->i", X, X)
        codes = np.zeros((len(X), len(D)), np.float32)
        active = np.flatnonzero(energy > problem.residual)
        if len(active):
            found = orthogonal_mp_gram(
                D @ D.T, D @ X[active].T, tol=problem.residual, norms_squared=energy[active], copy_Xy=False
            )
            codes[active] = found.reshape(len(D), len(active)).T
        return codes

    return [Rival("sklearn", quiet(run), lambda found: problem.unscaled(csr_array(found)), chosen)]


def lasso(problem: Problem) -> list[Rival]:
    """Return LARS, by the function that its dictionary learning uses."""
    if not installed("sklearn", "scikit-learn"):
        return []
    from sklearn.decomposition import sparse_encode

    chosen = sample(problem)
    X, D = problem.rows[chosen].astype(np.float64), problem.unit.astype(np.float64)

    def run() -> Any:
        return sparse_encode(X, D, algorithm="lasso_lars", alpha=problem.lam, n_jobs=problem.threads)

    return [Rival("sklearn", quiet(run), lambda found: problem.unscaled(csr_array(found)), chosen)]


def sample(problem: Problem) -> NDArray[np.intp]:
    """Select patches that are spread evenly over the image."""
    n = len(problem.rows)
    return np.unique(np.linspace(0, n - 1, min(SAMPLE, n)).astype(np.intp))


def quiet(run: Any) -> Any:
    """Suppress warnings about nearly dependent atoms, which every epitome has."""

    def silent() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()

    return silent
