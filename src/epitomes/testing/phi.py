"""The laws of phi, for ours and for yours (paper, appendix B).

`check_phi(phi)` draws random epitomes and dictionaries and raises an `AssertionError` that names the law and how
far it is missed. It needs nothing of phi but its public face, so any object with the three verbs can be tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from epitomes.checks import Array
from epitomes.phi.protocol import Phi, project


def check_phi(phi: Phi, *, rng: np.random.Generator | None = None, tol: float = 1e-12) -> None:
    """Raise an `AssertionError` unless `phi` is linear and injective with the right adjoint and average.

    `tol` bounds the relative violation of each law in float64. The same `rng` tries the same numbers; by default
    they are always the same.
    """
    draw = np.random.default_rng(0) if rng is None else rng
    E, F = draw.standard_normal((2, *phi.epitome_shape))
    D, G = draw.standard_normal((2, phi.n_atoms, phi.patch_size))
    _inputs(phi, E, D)  # first: the other laws trust their numbers to stay
    _shapes(phi, E, D)
    _dtypes(phi, E, D)
    _linear("phi", phi, E, F, tol)
    _linear("adjoint", phi.adjoint, D, G, tol)
    _linear("average", phi.average, D, G, tol)
    _small("dot test: <phi(E), D> = <E, adjoint(D)>", _angle_gap(phi(E), D, E, phi.adjoint(D)), tol)
    _equal("average undoes phi: average(phi(E)) = E", phi.average(phi(E)), E, tol)
    P = project(phi, D)
    _equal("projector is idempotent: project(project(D)) = project(D)", project(phi, P), P, tol)
    _small("projector is symmetric: <project(D), G> = <D, project(G)>", _angle_gap(P, G, D, project(phi, G)), tol)
    rho = 0.7
    far, near = project(phi, phi(E) - rho * G), phi(E - rho * phi.average(G))
    _equal("step identity: project(phi(E) - rho G) = phi(E - rho average(G))", far, near, tol)


def _shapes(phi: Phi, E: Array, D: Array) -> None:
    if not 0 < phi.patch_size <= math.prod(phi.patch_shape):
        _fail("shapes", f"patch_size {phi.patch_size} is not between 1 and the pixels of patch_shape {phi.patch_shape}")
    for name, verb, given, needed in _verbs(phi, E, D):
        shape = np.shape(verb(given))
        if shape != needed:
            _fail("shapes", f"{name} needs to return shape {needed}, got {shape}")


def _dtypes(phi: Phi, E: Array, D: Array) -> None:
    for name, verb, given, _ in _verbs(phi, E, D):
        rounded = given.astype(np.float32)
        for values in (rounded, given):
            returned = np.asarray(verb(values)).dtype
            if returned != values.dtype:
                _fail("dtype in = dtype out", f"{name} of {values.dtype} returned {returned}")
        exact = verb(rounded.astype(np.float64))
        _equal(f"float32 {name} = float64 {name} to 1e-5", verb(rounded).astype(np.float64), exact, 1e-5)


def _inputs(phi: Phi, E: Array, D: Array) -> None:
    for name, verb, given, _ in _verbs(phi, E, D):
        before = given.copy()
        verb(given)
        if not np.array_equal(before, given):
            _fail("inputs are not changed", f"{name} changed its argument")


def _verbs(phi: Phi, E: Array, D: Array) -> list[tuple[str, Callable[[Array], Array], Array, tuple[int, ...]]]:
    return [
        ("phi", phi, E, (phi.n_atoms, phi.patch_size)),
        ("adjoint", phi.adjoint, D, phi.epitome_shape),
        ("average", phi.average, D, phi.epitome_shape),
    ]


def _linear(name: str, verb: Callable[[Array], Array], x: Array, y: Array, tol: float) -> None:
    _equal(f"{name} is linear: f(2 x - 3 y) = 2 f(x) - 3 f(y)", verb(2 * x - 3 * y), 2 * verb(x) - 3 * verb(y), tol)


def _angle_gap(a: Array, b: Array, c: Array, d: Array) -> float:
    """`<a, b> - <c, d>` relative to the lengths of the longer pair."""
    length = max(_length(a) * _length(b), _length(c) * _length(d))
    return abs(float(np.vdot(a, b)) - float(np.vdot(c, d))) / length if length else 0.0


def _equal(law: str, found: Array, needed: Array, tol: float) -> None:
    length = max(_length(found), _length(needed))
    _small(law, _length(found - needed) / length if length else 0.0, tol)


def _length(values: Array) -> float:
    return float(np.linalg.norm(values.reshape(-1)))


def _small(law: str, violation: float, tol: float) -> None:
    if not violation <= tol:  # a NaN is no proof
        _fail(law, f"relative violation {violation:.2e}, allowed {tol:.0e}")


def _fail(law: str, how: str) -> None:
    raise AssertionError(f"phi breaks the law [{law}]: {how}")
