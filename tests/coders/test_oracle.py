"""The slow reference itself, against methods that are slower still: every support tried, every step solved anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from coder_cases import DICTIONARIES, NAMES, Doubles, patches_for, unit_and_norms

from epitomes.kernels import reference_coders as reference


def objective(x: Doubles, unit: Doubles, code: Doubles, lam: float) -> float:
    return float(0.5 * np.sum((x - code @ unit) ** 2) + lam * np.abs(code).sum())


def lasso_by_trying(x: Doubles, unit: Doubles, lam: float, positive: bool) -> float:
    """The least objective over all signs: on the right ones the minimiser solves a linear system."""
    least = 0.5 * float(x @ x)
    for signs in product([0.0, 1.0] if positive else [0.0, 1.0, -1.0], repeat=len(unit)):
        s = np.array(signs)
        S = s != 0.0
        code = np.zeros(len(unit))
        code[S] = np.linalg.lstsq(unit[S] @ unit[S].T, unit[S] @ x - lam * s[S], rcond=None)[0]
        if (code * s >= 0.0).all():
            least = min(least, objective(x, unit, code, lam))
    return least


@pytest.mark.parametrize("positive", [False, True])
def test_lasso_against_all_supports(positive: bool, rng: np.random.Generator) -> None:
    for _ in range(8):
        unit, _ = unit_and_norms(rng.standard_normal((5, 3)))
        x = rng.standard_normal(3)
        code = reference.lasso_code(x, unit, 0.2, positive)
        assert objective(x, unit, code, 0.2) == pytest.approx(lasso_by_trying(x, unit, 0.2, positive), abs=1e-12)
        assert not positive or (code >= 0.0).all()


def steepest(unit: Doubles, rest: Doubles, _: list[int], __: Doubles) -> int:
    return int(np.argmax(np.abs(unit @ rest)))


def smallest_rest(unit: Doubles, _: Doubles, chosen: list[int], x: Doubles) -> int:
    sizes = [np.linalg.norm(x - project(x, unit[[*chosen, j]])) for j in range(len(unit))]
    return int(np.argmin(sizes))


def project(x: Doubles, atoms: Doubles) -> Doubles:
    return np.asarray(np.linalg.lstsq(atoms.T, x, rcond=None)[0] @ atoms)


@pytest.mark.parametrize(("pursuit", "rule"), [(reference.omp, steepest), (reference.ols, smallest_rest)])
def test_pursuit_against_its_definition(
    pursuit: Callable[..., Doubles], rule: Callable[..., int], rng: np.random.Generator
) -> None:
    unit, _ = unit_and_norms(rng.standard_normal((20, 10)))
    for x in rng.standard_normal((20, 10)):
        chosen: list[int] = []
        rest = x
        while rest @ rest > 0.5 and len(chosen) < 6:
            chosen.append(rule(unit, rest, chosen, x))
            rest = x - project(x, unit[chosen])
        code = pursuit(x, unit, 0.5, 6)
        assert np.flatnonzero(code).tolist() == sorted(chosen)
        np.testing.assert_allclose(code @ unit, x - rest, atol=1e-12)


def test_the_pursuits_are_not_the_same(rng: np.random.Generator) -> None:
    unit, _ = unit_and_norms(rng.standard_normal((60, 16)))
    X = rng.standard_normal((100, 16))
    omp = np.array([reference.omp(x, unit, 0.0, 5) for x in X])
    ols = np.array([reference.ols(x, unit, 0.0, 5) for x in X])
    assert ((omp != 0) != (ols != 0)).any(axis=1).mean() > 0.2


def test_ties_go_to_the_lowest_index(rng: np.random.Generator) -> None:
    some, _ = unit_and_norms(rng.standard_normal((6, 9)))
    unit = np.concatenate([some, -some, some])
    for x in rng.standard_normal((30, 9)):
        for code in (reference.omp(x, unit, 0.0, 4), reference.ols(x, unit, 0.0, 4)):
            assert np.flatnonzero(code).max() < 6


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_lasso_and_lars_agree_and_have_no_gap(
    name: str, atoms: Doubles, positive: bool, rng: np.random.Generator
) -> None:
    unit, norms = unit_and_norms(atoms)
    for x in patches_for(atoms, 12, rng):
        for code in (reference.lasso_code(x, unit, 0.2, positive), reference.lars(x, unit, 0.2, positive)[1][-1]):
            assert reference.duality_gap(x, unit, code, 0.2, positive) <= 1e-6 * (x @ x)
            assert not positive or (code >= 0.0).all()
            assert not code[norms == 0.0].any()


@pytest.mark.slow
@pytest.mark.parametrize("positive", [False, True])
def test_whole_numbers_meet_in_ties(positive: bool, rng: np.random.Generator) -> None:
    X = rng.integers(-2, 3, (60, 16)).astype(np.float64)
    for atoms in (np.eye(16), np.tril(np.ones((16, 16))), rng.choice([-1.0, 0.0, 1.0], (50, 16))):
        unit, _ = unit_and_norms(atoms)
        for x in X:
            for code in (reference.lasso_code(x, unit, 0.5, positive), reference.lars(x, unit, 0.5, positive)[1][-1]):
                assert reference.duality_gap(x, unit, code, 0.5, positive) <= 1e-9 * (x @ x)


def test_blocks_pack_what_single_patches_give(rng: np.random.Generator) -> None:
    atoms = DICTIONARIES[1][1]
    unit, _ = unit_and_norms(atoms)
    X = patches_for(atoms, 9, rng)
    mask = rng.random(X.shape) < 0.7
    blocks = {
        "omp": reference.pursue(unit, X, 0.1, 6, False, None),
        "ols": reference.pursue(unit, X, 0.1, 6, True, None),
        "masked": reference.pursue(unit, X, 0.1, 6, False, mask),
        "lasso": reference.lasso(unit, X, 0.2, 1e-4, False, None, None),
        "masked lasso": reference.lasso(unit, X, 0.2, 1e-4, False, mask, None),
        "lars": reference.lasso_lars(unit, X, 0.2, False),
    }
    rows = {
        "omp": [reference.omp(x, unit, 0.1, 6) for x in X],
        "ols": [reference.ols(x, unit, 0.1, 6) for x in X],
        "masked": [reference.masked_pursuit(x, unit, 0.1, 6, k) for x, k in zip(X, mask, strict=True)],
        "lasso": [reference.lasso_code(x, unit, 0.2) for x in X],
        "masked lasso": [reference.lasso_code(x[k], unit[:, k], 0.2) for x, k in zip(X, mask, strict=True)],
        "lars": [reference.lars(x, unit, 0.2)[1][-1] for x in X],
    }
    for name, (counts, indices, values) in blocks.items():
        A = np.array(rows[name])
        assert counts.dtype == indices.dtype == np.int32 and values.dtype == X.dtype
        np.testing.assert_array_equal(counts, np.count_nonzero(A, axis=1))
        np.testing.assert_array_equal(indices, np.nonzero(A)[1])
        np.testing.assert_array_equal(values, A[np.nonzero(A)])
    assert (
        reference.lasso(unit.astype(np.float32), X.astype(np.float32), 0.2, 1e-4, False, None, None)[2].dtype
        == np.float32
    )
