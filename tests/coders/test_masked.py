"""Missing pixels: coding with a mask is coding what is left of the patch with what is left of the atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import DICTIONARIES, GENTLE, NAMES, Doubles, patches_for, unit_and_norms

from epitomes.coders import OLS, OMP, Lasso
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

LAM = 0.2
IDS = [name for name, _ in GENTLE]
TIES = ("duplicates", "constants")
MASKED = [OMP(residual=0.3, n_nonzero=6), Lasso(lam=LAM, tol=1e-6)]


@pytest.mark.parametrize("share", [0.6, 0.9])
@pytest.mark.parametrize("pursuit", [OMP, OLS])
@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=IDS)
def test_pursuits_equal_those_of_the_shortened(
    name: str, atoms: Doubles, pursuit: Any, share: float, rng: np.random.Generator
) -> None:
    """Where few pixels are unknown, products come out of the Gram matrix of whole atoms: the codes are the same."""
    X = patches_for(atoms, 100, rng)
    m = X.shape[1]
    known = np.less(rng.random(m), share)
    masked = pursuit(residual=0.3, n_nonzero=6).encode(X, Dictionary(atoms), mask=np.tile(known, (100, 1))).toarray()
    shorter = pursuit(residual=0.3 * np.count_nonzero(known) / m, n_nonzero=6)
    short = shorter.encode(X[:, known], Dictionary(atoms[:, known])).toarray()
    np.testing.assert_array_equal(masked != 0, short != 0)
    np.testing.assert_allclose(masked @ atoms[:, known], short @ atoms[:, known], atol=1e-8)


@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_omp_equals_the_reference(name: str, atoms: Doubles, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 100, rng)
    mask = rng.random(X.shape) < rng.uniform(0.3, 1.0, (100, 1))
    A = OMP(residual=0.3, n_nonzero=6).encode(X, Dictionary(atoms), mask=mask).toarray() * norms
    for x, a, known in zip(X, A, mask, strict=True):
        b = reference.masked_pursuit(x, unit, 0.3, min(6, len(unit)), known)
        if name not in TIES:  # there, atoms that differ in the last bits are as good as each other
            assert ((a != 0) == (b != 0)).all()
        np.testing.assert_allclose(a @ unit[:, known], b @ unit[:, known], atol=1e-6)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_lasso_keeps_the_price_of_the_full_atoms(
    name: str, atoms: Doubles, positive: bool, rng: np.random.Generator
) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, 60, rng)
    mask = rng.random(X.shape) < rng.uniform(0.3, 1.0, (60, 1))
    coder = Lasso(lam=LAM, tol=1e-6, positive=positive)
    A = coder.encode(X, Dictionary(atoms), mask=mask).toarray() * norms
    for x, a, known in zip(X, A, mask, strict=True):
        y, short = x[known], unit[:, known]  # norms below one, penalised as norm one
        b = reference.lasso_code(y, short, LAM, positive)
        found, least = (0.5 * np.sum((y - c @ short) ** 2) + LAM * np.abs(c).sum() for c in (a, b))
        assert least - 1e-10 <= found <= least + 1e-6 * least + 1e-12
        assert not positive or (a >= 0.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coder", MASKED, ids=repr)
@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=IDS)
def test_all_known_equals_no_mask(name: str, atoms: Doubles, coder: Any, dtype: Any, rng: np.random.Generator) -> None:
    X, D = patches_for(atoms, 100, rng).astype(dtype), Dictionary(atoms.astype(dtype))
    masked, plain = coder.encode(X, D, mask=np.ones(X.shape, dtype=bool)), coder.encode(X, D)
    fine = dtype == np.float64
    assert ((masked.toarray() != 0) == (plain.toarray() != 0)).all(axis=1).mean() >= (1.0 if fine else 0.95)
    moved = np.linalg.norm((masked - plain) @ D.atoms, axis=1) / np.maximum(np.linalg.norm(X, axis=1), 1e-12)
    assert np.quantile(moved, 1.0 if fine else 0.95) <= (1e-6 if fine else 1e-3)


@pytest.mark.parametrize("coder", MASKED, ids=repr)
def test_nothing_known_gives_an_empty_code(coder: Any, rng: np.random.Generator) -> None:
    for _, atoms in DICTIONARIES:
        X = patches_for(atoms, 12, rng)
        mask = rng.random(X.shape) < 0.5
        mask[[2, 5, 11]] = False
        counts = np.diff(coder.encode(X, Dictionary(atoms), mask=mask).indptr)
        assert not counts[[2, 5, 11]].any()
        assert coder.encode(X, Dictionary(atoms), mask=np.zeros_like(mask)).nnz == 0


@pytest.mark.parametrize("coder", MASKED, ids=repr)
def test_hidden_atoms_are_not_used(coder: Any, rng: np.random.Generator) -> None:
    atoms = rng.standard_normal((40, 30))
    atoms[5:9, :20] = 0.0  # they live on the last ten pixels
    X = patches_for(atoms, 50, rng)
    mask = np.ones(X.shape, dtype=bool)
    mask[:, 20:] = False
    codes = coder.encode(X, Dictionary(atoms), mask=mask).toarray()
    assert codes.any()
    assert not codes[:, 5:9].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("coder", MASKED, ids=repr)
def test_hidden_values_do_not_matter(coder: Any, dtype: Any, rng: np.random.Generator) -> None:
    atoms = DICTIONARIES[0][1]
    X, D = patches_for(atoms, 60, rng).astype(dtype), Dictionary(atoms.astype(dtype))
    mask = rng.random(X.shape) < 0.6
    other = np.where(mask, X, 1e3 * rng.standard_normal(X.shape)).astype(dtype)
    one, two = coder.encode(X, D, mask=mask), coder.encode(other, D, mask=mask)
    np.testing.assert_array_equal(one.toarray(), two.toarray())


def test_fewer_known_pixels_than_atoms_asked(rng: np.random.Generator) -> None:
    atoms = rng.standard_normal((40, 30))
    X = rng.standard_normal((20, 30))
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, [3, 11, 20]] = True
    codes = OMP(n_nonzero=10).encode(X, Dictionary(atoms), mask=mask)
    assert (np.diff(codes.indptr) <= 3).all()
    np.testing.assert_allclose((codes @ atoms)[mask], X[mask], atol=1e-6)
