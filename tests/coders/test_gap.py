"""The duality gap as a certificate: it is never below the true distance to the minimum, and vanishes at it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import DICTIONARIES, NAMES, Doubles, patches_for, unit_and_norms
from scipy.sparse import csr_array

from epitomes.coders import Lasso
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

LAM = 0.2
POSITIVE = pytest.mark.parametrize("positive", [False, True])


def excess(X: Doubles, unit: Doubles, A: Doubles, positive: bool) -> Doubles:
    """How far the objective lies above that of the reference."""
    B = np.array([reference.lasso_code(x, unit, LAM, positive) for x in X])
    found, least = (0.5 * ((X - C @ unit) ** 2).sum(axis=1) + LAM * np.abs(C).sum(axis=1) for C in (A, B))
    return np.asarray(found - least)


@POSITIVE
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_gap_bounds_the_excess(name: str, atoms: Doubles, positive: bool, rng: np.random.Generator) -> None:
    """For codes near and far from the optimum, and at it."""
    unit, norms = unit_and_norms(atoms)
    X, D = patches_for(atoms, 40, rng), Dictionary(atoms)
    coder = Lasso(lam=LAM, positive=positive)
    best = coder.encode(X, D)
    for factor in (1.0, 0.999, 0.9, 0.0, 1.5):
        codes = csr_array(best * factor)
        gaps = coder.gap(X, D, codes)
        A = codes.toarray() * norms
        tiny = 1e-12 * (X**2).sum(axis=1) + 1e-15
        assert gaps.shape == (40,) and gaps.dtype == np.float64
        assert (gaps >= excess(X, unit, A, positive) - tiny).all()
        assert (gaps <= reference.duality_gap(X, unit, A, LAM, positive) * (1 + 1e-9) + tiny).all()
        if factor == 1.0:
            assert (gaps <= 2e-4 * 0.5 * (X**2).sum(axis=1) + tiny).all()


@POSITIVE
def test_no_gap_at_the_optimum(positive: bool, rng: np.random.Generator) -> None:
    for _, atoms in DICTIONARIES:
        unit, norms = unit_and_norms(atoms)
        X = patches_for(atoms, 10, rng)
        exact = np.array([reference.on_atoms(reference.lasso_code(x, unit, LAM, positive), norms) for x in X])
        gaps = Lasso(lam=LAM, positive=positive).gap(X, Dictionary(atoms), csr_array(exact))
        assert (np.abs(gaps) <= 1e-10 * (X**2).sum(axis=1) + 1e-15).all()


def test_finer_tolerance_has_a_smaller_gap(rng: np.random.Generator) -> None:
    for _, atoms in DICTIONARIES:
        X, D = patches_for(atoms, 100, rng), Dictionary(atoms)
        for tol in (1e-2, 1e-4, 1e-8):
            coder = Lasso(lam=LAM, tol=tol)
            gaps = coder.gap(X, D, coder.encode(X, D))
            allowed = max(tol, 1e-7)  # atoms 1e-7 apart count as one
            assert (gaps <= allowed * (X**2).sum(axis=1) + 1e-12).all()


def test_float32_codes_are_judged_in_float64(rng: np.random.Generator) -> None:
    atoms = DICTIONARIES[0][1].astype(np.float32)
    X = patches_for(atoms.astype(np.float64), 200, rng).astype(np.float32)
    coder, D = Lasso(lam=LAM), Dictionary(atoms)
    codes = coder.encode(X, D)
    gaps = coder.gap(X, D, codes)
    wide = coder.gap(X.astype(np.float64), Dictionary(atoms.astype(np.float64)), codes.astype(np.float64))
    assert gaps.dtype == np.float64
    np.testing.assert_allclose(gaps, wide, rtol=1e-9, atol=1e-12)
    assert (gaps <= 3e-4 * 0.5 * (X.astype(np.float64) ** 2).sum(axis=1) + 1e-7).all()


def test_bad_codes(rng: np.random.Generator) -> None:
    atoms = rng.standard_normal((9, 5))
    X, D = rng.standard_normal((4, 5)), Dictionary(atoms)
    bad: list[Any] = [csr_array((4, 8)), csr_array((3, 9)), np.zeros((4, 9))]
    for codes in bad:
        with pytest.raises((ValueError, TypeError)):
            Lasso(lam=LAM).gap(X, D, codes)
    with pytest.raises(ValueError):
        Lasso(lam=LAM).gap(X[:, :4], D, csr_array((4, 9)))
