"""Updates of the epitome: one optimum, reached by all, never uphill; faint, zero and unused atoms do no harm."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import phi_cases
import pytest
from learn_cases import Doubles, coded, same_bits
from scipy.optimize import minimize
from scipy.sparse import csr_array

from epitomes import Epitome
from epitomes.learn import Fista, Moments, PreconditionedFista, ProjectedGradient, Update, cost, gradient
from epitomes.phi import GatherPhi, Phi, flat, project, windows

LAM = 0.7
UPDATES: dict[str, Update] = {
    "projected gradient": ProjectedGradient(n_steps=4000, tol=0.0),
    "fista": Fista(n_steps=1500, tol=0.0),
    "preconditioned": PreconditionedFista(n_steps=400, tol=0.0),
}
KINDS = {"projected gradient": ProjectedGradient, "fista": Fista, "preconditioned": PreconditionedFista}
each_update = pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES.keys())
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def price(epitome: Epitome, moments: Moments, lam: float = LAM) -> float:
    return cost(epitome.phi(epitome.pixels.astype(np.float64)), moments, lam)


def a_start(phi: Phi, rng: np.random.Generator) -> Epitome:
    return Epitome(rng.standard_normal(phi.epitome_shape), phi)


def by_another_solver(phi: Phi, moments: Moments, start: Doubles) -> float:
    """The least cost that a quasi-Newton method of SciPy finds: it knows no projection, no metric and no momentum."""

    def value(E: Doubles) -> tuple[float, Doubles]:
        D = phi(E.reshape(phi.epitome_shape))
        return cost(D, moments, LAM), phi.adjoint(gradient(D, moments, LAM)).ravel()

    found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    return float(found.fun)


@pytest.mark.parametrize("name", ["oblong", "signal", "periodic rows", "sub-pixel signal", "union of union", "flipped"])
def test_all_reach_the_optimum(name: str, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    moments = coded(phi, 3 * phi.n_atoms, rng, share=3 / phi.n_atoms)[2]
    start = a_start(phi, rng)
    best = by_another_solver(phi, moments, start.pixels)
    assert best < 0.5 * price(start, moments)
    for update in UPDATES.values():
        assert price(update.step(start, moments, LAM).epitome, moments) == pytest.approx(best, rel=1e-6)


@each_kind
@pytest.mark.parametrize("name", phi_cases.NAMED)
def test_the_cost_never_rises(name: str, kind: Any, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    moments = coded(phi, 50, rng, share=3 / phi.n_atoms)[2]
    start = a_start(phi, rng)
    costs = [price(start, moments)]
    costs += [price(kind(n_steps=n, tol=0.0).step(start, moments, LAM).epitome, moments) for n in (1, 2, 3, 6, 12)]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(costs)), costs
    assert costs[-1] < costs[0]


@pytest.mark.parametrize("name", phi_cases.NAMED)
def test_a_projected_step_on_the_atoms_is_a_step_on_the_pixels(name: str, rng: np.random.Generator) -> None:
    """`project(phi(E) - rho G) = phi(E - rho phi*(G))`: why the dictionary needs no projection."""
    phi = phi_cases.NAMED[name]
    E, G = rng.standard_normal(phi.epitome_shape), rng.standard_normal((phi.n_atoms, phi.patch_size))
    for rho in (1e-3, 1.0, 40.0):
        on_atoms, on_pixels = project(phi, phi(E) - rho * G), phi(E - rho * phi.average(G))
        np.testing.assert_allclose(on_atoms, on_pixels, rtol=0, atol=1e-9 * np.abs(on_pixels).max())


@pytest.mark.parametrize("name", [name for name, phi in phi_cases.NAMED.items() if isinstance(phi, GatherPhi)])
def test_the_first_step_is_the_papers(name: str, rng: np.random.Generator) -> None:
    """Both of the paper's algorithms begin with `D <- project(D - rho grad f)` for some rho."""
    phi = phi_cases.NAMED[name]
    moments = coded(phi, 50, rng, share=3 / phi.n_atoms)[2]
    start = a_start(phi, rng)
    D = phi(start.pixels)
    for update in (ProjectedGradient(n_steps=1), Fista(n_steps=1)):
        moved = phi(update.step(start, moments, LAM).epitome.pixels)
        direction = D - project(phi, D - gradient(D, moments, LAM))
        rho = np.vdot(D - moved, direction) / np.vdot(direction, direction)
        assert rho > 0
        np.testing.assert_allclose(moved, D - rho * direction, rtol=0, atol=1e-9 * np.abs(D).max())


def test_acceleration_pays(rng: np.random.Generator) -> None:
    """After as many steps, FISTA is nearer to the optimum than the projected gradient, and the metric nearer still."""
    phi = windows((5, 12, 12), (6, 6))
    moments = coded(phi, 500, rng, share=3 / phi.n_atoms)[2]
    start = a_start(phi, rng)
    best = price(PreconditionedFista(n_steps=1000, tol=0.0).step(start, moments, LAM).epitome, moments)
    plain, fast, faster = (
        price(kind(n_steps=30, tol=0.0).step(start, moments, LAM).epitome, moments) - best for kind in KINDS.values()
    )
    assert faster < fast < plain


class TestOneAtom:
    """With a single atom the optimum has a formula: `A'X` shortened by `lam mass`, over `A'A`."""

    def moments(self, rng: np.random.Generator) -> Moments:
        X, a = rng.standard_normal((40, 6)) + 1.0, rng.standard_normal((40, 1)) + 1.0
        return Moments.of(X, csr_array(a))

    @each_update
    def test_formula(self, update: Update, rng: np.random.Generator) -> None:
        moments, phi = self.moments(rng), flat(1, (2, 3))
        cross = moments.cross[0]
        length = float(np.linalg.norm(cross))
        expected = (1 - LAM * moments.mass[0] / length) * cross / moments.gram[0, 0]
        found = update.step(a_start(phi, rng), moments, LAM).epitome
        np.testing.assert_allclose(found.pixels.ravel(), expected, rtol=0, atol=1e-5)
        assert price(found, moments) == pytest.approx(cost(expected[None], moments, LAM), rel=1e-9)

    @each_update
    def test_too_dear(self, update: Update, rng: np.random.Generator) -> None:
        """Beyond `|A'X| / mass` the best atom is zero: all come near it, and nothing breaks on the way."""
        moments, phi = self.moments(rng), flat(1, (2, 3))
        dear = 3 * float(np.linalg.norm(moments.cross[0]) / moments.mass[0])
        found = update.step(a_start(phi, rng), moments, dear).epitome
        assert np.isfinite(found.pixels).all()
        nothing = 0.5 * moments.energy
        assert nothing <= price(found, moments, dear) <= nothing * 1.01


@each_update
def test_pixels_that_no_used_atom_shows_stay(update: Update, rng: np.random.Generator) -> None:
    phi = windows((2, 9, 9), (4, 4))
    X, codes, _ = coded(phi, 60, rng)
    A = codes.toarray()
    half = phi.n_atoms // 2
    A[:, half:] = 0  # the second picture is not used at all
    start = a_start(phi, rng)
    found = update.step(start, Moments.of(X, csr_array(A)), LAM).epitome
    np.testing.assert_array_equal(found.pixels[1], start.pixels[1])
    assert not np.allclose(found.pixels[0], start.pixels[0])


@each_update
def test_no_atom_is_used(update: Update, rng: np.random.Generator) -> None:
    phi = windows((6, 6), (3, 3))
    moments = Moments.of(rng.standard_normal((20, 9)), csr_array((20, phi.n_atoms), dtype=np.float64))
    start = a_start(phi, rng)
    assert same_bits(update.step(start, moments, LAM).epitome, start)


@each_update
def test_zero_atoms(update: Update, rng: np.random.Generator) -> None:
    """A flat corner gives atoms of norm zero. Codes do not use them; other atoms may fill their pixels."""
    phi = windows((9, 9), (3, 3))
    E = rng.standard_normal((9, 9))
    E[:5, :5] = 0.0
    start = Epitome(E, phi)
    zero = np.flatnonzero(start.dictionary.norms == 0)
    assert len(zero) == 9
    X, codes, _ = coded(phi, 200, rng)
    A = codes.toarray()
    A[:, zero] = 0
    moments = Moments.of(X, csr_array(A))
    found = update.step(start, moments, LAM).epitome
    assert np.isfinite(found.pixels).all()
    assert price(found, moments) < price(start, moments)
    np.testing.assert_array_equal(found.pixels[:3, :3], 0.0)  # shown by zero atoms alone
    assert found.pixels[4, 4] != 0.0


@pytest.mark.parametrize("faint", [1e-2, 1e-4, 1e-6])
def test_a_faint_atom_does_not_hold_back_the_others(faint: float, rng: np.random.Generator) -> None:
    """Codes on a faint atom are as large as it is faint, and so is the curvature at its pixels."""
    phi = flat(4, (3, 3))
    sizes = np.array([1.0, 1.0, 1.0, faint])
    D, A = rng.standard_normal((4, 9)), rng.standard_normal((100, 4))
    moments = Moments.of(A @ D, csr_array(A / sizes))
    start = Epitome((rng.standard_normal((4, 9)) * sizes[:, None]).reshape(phi.epitome_shape), phi)
    lam = 1e-3
    reached = price(PreconditionedFista(n_steps=60, tol=0.0).step(start, moments, lam).epitome, moments, lam)
    assert reached < 0.02 * price(start, moments, lam)


@each_kind
def test_float32_stays_float32(kind: Any, rng: np.random.Generator) -> None:
    phi = windows((8, 8), (4, 4))
    moments = coded(phi, 100, rng)[2]
    start = a_start(phi, rng)
    single = dataclasses.replace(start, pixels=start.pixels.astype(np.float32))
    before = single.pixels.copy()
    found = kind(n_steps=20).step(single, moments, LAM).epitome
    assert found.pixels.dtype == np.float32
    np.testing.assert_array_equal(single.pixels, before)
    assert price(found, moments) == pytest.approx(
        price(kind(n_steps=20).step(start, moments, LAM).epitome, moments), rel=1e-5
    )


@each_kind
def test_threads_change_no_bit(kind: Any, rng: np.random.Generator) -> None:
    phi = windows((28, 28), (7, 7))  # products large enough for threads
    assert phi.n_atoms**2 * phi.patch_size > 10_000_000
    moments = coded(phi, 300, rng, share=0.02)[2]
    start = a_start(phi, rng)
    found = [kind(n_steps=4).step(start, moments, LAM, threads=threads).epitome for threads in (1, 2, 3)]
    assert same_bits(found[0], found[1]) and same_bits(found[0], found[2])


@each_kind
def test_wrong_parameters(kind: Any) -> None:
    with pytest.raises(ValueError, match="n_steps must be at least 1, got 0"):
        kind(n_steps=0)
    with pytest.raises(ValueError, match="tol must be a finite number >= 0"):
        kind(tol=float("nan"))
    with pytest.raises(TypeError, match="n_steps must be a whole number"):
        kind(n_steps=2.5)


@each_kind
def test_moments_of_another_dictionary(kind: Any, rng: np.random.Generator) -> None:
    start, moments = a_start(windows((8, 8), (4, 4)), rng), coded(windows((9, 9), (4, 4)), 30, rng)[2]
    with pytest.raises(ValueError, match=r"moments of \(36, 16\) \(atoms, pixels\) do not fit"):
        kind().step(start, moments, LAM)
