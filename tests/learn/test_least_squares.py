"""Least squares and block coordinates: their formulas solved another way, never uphill, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import phi_cases
import pytest
from learn_cases import coded
from scipy.optimize import minimize

from epitomes import Epitome
from epitomes.coders import OMP
from epitomes.learn import BlockCoordinate, LeastSquares, Moments, alternate, cost, gradient
from epitomes.phi import Phi, as_matrix, flat, windows

LAM = 0.7


def a_start(phi: Phi, rng: np.random.Generator) -> Epitome:
    return Epitome(rng.standard_normal(phi.epitome_shape), phi)


def price(epitome: Epitome, moments: Moments, lam: float) -> float:
    return cost(epitome.phi(epitome.pixels), moments, lam)


def test_mod_has_a_formula(rng: np.random.Generator) -> None:
    phi = flat(6, (3, 3))
    X, A, moments = coded(phi, 80, rng, share=0.4)
    found = LeastSquares(tol=1e-12).step(a_start(phi, rng), moments, 0.0)
    expected = np.linalg.lstsq(A.toarray(), X, rcond=None)[0]
    np.testing.assert_allclose(found.epitome.dictionary.atoms, expected, atol=1e-8)
    assert found.cost == pytest.approx(0.5 * np.sum((X - A @ expected) ** 2))


@pytest.mark.parametrize("name", ["oblong", "periodic rows", "union of union"])
def test_the_normal_equations_of_a_signature(name: str, rng: np.random.Generator) -> None:
    """`sum_i W_i'W_i e = sum_i W_i'x_i` with `W_i = sum_k a_ik R_k` (Aharon and Elad), solved as it is printed."""
    phi = phi_cases.NAMED[name]
    X, A, moments = coded(phi, 4 * phi.n_atoms, rng, share=3 / phi.n_atoms)
    R = np.asarray(as_matrix(phi).todense()).reshape(phi.n_atoms, phi.patch_size, -1)
    W = np.einsum("nk,kmj->nmj", A.toarray(), R).reshape(-1, R.shape[2])
    best = 0.5 * np.sum((X.ravel() - W @ np.linalg.lstsq(W, X.ravel(), rcond=None)[0]) ** 2)
    found = LeastSquares(n_steps=500, tol=1e-13).step(a_start(phi, rng), moments, 0.0)
    assert price(found.epitome, moments, 0.0) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("update", [LeastSquares(), LeastSquares(n_steps=2), BlockCoordinate()], ids=repr)
@pytest.mark.parametrize("lam", [0.0, LAM, 20.0])
def test_never_uphill_and_finally_at_the_optimum(update: Any, lam: float, rng: np.random.Generator) -> None:
    phi = flat(7, (3, 3))
    moments = coded(phi, 60, rng, share=0.4)[2]
    epitome = a_start(phi, rng)
    last = price(epitome, moments, lam)
    start = epitome.pixels.ravel()
    for _ in range(200):
        epitome, value = update.step(epitome, moments, lam)
        assert value <= last * (1 + 1e-12) and value == pytest.approx(price(epitome, moments, lam), rel=1e-9)
        last = value

    def problem(E: Any) -> tuple[float, Any]:
        D = phi(E.reshape(phi.epitome_shape))
        return cost(D, moments, lam), phi.adjoint(gradient(D, moments, lam)).ravel()

    best = float(minimize(problem, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15}).fun)
    assert last <= best * (1 + 1e-4) + 1e-9


def test_it_learns(rng: np.random.Generator) -> None:
    X = rng.standard_normal((200, 16))
    steps = alternate(
        X, a_start(windows((7, 7), (4, 4), border="periodic"), rng), coder=OMP(n_nonzero=3), update=LeastSquares()
    )
    values = [next(steps).progress.objective for _ in range(6)]
    assert values[-1] < 0.95 * values[0]


def test_atoms_that_share_pixels_have_no_block_coordinates(rng: np.random.Generator) -> None:
    phi = windows((6, 6), (3, 3))
    with pytest.raises(ValueError, match=r"share no pixels.*flat"):
        BlockCoordinate().step(a_start(phi, rng), coded(phi, 20, rng)[2], LAM)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [(LeastSquares, {"n_steps": 0}), (LeastSquares, {"tol": -1.0}), (BlockCoordinate, {"n_sweeps": 0})],
)
def test_bad_settings(make: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make(**wrong)
