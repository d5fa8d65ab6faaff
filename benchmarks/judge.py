"""Objective, duality gap and support of codes, computed here in float64 for every method alike.

Methods return codes `(n, p)` for the atoms `(p, m)`, which are not normalised. The work is done in blocks of rows, so
that 20 000 patches do not need a dense `(n, p)` matrix. PSNR is that of `epitomes.validation`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
BLOCK = 2048


def objective(X: NDArray[np.floating], D: NDArray[np.floating], codes: csr_array, lam: float) -> Floats:
    """Compute the cost of each row: `1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|` (paper, Eq. 2, without 1/n)."""
    atoms = np.asarray(D, np.float64)
    norms = np.linalg.norm(atoms, axis=1)
    A = codes.astype(np.float64)
    fit = row_energy(np.asarray(X, np.float64) - A @ atoms)
    return 0.5 * fit + lam * (abs(A) @ norms)


def duality_gap(X: NDArray[np.floating], D: NDArray[np.floating], codes: csr_array, lam: float) -> Floats:
    """Compute an upper bound of the suboptimality of each row: objective minus a dual value.

    The dual is the largest `1/2 |x|^2 - 1/2 |x - t|^2` over `t` with `|<d_j, t>| <= lam |d_j|` for every atom. It is
    evaluated at the best feasible multiple `t = s r` of the residual r.
    """
    atoms = np.asarray(D, np.float64)
    norms = np.linalg.norm(atoms, axis=1)
    unit = atoms[norms > 0] / norms[norms > 0, None]
    signals = np.asarray(X, np.float64)
    residual = signals - codes.astype(np.float64) @ atoms
    largest = np.concatenate([np.abs(rows @ unit.T).max(axis=1) for rows in blocks(residual)])
    energy = np.maximum(row_energy(residual), np.finfo(float).tiny)
    allowed = lam / np.maximum(largest, np.finfo(float).tiny)
    scale = np.clip(np.einsum("ij,ij->i", signals, residual) / energy, -allowed, allowed)
    dual = 0.5 * row_energy(signals) - 0.5 * row_energy(signals - scale[:, None] * residual)
    return objective(X, D, codes, lam) - dual


def relative_gap(X: NDArray[np.floating], D: NDArray[np.floating], codes: csr_array, lam: float) -> float:
    """Compute the largest duality gap over the rows, each relative to its own objective."""
    cost = objective(X, D, codes, lam)
    gap = duality_gap(X, D, codes, lam)
    used = cost > 0  # a zero patch has cost 0
    return float(np.max(gap[used] / cost[used], initial=0.0))


def agreement(first: csr_array, second: csr_array) -> float:
    """Compute the share of rows in which both codes have the same non-zero atoms."""
    if first.shape != second.shape:
        raise ValueError(f"codes of different shapes: {first.shape} and {second.shape}")
    differs = abs(pattern(first) - pattern(second)).sum(axis=1)
    return float(np.mean(np.asarray(differs).ravel() == 0))


def pattern(codes: csr_array) -> csr_array:
    """Return ones where the codes are not zero; stored zeros do not count."""
    ones = csr_array(codes, copy=True)
    ones.eliminate_zeros()
    ones.sum_duplicates()
    return csr_array((np.ones(ones.nnz, np.int32), ones.indices, ones.indptr), shape=ones.shape)


def mean_nonzeros(codes: csr_array) -> float:
    """Count the atoms per row."""
    return float(pattern(codes).nnz / codes.shape[0])


def find_lam(mean_nonzeros_at: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Find the lambda at which codes have about `target` atoms on average, within 1 %.

    The number of atoms falls with lambda, so bisection on its logarithm finds it.
    """
    for _ in range(30):
        lam = float(np.sqrt(low * high))
        found = mean_nonzeros_at(lam)
        if abs(found - target) <= 0.01 * target:
            break
        low, high = (lam, high) if found > target else (low, lam)
    return lam


def row_energy(rows: Floats) -> Floats:
    """Compute the squared norm of each row."""
    return np.einsum("ij,ij->i", rows, rows)


def blocks(rows: Floats) -> list[Floats]:
    """Split rows into blocks."""
    return [rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK)]
