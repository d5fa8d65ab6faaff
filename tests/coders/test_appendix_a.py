"""Appendix A: the weighted lasso on D is the plain lasso on the normalised D', with `a' = Gamma a`.

The appendix prints lam / 2 on the penalty of F. With it the two are not the same, and the tests say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import GENTLE, Doubles, patches_for, unit_and_norms

from epitomes.coders import Lasso, LassoLARS
from epitomes.dictionary import Dictionary

LAM = 0.2
IDS = [name for name, _ in GENTLE]
CODERS = [Lasso(lam=LAM, tol=1e-8), LassoLARS(lam=LAM, tol=1e-8)]


def weighted_objective(D: Doubles, A: Doubles, X: Doubles, price: float = LAM) -> Doubles:
    """`1/2|x - a D|^2 + price sum_j |d_j||a_j|`, row by row."""
    return np.asarray(0.5 * ((X - A @ D) ** 2).sum(axis=1) + price * np.abs(A) @ np.linalg.norm(D, axis=1))


def plain_objective(unit: Doubles, A: Doubles, X: Doubles) -> Doubles:
    """`1/2|x - a D'|^2 + lam |a|_1`, row by row."""
    return np.asarray(0.5 * ((X - A @ unit) ** 2).sum(axis=1) + LAM * np.abs(A).sum(axis=1))


@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=IDS)
def test_the_two_objectives_are_equal(name: str, atoms: Doubles, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 20, rng)
    A = rng.standard_normal((20, len(atoms))) / norms
    scaled = norms * A  # a' = Gamma a
    np.testing.assert_allclose(A @ atoms, scaled @ unit, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.abs(A) * norms, np.abs(scaled))
    np.testing.assert_allclose(weighted_objective(atoms, A, X), plain_objective(unit, scaled, X), rtol=1e-10)
    assert (
        np.abs(weighted_objective(atoms, A, X, LAM / 2) - plain_objective(unit, scaled, X))
        > 1e-3 * plain_objective(unit, scaled, X)
    ).all()


@pytest.mark.parametrize("coder", CODERS, ids=repr)
@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=IDS)
def test_both_ways(name: str, atoms: Doubles, coder: Any, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 60, rng)
    weighted = coder.encode(X, Dictionary(atoms)).toarray()
    plain = coder.encode(X, Dictionary(unit)).toarray()
    np.testing.assert_allclose(norms * weighted, plain, atol=1e-5)
    np.testing.assert_allclose(weighted @ atoms, plain @ unit, atol=1e-5)
    np.testing.assert_allclose(
        weighted_objective(atoms, weighted, X), plain_objective(unit, plain, X), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        weighted_objective(atoms, plain / norms, X), plain_objective(unit, norms * weighted, X), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=IDS)
def test_half_of_lam_is_another_problem(name: str, atoms: Doubles, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 60, rng)
    printed = norms * Lasso(lam=LAM / 2, tol=1e-8).encode(X, Dictionary(atoms)).toarray()
    plain = Lasso(lam=LAM, tol=1e-8).encode(X, Dictionary(unit)).toarray()
    coded = plain.any(axis=1)
    assert coded.sum() > 20
    assert (np.abs(printed - plain).max(axis=1)[coded] > 1e-3).all()
