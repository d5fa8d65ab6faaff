"""Eq. 4 from moments: its value, its gradient and its curvature, each against another way of computing it."""

from __future__ import annotations

import dataclasses

import numpy as np
import phi_cases
import pytest
from learn_cases import Doubles, coded, residual_cost

from epitomes.learn import Moments, cost, gradient
from epitomes.learn.objective import Quadratic, product, pull
from epitomes.phi import GatherPhi, Phi, as_matrix, windows

LAM = 0.7
EVERY = pytest.mark.parametrize("name", phi_cases.NAMED)
SMALL = [name for name, phi in phi_cases.NAMED.items() if phi.n_atoms * phi.patch_size < 4000]


def problem(phi: Phi, rng: np.random.Generator) -> Quadratic:
    return Quadratic(phi, coded(phi, 60, rng)[2], LAM)


@EVERY
def test_cost_is_the_residual_and_the_price(name: str, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    X, codes, moments = coded(phi, 60, rng)
    E = rng.standard_normal(phi.epitome_shape)
    expected = residual_cost(X, codes, phi(E), LAM)
    assert cost(phi(E), moments, LAM) == pytest.approx(expected, rel=1e-11)
    quadratic = Quadratic(phi, moments, LAM)
    assert quadratic.cost(quadratic.at(E)) == pytest.approx(expected, rel=1e-11)


@EVERY
def test_gradient_on_the_epitome_is_that_of_finite_differences(name: str, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    quadratic = problem(phi, rng)
    E = rng.standard_normal(phi.epitome_shape)
    slope = quadratic.gradient(quadratic.at(E))
    assert slope.shape == phi.epitome_shape
    step = 1e-5
    for _ in range(5):
        V = rng.standard_normal(phi.epitome_shape)
        ends = [quadratic.cost(quadratic.at(E + sign * step * V)) for sign in (1, -1)]
        difference = (ends[0] - ends[1]) / (2 * step)
        assert np.vdot(slope, V) == pytest.approx(
            difference, abs=1e-6 * float(np.linalg.norm(slope) * np.linalg.norm(V))
        )


@pytest.mark.parametrize("name", ["one pixel", "matrix", "signal", "periodic signal", "sub-pixel signal"])
def test_every_entry_of_the_gradient(name: str, rng: np.random.Generator) -> None:
    """No entry hides behind the others: along each pixel of the epitome, and along each entry of the dictionary."""
    phi = phi_cases.NAMED[name]
    quadratic = problem(phi, rng)
    E = rng.standard_normal(phi.epitome_shape)
    slope = quadratic.gradient(quadratic.at(E)).ravel()
    D = phi(E)
    on_atoms = gradient(D, quadratic.moments, LAM).ravel()
    step = 1e-5
    along_E = np.empty(slope.size)
    for i, unit in enumerate(np.eye(slope.size)):
        V = step * unit.reshape(phi.epitome_shape)
        along_E[i] = quadratic.cost(quadratic.at(E + V)) - quadratic.cost(quadratic.at(E - V))
    np.testing.assert_allclose(slope, along_E / (2 * step), rtol=0, atol=1e-6 * np.abs(slope).max())
    along_D = np.empty(on_atoms.size)
    for i, unit in enumerate(np.eye(on_atoms.size)):
        W = step * unit.reshape(D.shape)
        along_D[i] = cost(D + W, quadratic.moments, LAM) - cost(D - W, quadratic.moments, LAM)
    np.testing.assert_allclose(on_atoms, along_D / (2 * step), rtol=0, atol=1e-6 * np.abs(on_atoms).max())


@pytest.mark.parametrize("name", SMALL)
def test_gradient_on_the_epitome_is_the_adjoint_of_that_on_the_atoms(name: str, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    quadratic = problem(phi, rng)
    E = rng.standard_normal(phi.epitome_shape)
    expected = as_matrix(phi).T @ gradient(phi(E), quadratic.moments, LAM).ravel()
    found = quadratic.gradient(quadratic.at(E)).ravel()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def dense(phi: Phi) -> Doubles:
    """R as `(p, m, pixels of E)`."""
    return np.asarray(as_matrix(phi).todense()).reshape(phi.n_atoms, phi.patch_size, -1)


def hessian_diagonal(quadratic: Quadratic, E: Doubles) -> Doubles:
    """Of `R' (A'A + diag(lam mass / |d|)) R`: the quadratic that lies above f and touches it at E."""
    R, moments = dense(quadratic.phi), quadratic.moments
    H = moments.gram + np.diag(quadratic.lam * moments.mass / np.linalg.norm(quadratic.phi(E), axis=1))
    diagonal = np.einsum("pmi,pq,qmi->i", R, H, R, optimize=True)
    return np.asarray(diagonal).reshape(quadratic.phi.epitome_shape)


@pytest.mark.parametrize("name", [name for name in SMALL if isinstance(phi_cases.NAMED[name], GatherPhi)])
def test_curvature_is_the_diagonal_of_the_hessian(name: str, rng: np.random.Generator) -> None:
    """For atoms that are turned copies of each other, only while no patch uses two of them together."""
    phi = phi_cases.NAMED[name]
    quadratic = problem(phi, rng)
    if dense(phi).sum(axis=0).max() > 1:  # a pixel at the same place of two atoms
        known = quadratic.moments
        alone = dataclasses.replace(known, gram=np.diag(np.diag(known.gram)))
        quadratic = Quadratic(phi, alone, LAM)
    E = rng.standard_normal(phi.epitome_shape)
    np.testing.assert_allclose(quadratic.curvature(quadratic.at(E)), hessian_diagonal(quadratic, E), rtol=1e-10)


@pytest.mark.parametrize("name", SMALL)
def test_norms_are_majorised(name: str, rng: np.random.Generator) -> None:
    """`f(E + V) <= f(E) + <slope, V> + 1/2 <H V, V>` with the H of which `curvature` is the diagonal."""
    phi = phi_cases.NAMED[name]
    quadratic = problem(phi, rng)
    E = rng.standard_normal(phi.epitome_shape)
    point = quadratic.at(E)
    for size in (1e-3, 0.1, 1.0, 10.0):
        V = size * rng.standard_normal(phi.epitome_shape)
        DV = phi(V)
        curved = np.vdot(quadratic.moments.gram @ DV, DV) + np.vdot(
            pull(point.D, quadratic.moments, LAM), (DV**2).sum(1)
        )
        above = quadratic.cost(point) + np.vdot(quadratic.gradient(point), V) + 0.5 * curved
        assert quadratic.cost(quadratic.at(E + V)) <= above + 1e-9 * abs(above)


@EVERY
def test_curvature_is_above_zero(name: str, rng: np.random.Generator) -> None:
    phi = phi_cases.NAMED[name]
    _, codes, _ = coded(phi, 10, rng, share=0.02)  # most atoms are unused
    X = rng.standard_normal((10, phi.patch_size))
    for moments in (Moments.of(X, codes), Moments.of(X, 0 * codes)):
        quadratic = Quadratic(phi, moments, LAM)
        curvature = quadratic.curvature(quadratic.at(rng.standard_normal(phi.epitome_shape)))
        assert curvature.shape == phi.epitome_shape
        assert np.isfinite(curvature).all() and (curvature > 0).all()


def test_points_can_be_combined(rng: np.random.Generator) -> None:
    quadratic = problem(phi_cases.NAMED["several"], rng)
    one, other = (quadratic.at(rng.standard_normal(quadratic.phi.epitome_shape)) for _ in range(2))
    ahead = one.beyond(other, 0.6)
    exact = quadratic.at(one.E + 0.6 * (one.E - other.E))
    for found, expected in ((ahead.E, exact.E), (ahead.D, exact.D), (ahead.GD, exact.GD)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_zero_atoms_have_the_subgradient_zero(rng: np.random.Generator) -> None:
    phi = windows((6, 6), (3, 3))
    X, codes, moments = coded(phi, 40, rng)
    D = phi(rng.standard_normal(phi.epitome_shape))
    D[5] = 0
    slope = gradient(D, moments, LAM)
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(
        slope[5], (moments.gram @ D - moments.cross)[5], rtol=0, atol=1e-12 * np.abs(slope).max()
    )
    assert cost(D, moments, LAM) == pytest.approx(residual_cost(X, codes, D, LAM), rel=1e-12)
    tiny = D.copy()
    tiny[5, 0] = 1e-300  # its norm underflows or its pull overflows: either way a number comes out
    assert np.isfinite(gradient(tiny, moments, LAM)).all()


def test_products_have_the_same_bits_for_any_threads(rng: np.random.Generator) -> None:
    gram, D = rng.standard_normal((420, 420)), rng.standard_normal((420, 64))
    assert gram.size * 64 > 10_000_000  # large enough for threads
    one = product(gram, D, threads=1)
    np.testing.assert_allclose(one, gram @ D, rtol=0, atol=1e-11)
    for threads in (2, 3, 5):
        assert product(gram, D, threads=threads).tobytes() == one.tobytes()


def test_atoms_of_another_dictionary_are_refused(rng: np.random.Generator) -> None:
    moments = coded(windows((6, 6), (3, 3)), 40, rng)[2]
    for function in (cost, gradient):
        with pytest.raises(ValueError, match=r"need the shape \(16, 9\).*got \(15, 9\)"):
            function(np.ones((15, 9)), moments, LAM)
        with pytest.raises(ValueError, match="NaN"):
            function(np.full((16, 9), np.nan), moments, LAM)
