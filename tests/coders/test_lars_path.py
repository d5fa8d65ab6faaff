"""The path of LARS: optimal at each knot, a line between two knots, and the lasso at its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import DICTIONARIES, NAMES, Doubles, patches_for, unit_and_norms

from epitomes.coders import Lasso, LassoLARS
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

LAM = 0.2
POSITIVE = pytest.mark.parametrize("positive", [False, True])
EVERY = pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)


def violation(x: Doubles, unit: Doubles, a: Doubles, lam: float, positive: bool) -> float:
    """By how much the optimality conditions fail; a coefficient that is only just zero may have either role."""
    seen = unit @ (x - a @ unit)
    outside = (seen if positive else np.abs(seen)) - lam
    alive = np.abs(a) > 1e-9 * max(1.0, float(np.abs(a).max()))
    return float(np.where(alive, np.abs(seen - lam * np.sign(a)), outside).max())


@POSITIVE
@EVERY
def test_knots_are_optimal_and_lines_join_them(
    name: str, atoms: Doubles, positive: bool, rng: np.random.Generator
) -> None:
    unit, norms = unit_and_norms(atoms)
    D = Dictionary(atoms)
    for x in patches_for(atoms, 12, rng):
        lams, codes = LassoLARS(lam=LAM, positive=positive).path(x, D)
        A = codes.toarray() * norms
        largest = float((unit @ x if positive else np.abs(unit @ x)).max())
        assert lams.dtype == np.float64
        assert codes.shape == (len(lams), len(atoms))
        assert (np.diff(lams) <= 0.0).all()
        assert lams[-1] == pytest.approx(LAM, rel=1e-12)
        assert lams[0] == pytest.approx(max(largest, LAM), rel=1e-9)
        assert not A[0].any()
        allowed = 2e-6 * float(np.linalg.norm(x)) + 1e-9
        for lam, a in zip(lams, A, strict=True):
            assert violation(x, unit, a, lam, positive) <= allowed
        for k in range(len(lams) - 1):
            for share in (0.25, 0.7):
                lam = (1 - share) * lams[k] + share * lams[k + 1]
                between = (1 - share) * A[k] + share * A[k + 1]
                assert violation(x, unit, between, lam, positive) <= allowed


@POSITIVE
@EVERY
def test_the_end_is_the_lasso(name: str, atoms: Doubles, positive: bool, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    D = Dictionary(atoms)
    X = patches_for(atoms, 40, rng)
    coder = LassoLARS(lam=LAM, positive=positive)
    ends = np.array([coder.path(x, D)[1].toarray()[-1] for x in X])
    coded = coder.encode(X, D).toarray()
    lasso = Lasso(lam=LAM, tol=1e-7, positive=positive).encode(X, D).toarray()
    scale = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    np.testing.assert_allclose(ends @ atoms / scale, coded @ atoms / scale, atol=1e-5)
    np.testing.assert_allclose(ends @ atoms / scale, lasso @ atoms / scale, atol=1e-3)
    gaps = reference.duality_gap(X, unit, ends * norms, LAM, positive)
    assert (gaps <= 1e-5 * (X**2).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("name", ["epitome", "random", "few", "norms"])
def test_knots_equal_those_of_the_reference(name: str, rng: np.random.Generator) -> None:
    atoms = dict(DICTIONARIES)[name]
    unit, norms = unit_and_norms(atoms)
    for x in patches_for(atoms, 20, rng):
        lams, codes = LassoLARS(lam=LAM).path(x, Dictionary(atoms))
        knots, expected = reference.lars(x, unit, LAM)
        np.testing.assert_allclose(lams, knots, rtol=1e-8)
        np.testing.assert_allclose(codes.toarray() * norms, expected, atol=1e-7)


def test_nothing_to_follow(rng: np.random.Generator) -> None:
    D = Dictionary(rng.standard_normal((9, 5)))
    for x in (np.zeros(5), 1e-3 * rng.standard_normal(5)):
        lams, codes = LassoLARS(lam=LAM).path(x, D)
        assert lams.tolist() == [LAM]
        assert codes.nnz == 0


def test_ties_and_grids() -> None:
    """Whole numbers meet at the same knot again and again; the path must still end at the optimum."""
    rng = np.random.default_rng(3)
    dictionaries: list[Any] = [
        np.eye(16),
        np.tril(np.ones((16, 16))),
        np.concatenate([np.eye(16), np.ones((1, 16)), np.kron(np.eye(4), np.ones((1, 4)))]),
        rng.choice([-1.0, 0.0, 1.0], (50, 16)),
    ]
    X = rng.integers(-2, 3, (60, 16)).astype(np.float64)
    for atoms in dictionaries:
        unit, norms = unit_and_norms(atoms)
        for positive in (False, True):
            for coder in (LassoLARS(lam=0.5, positive=positive), Lasso(lam=0.5, positive=positive)):
                A = coder.encode(X, Dictionary(atoms)).toarray() * norms
                gaps = reference.duality_gap(X, unit, A, 0.5, positive)
                assert (gaps <= 2e-4 * 0.5 * (X**2).sum(axis=1) + 1e-12).all(), f"{coder}: gap {gaps.max():.3g}"


@pytest.mark.parametrize(
    "patch",
    [np.zeros((1, 5)), np.zeros(4), np.array([0.0, 1.0, np.nan, 0.0, 0.0]), np.zeros(0), np.zeros(5, dtype=bool)],
)
def test_bad_patches(patch: Any, rng: np.random.Generator) -> None:
    with pytest.raises((ValueError, TypeError)):
        LassoLARS(lam=LAM).path(patch, Dictionary(rng.standard_normal((9, 5))))
