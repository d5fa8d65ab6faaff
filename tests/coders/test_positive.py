"""Positive codes: the lasso over `a >= 0`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import DICTIONARIES, NAMES, Doubles, patches_for, unit_and_norms

from epitomes.coders import Lasso, LassoLARS
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

LAM = 0.2
KINDS: list[Any] = [Lasso, LassoLARS]


def objective(X: Doubles, unit: Doubles, A: Doubles) -> Doubles:
    return np.asarray(0.5 * ((X - A @ unit) ** 2).sum(axis=1) + LAM * np.abs(A).sum(axis=1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_against_the_reference(name: str, atoms: Doubles, kind: Any, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 80, rng)
    A = kind(lam=LAM, tol=1e-6, positive=True).encode(X, Dictionary(atoms)).toarray() * norms
    B = np.array([reference.lasso_code(x, unit, LAM, True) for x in X])
    assert (A >= 0.0).all()
    found, least = objective(X, unit, A), objective(X, unit, B)
    assert (found <= least * (1 + 1e-6) + 1e-12).all()
    assert (found >= least * (1 - 1e-9) - 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_atoms_of_both_signs_give_the_plain_lasso(kind: Any, rng: np.random.Generator) -> None:
    """A code is its positive part minus its negative part: on [D; -D] positivity is no restriction."""
    atoms = rng.standard_normal((30, 16))
    X = patches_for(atoms, 100, rng)
    split = kind(lam=LAM, tol=1e-8, positive=True).encode(X, Dictionary(np.concatenate([atoms, -atoms]))).toarray()
    plain = kind(lam=LAM, tol=1e-8).encode(X, Dictionary(atoms)).toarray()
    np.testing.assert_allclose(split[:, :30] - split[:, 30:], plain, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_code_that_is_positive_stays(kind: Any, rng: np.random.Generator) -> None:
    atoms = np.abs(rng.standard_normal((20, 36)))
    X = np.abs(rng.standard_normal((100, 20))) @ atoms / 20
    X += 0.01 * rng.standard_normal(X.shape)
    plain = kind(lam=LAM, tol=1e-8).encode(X, Dictionary(atoms)).toarray()
    rows = (plain >= 0.0).all(axis=1)
    assert rows.any()
    positive = kind(lam=LAM, tol=1e-8, positive=True).encode(X, Dictionary(atoms)).toarray()
    np.testing.assert_allclose(positive[rows], plain[rows], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_against_all_atoms_has_an_empty_code(kind: Any, rng: np.random.Generator) -> None:
    atoms = np.abs(rng.standard_normal((20, 9)))
    X = -10.0 * np.abs(rng.standard_normal((10, 9)))
    assert kind(lam=LAM, positive=True).encode(X, Dictionary(atoms)).nnz == 0
    assert kind(lam=LAM).encode(X, Dictionary(atoms)).nnz > 0
