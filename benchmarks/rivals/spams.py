"""SPAMS, the solver of the paper. Columns are signals there, in Fortran order, and atoms have norm one.

`spams.omp` is orthogonal least squares: it adds the atom that decreases the residual most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.rivals import Problem, Rival, installed


def pursuit(problem: Problem) -> list[Rival]:
    """Return its pursuit."""
    if not installed("spams", "spams-bin"):
        return []
    import spams

    X, D = columns(problem)
    most = min(D.shape)
    return [
        Rival(
            "spams",
            lambda: spams.omp(X, D, eps=problem.residual, L=most, numThreads=problem.threads),
            lambda found: as_codes(problem, found),
        )
    ]


def masked_pursuit(problem: Problem, rows: NDArray[np.float32], known: NDArray[np.bool_]) -> list[Rival]:
    """Return its pursuit of rows with unknown pixels."""
    if not installed("spams", "spams-bin"):
        return []
    import spams

    D = columns(problem)[1]
    X, B = np.asfortranarray(np.where(known, rows, 0).T), np.asfortranarray(known.T)
    most = min(D.shape)
    return [
        Rival(
            "spams",
            lambda: spams.ompMask(X, D, B, eps=problem.residual, L=most, numThreads=problem.threads),
            lambda found: as_codes(problem, found),
        )
    ]


def lasso(problem: Problem) -> list[Rival]:
    """Return its lasso."""
    if not installed("spams", "spams-bin"):
        return []
    import spams

    X, D = columns(problem)
    return [
        Rival(
            "spams",
            lambda: spams.lasso(X, D, lambda1=problem.lam, mode=2, numThreads=problem.threads),
            lambda found: as_codes(problem, found),
        )
    ]


def columns(problem: Problem) -> tuple[Any, Any]:
    """Return `X (m, n)` and `D (m, p)` in Fortran order, which the transpose of C-ordered rows already has."""
    return np.asfortranarray(problem.rows.T), np.asfortranarray(problem.unit.T)


def as_codes(problem: Problem, found: Any) -> csr_array:
    """Convert its output to codes for the atoms."""
    return problem.unscaled(csr_array(found.T))
