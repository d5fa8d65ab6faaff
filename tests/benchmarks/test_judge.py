"""The judge against brute force: it decides the races, so it must be right by other means than its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from benchmarks import judge

LAM = 0.3


@pytest.fixture
def problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, csr_array]:
    """Seven signals of five pixels, nine atoms of very different norms."""
    X = rng.standard_normal((7, 5))
    D = rng.standard_normal((9, 5)) * rng.uniform(0.2, 3.0, (9, 1))
    A = rng.standard_normal((7, 9)) * (rng.random((7, 9)) < 0.3)
    return X, D, csr_array(A)


def slow_objective(x: np.ndarray, D: np.ndarray, a: np.ndarray) -> float:
    fit = sum((x[k] - sum(a[j] * D[j, k] for j in range(len(D)))) ** 2 for k in range(len(x)))
    return 0.5 * fit + LAM * sum(abs(a[j]) * np.sqrt(np.sum(D[j] ** 2)) for j in range(len(D)))


def best_codes(x: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The lasso by a general solver: split into positive and negative parts, so that the cost is smooth."""
    p = len(D)

    def cost(parts: np.ndarray) -> float:
        rest = x - (parts[:p] - parts[p:]) @ D
        return 0.5 * rest @ rest + LAM * np.linalg.norm(D, axis=1) @ (parts[:p] + parts[p:])

    found = minimize(cost, np.zeros(2 * p), bounds=[(0, None)] * (2 * p), method="L-BFGS-B", options={"ftol": 1e-15})
    return found.x[:p] - found.x[p:]


def test_objective(problem: tuple[np.ndarray, np.ndarray, csr_array]) -> None:
    X, D, codes = problem
    slow = [slow_objective(x, D, a) for x, a in zip(X, codes.toarray(), strict=True)]
    np.testing.assert_allclose(judge.objective(X, D, codes, LAM), slow, rtol=1e-12)


def test_gap_bounds_the_suboptimality(problem: tuple[np.ndarray, np.ndarray, csr_array]) -> None:
    X, D, codes = problem
    best = np.array([slow_objective(x, D, best_codes(x, D)) for x in X])
    excess = judge.objective(X, D, codes, LAM) - best
    assert np.all(judge.duality_gap(X, D, codes, LAM) >= excess - 1e-8)


def test_gap_closes_at_the_optimum(problem: tuple[np.ndarray, np.ndarray, csr_array]) -> None:
    X, D, _ = problem
    best = csr_array(np.array([best_codes(x, D) for x in X]))
    assert abs(judge.relative_gap(X, D, best, LAM)) < 1e-4


def test_gap_of_zero_signals_and_zero_atoms() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    D = np.array([[0.0, 0.0], [2.0, 0.0]])
    codes = csr_array(np.array([[0.0, 0.0], [0.0, (1.0 - LAM) / 2.0]]))  # soft threshold of the one atom
    np.testing.assert_allclose(judge.duality_gap(X, D, codes, LAM), 0.0, atol=1e-15)


def test_agreement_counts_rows_and_ignores_stored_zeros() -> None:
    first = csr_array(np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, 0]]))
    second = csr_array(
        (np.array([5.0, 6, 0, 7, 8, 9]), np.array([2, 0, 1, 1, 0, 1]), np.array([0, 2, 3, 4, 6])), shape=(4, 3)
    )
    assert judge.agreement(first, second) == 0.75  # only the last row differs
    assert judge.mean_nonzeros(second) == 5 / 4
    with pytest.raises(ValueError, match="different shapes"):
        judge.agreement(first, first[:2])


def test_find_lam() -> None:
    lam = judge.find_lam(lambda lam: 10.0 / lam, target=5.0, low=0.01, high=100.0)
    assert lam == pytest.approx(2.0, rel=0.011)
