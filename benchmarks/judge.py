"""The judge: every number that is not a time is computed here, in float64, from the codes alone.

Competitors hand in codes `(n, p)` for the atoms `(p, m)` as they are (not normalised) and are not asked how good they
are. Work goes in blocks of rows, so that 20 000 patches do not need a dense `(n, p)` matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
BLOCK = 2048


def objective(X: NDArray[np.floating], D: NDArray[np.floating], codes: csr_array, lam: float) -> Floats:
    """Cost of each row: `1/2 |x - a D|^2 + lam sum_j |d_j| |a_j|` (paper, Eq. 2, without 1/n)."""
    atoms = np.asarray(D, np.float64)
    norms = np.linalg.norm(atoms, axis=1)
    A = codes.astype(np.float64)
    fit = row_energy(np.asarray(X, np.float64) - A @ atoms)
    return 0.5 * fit + lam * (abs(A) @ norms)


def duality_gap(X: NDArray[np.floating], D: NDArray[np.floating], codes: csr_array, lam: float) -> Floats:
    """Objective minus the best dual value on the ray of the residual: an upper bound of each row's suboptimality.

    Dual: the largest `1/2 |x|^2 - 1/2 |x - t|^2` over `t` with `|<d_j, t>| <= lam |d_j|` for every atom. The residual
    points the right way; `s r` takes the best length `s` that all the constraints allow.
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
    """The largest duality gap over the rows, each relative to its own objective."""
    cost = objective(X, D, codes, lam)
    gap = duality_gap(X, D, codes, lam)
    used = cost > 0  # a zero patch is coded by zero at no cost
    return float(np.max(gap[used] / cost[used], initial=0.0))


def agreement(first: csr_array, second: csr_array) -> float:
    """Share of rows in which both codes have exactly the same non-zero atoms."""
    if first.shape != second.shape:
        raise ValueError(f"codes of different shapes: {first.shape} and {second.shape}")
    differs = abs(pattern(first) - pattern(second)).sum(axis=1)
    return float(np.mean(np.asarray(differs).ravel() == 0))


def pattern(codes: csr_array) -> csr_array:
    """Ones where the codes are not zero; stored zeros do not count."""
    ones = csr_array(codes, copy=True)
    ones.eliminate_zeros()
    ones.sum_duplicates()
    return csr_array((np.ones(ones.nnz, np.int32), ones.indices, ones.indptr), shape=ones.shape)


def mean_nonzeros(codes: csr_array) -> float:
    """Atoms per row."""
    return float(pattern(codes).nnz / codes.shape[0])


def psnr(clean: NDArray[np.floating], estimate: NDArray[np.floating], peak: float = 255.0) -> float:
    """Peak signal-to-noise ratio in dB, neither rounded nor clipped."""
    error = np.mean((np.asarray(clean, np.float64) - np.asarray(estimate, np.float64)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(peak**2 / error))


def find_lam(mean_nonzeros_at: Callable[[float], float], target: float, low: float, high: float) -> float:
    """The price at which codes have about `target` atoms on average: bisection on the logarithm.

    More lam means fewer atoms. Stops within 1 % of the target.
    """
    for _ in range(30):
        lam = float(np.sqrt(low * high))
        found = mean_nonzeros_at(lam)
        if abs(found - target) <= 0.01 * target:
            break
        low, high = (lam, high) if found > target else (low, lam)
    return lam


def row_energy(rows: Floats) -> Floats:
    return np.einsum("ij,ij->i", rows, rows)


def blocks(rows: Floats) -> list[Floats]:
    return [rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK)]
