"""The laws of phi (paper, appendix B), for the maps of the library and for your own.

`check_phi(phi)` draws random epitomes and dictionaries and raises an `AssertionError` that names the violated law and
the size of the violation. It uses only the members of the protocol `Phi`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from epitomes.checks import Array
from epitomes.phi.protocol import Phi, project


def check_phi(phi: Phi, *, rng: np.random.Generator | None = None, tol: float = 1e-12) -> None:
    """Test that phi is linear and injective, and that its adjoint and average are right.

    Parameters
    ----------
    phi : Phi
        Map to test.
    rng : numpy.random.Generator, optional
        Random number generator. By default, the same numbers are used in every call.
    tol : float, optional
        Largest relative violation of a law, in float64.

    Raises
    ------
    AssertionError
        If a law is violated. The message names the law and the size of the violation.

    Examples
    --------
    >>> from epitomes.phi import turned, windows
    >>> from epitomes.testing import check_phi
    >>> check_phi(turned(windows((10, 12), (4, 4))))
    """
    draw = np.random.default_rng(0) if rng is None else rng
    E, F = draw.standard_normal((2, *phi.epitome_shape))
    D, G = draw.standard_normal((2, phi.n_atoms, phi.patch_size))
    _inputs(phi, E, D)  # first, because the other laws reuse these arrays
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
            _fail("inputs are not changed", f"{name} changes its argument")


def _verbs(phi: Phi, E: Array, D: Array) -> list[tuple[str, Callable[[Array], Array], Array, tuple[int, ...]]]:
    return [
        ("phi", phi, E, (phi.n_atoms, phi.patch_size)),
        ("adjoint", phi.adjoint, D, phi.epitome_shape),
        ("average", phi.average, D, phi.epitome_shape),
    ]


def _linear(name: str, verb: Callable[[Array], Array], x: Array, y: Array, tol: float) -> None:
    _equal(f"{name} is linear: f(2 x - 3 y) = 2 f(x) - 3 f(y)", verb(2 * x - 3 * y), 2 * verb(x) - 3 * verb(y), tol)


def _angle_gap(a: Array, b: Array, c: Array, d: Array) -> float:
    """Compute `<a, b> - <c, d>` relative to the larger product of norms."""
    length = max(_length(a) * _length(b), _length(c) * _length(d))
    return abs(float(np.vdot(a, b)) - float(np.vdot(c, d))) / length if length else 0.0


def _equal(law: str, found: Array, needed: Array, tol: float) -> None:
    length = max(_length(found), _length(needed))
    _small(law, _length(found - needed) / length if length else 0.0, tol)


def _length(values: Array) -> float:
    return float(np.linalg.norm(values.reshape(-1)))


def _small(law: str, violation: float, tol: float) -> None:
    if not violation <= tol:  # written so that NaN fails too
        _fail(law, f"relative violation {violation:.2e}, allowed {tol:.0e}")


def _fail(law: str, how: str) -> None:
    raise AssertionError(f"phi violates the law [{law}]: {how}")
