"""The coders against the slow NumPy reference: 20 000 patches over easy and hard dictionaries.

A pursuit is compared patch by patch. A lasso code proves itself by its optimality conditions on every patch; on a part
of them its objective is compared with the reference, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from coder_cases import DICTIONARIES, GENTLE, NAMES, Doubles, patches_for, unit_and_norms

from epitomes.coders import OLS, OMP, Lasso, LassoLARS
from epitomes.dictionary import Dictionary
from epitomes.kernels import reference_coders as reference

N = -(-20_000 // len(DICTIONARIES))  # patches per dictionary
N_LASSO = 150  # of which the reference solves the lasso


def on_unit(codes: Any, norms: Doubles) -> Doubles:
    return np.asarray(codes.toarray().astype(np.float64) * norms)


def lasso_objective(X: Doubles, unit: Doubles, A: Doubles, lam: float) -> Doubles:
    return np.asarray(0.5 * ((X - A @ unit) ** 2).sum(axis=1) + lam * np.abs(A).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coder", "least_squares"),
    [(OMP(residual=0.3, n_nonzero=8), False), (OLS(residual=0.3, n_nonzero=8), True)],
    ids=repr,
)
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_pursuit(name: str, atoms: Doubles, coder: Any, least_squares: bool, rng: np.random.Generator) -> None:
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, N, rng)
    A = on_unit(coder.encode(X, Dictionary(atoms)), norms)
    limit = min(8, len(atoms))
    pursuit = reference.ols if least_squares else reference.omp
    B = np.array([pursuit(x, unit, 0.3, limit) for x in X])
    same = ((A != 0.0) == (B != 0.0)).all(axis=1)
    np.testing.assert_allclose((A @ unit)[same], (B @ unit)[same], rtol=0, atol=1e-6)
    found, needed = (((X - C @ unit) ** 2).sum(axis=1) for C in (A, B))
    wrong = ~same & (np.abs(found - needed) > 1e-6 * needed)
    assert not wrong.any(), f"{wrong.sum()} of {N} patches have another support and another residual"
    if name not in ("duplicates", "constants"):  # there, atoms that differ in the last bits are as good as each other
        assert same.mean() >= 0.999


@pytest.mark.parametrize("coder", [OMP(residual=0.3, n_nonzero=8), OLS(residual=0.3, n_nonzero=8)], ids=repr)
@pytest.mark.parametrize(("name", "atoms"), GENTLE, ids=[name for name, _ in GENTLE])
def test_pursuit_in_float32_chooses_as_in_float64(
    name: str, atoms: Doubles, coder: Any, rng: np.random.Generator
) -> None:
    X = patches_for(atoms, N, rng).astype(np.float32)
    atoms32 = atoms.astype(np.float32)
    single = coder.encode(X, Dictionary(atoms32)).toarray() != 0
    double = coder.encode(X.astype(np.float64), Dictionary(atoms32.astype(np.float64))).toarray() != 0
    assert (single == double).all(axis=1).mean() >= 0.998


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", [Lasso, LassoLARS])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_lasso_is_optimal(
    name: str, atoms: Doubles, kind: Any, positive: bool, dtype: Any, rng: np.random.Generator
) -> None:
    """KKT to 1e-4 lam, on all patches; in float32 the rounding of the patches comes on top."""
    n, lam = N // 2, 0.2
    rounded = atoms.astype(dtype)
    unit, norms = unit_and_norms(rounded.astype(np.float64))
    X = patches_for(atoms, n, rng).astype(dtype)
    A = on_unit(kind(lam=lam, positive=positive).encode(X, Dictionary(rounded)), norms)
    seen = (X - A @ unit) @ unit.T
    outside = (seen if positive else np.abs(seen)) - lam
    wrong = np.where(A != 0.0, np.abs(seen - lam * np.sign(A)), outside).max(axis=1)
    rounding = 1e-9 if dtype == np.float64 else 2e-6
    allowed = 1.01e-4 * lam + rounding * np.linalg.norm(X, axis=1)
    assert (wrong <= allowed).all(), f"worst violation {(wrong / allowed).max():.3g} times what is allowed"
    assert not positive or (A >= 0.0).all()
    gaps = reference.duality_gap(X.astype(np.float64), unit, A, lam, positive)
    assert (gaps <= 2e-4 * 0.5 * (X.astype(np.float64) ** 2).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("kind", [Lasso, LassoLARS])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_lasso_objective(name: str, atoms: Doubles, kind: Any, rng: np.random.Generator) -> None:
    """Within 1e-6 of the reference: at the default tol on gentle dictionaries, at a finer one on hard ones."""
    lam = 0.2
    unit, norms = unit_and_norms(atoms)
    X = patches_for(atoms, N_LASSO, rng)
    gentle = name in [known for known, _ in GENTLE]
    coder = kind(lam=lam) if gentle else kind(lam=lam, tol=1e-6)
    A = on_unit(coder.encode(X, Dictionary(atoms)), norms)
    B = np.array([reference.lasso_code(x, unit, lam) for x in X])
    found, least = lasso_objective(X, unit, A, lam), lasso_objective(X, unit, B, lam)
    assert (found >= least - 1e-9 * least - 1e-12).all(), "the reference is not the minimum"
    excess = (found - least) / np.maximum(least, 1e-12)
    assert (excess <= 1e-6).all(), f"objective {excess.max():.3g} above the reference"


@pytest.mark.timeout(60, method="thread")  # a solver that runs in circles must not stop the other tests for long
@pytest.mark.parametrize("ratio", [100.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [Lasso, LassoLARS])
@pytest.mark.parametrize(("name", "atoms"), DICTIONARIES, ids=NAMES)
def test_lasso_at_small_lam(
    name: str, atoms: Doubles, kind: Any, dtype: Any, ratio: float, rng: np.random.Generator
) -> None:
    """lam far below the patches asks for nearly dependent atoms and huge coefficients.

    Rounding such codes to float32 alone opens a wide gap, so there the objective is compared with that of float64.
    """
    rounded = atoms.astype(dtype)
    unit, norms = unit_and_norms(rounded.astype(np.float64))
    X = (ratio * patches_for(atoms, 200, rng)).astype(dtype)
    Y, wide = X.astype(np.float64), Dictionary(rounded.astype(np.float64))
    empty = 0.5 * (Y**2).sum(axis=1)  # the objective of the empty code
    for positive in (False, True):
        coder = kind(lam=0.2, positive=positive)
        A, B = on_unit(coder.encode(X, Dictionary(rounded)), norms), on_unit(coder.encode(Y, wide), norms)
        gaps = reference.duality_gap(Y, unit, B, 0.2, positive)
        assert (gaps <= 3e-4 * empty + 1e-12).all(), f"gap {gaps.max():.3g}"
        excess = lasso_objective(Y, unit, A, 0.2) - lasso_objective(Y, unit, B, 0.2)
        # At 1000, lam is a ten-thousandth of the largest correlation: float32 hardly tells it from rounding.
        allowed = 2e-2 if dtype == np.float32 and ratio == 1000.0 else 1e-4
        assert (excess <= allowed * empty + 1e-12).all(), f"objective {excess.max():.3g} above that of float64"


@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [Lasso, LassoLARS])
def test_tolerances_below_rounding_end(kind: Any, dtype: Any, rng: np.random.Generator) -> None:
    for _, atoms in DICTIONARIES:
        X, D = patches_for(atoms, 60, rng).astype(dtype), Dictionary(atoms.astype(dtype))
        codes = kind(lam=0.2, tol=1e-14).encode(X, D)
        gaps = Lasso(lam=0.2).gap(X, D, codes)
        assert (gaps <= 1e-4 * (X.astype(np.float64) ** 2).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [OMP, OLS])
def test_exact_sums_of_few_atoms(kind: Any, dtype: Any, rng: np.random.Generator) -> None:
    """What is left after the true atoms is rounding; more atoms may fit it, but must not matter."""
    unit, _ = unit_and_norms(rng.standard_normal((50, 64)))
    truth = np.zeros((100, 50))
    for row in truth:
        row[rng.choice(50, 3, replace=False)] = rng.choice([-1.0, 1.0], 3) * rng.uniform(1.0, 2.0, 3)
    for coder in (kind(n_nonzero=10), kind(), kind(residual=1e-5)):
        found = coder.encode((truth @ unit).astype(dtype), Dictionary(unit.astype(dtype))).toarray()
        right = np.abs(found - truth).max(axis=1) < (1e-8 if dtype == np.float64 else 1e-4)
        assert right.mean() > 0.9  # a greedy choice may begin with a wrong atom
        short = np.count_nonzero(found[right], axis=1) == 3
        assert short.all() or coder.residual == 0.0


def test_all_atoms_zero(rng: np.random.Generator) -> None:
    X = rng.standard_normal((5, 9))
    for coder in (OMP(), OLS(), Lasso(lam=0.1), LassoLARS(lam=0.1)):
        assert coder.encode(X, Dictionary(np.zeros((4, 9)))).nnz == 0


def test_ties_go_to_the_lowest_index(rng: np.random.Generator) -> None:
    some = rng.standard_normal((12, 16))
    dictionary = Dictionary(np.concatenate([some, some, -some]))
    X = rng.standard_normal((200, 16))
    for coder in (OMP(n_nonzero=6), OLS(n_nonzero=6)):
        for dtype in (np.float64, np.float32):
            assert coder.encode(X.astype(dtype), dictionary).indices.max() < 12


@pytest.mark.parametrize("exponent", [-40, 40])
def test_units_do_not_matter(exponent: int, rng: np.random.Generator) -> None:
    """Patches, lam and the square root of the residual in other units: the same codes in those units."""
    scale = 2.0**exponent
    for name, atoms in GENTLE:
        X, D = patches_for(atoms, 50, rng), Dictionary(atoms)
        pairs: list[tuple[Any, Any]] = [
            (OMP(residual=0.3), OMP(residual=0.3 * scale**2)),
            (OLS(residual=0.3), OLS(residual=0.3 * scale**2)),
            (Lasso(lam=0.2), Lasso(lam=0.2 * scale)),
            (LassoLARS(lam=0.2), LassoLARS(lam=0.2 * scale)),
        ]
        for here, there in pairs:
            A, B = here.encode(X, D), there.encode(scale * X, D)
            np.testing.assert_array_equal(A.indices, B.indices, err_msg=f"{here} on {name}")
            np.testing.assert_allclose(A.data, B.data / scale, rtol=1e-9, atol=1e-12, err_msg=f"{here} on {name}")
