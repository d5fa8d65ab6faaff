"""The objective of the dictionary step (paper, Eq. 4), as a function of the epitome with fixed codes.

    f(D) = 1/2 |X - A D|^2 + lam sum_j |d_j| |a_j|_1        with D = phi(E)

These are sums, as in Eq. 4; `Progress.objective` divides by n, as in Eq. 3. `Quadratic` computes the cost and its
gradient on the pixels of E from the moments alone, so the time does not depend on the number of patches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks, kernels
from epitomes.checks import as_floats
from epitomes.learn.moments import Moments
from epitomes.phi import GatherPhi, Phi

Floats = NDArray[np.float64]


def cost(atoms: ArrayLike, moments: Moments, lam: float) -> float:
    """Compute the objective of the dictionary step from moments.

    Parameters
    ----------
    atoms : array_like of shape (p, m)
        Dictionary D.
    moments : Moments
        Moments of the coded patches.
    lam : float
        Regularisation parameter lambda.

    Returns
    -------
    float
        Sum over the patches (paper, Eq. 4).

    See Also
    --------
    gradient : Gradient of this objective.

    Notes
    -----
    The objective is ``1/2 |X - A D|^2 + lam sum_j |d_j| |a_j|_1``, computed as
    ``1/2 (|X|^2 - 2 <A'X, D> + <A'A D, D>) + lam sum_j mass_j |d_j|``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from epitomes.learn import Moments, cost
    >>> moments = Moments.of(np.array([[1.0, 2.0]]), csr_array([[2.0]]))
    >>> round(cost([[0.6, 0.8]], moments, lam=0.1), 12)  # 1/2 (0.2^2 + 0.4^2) + 0.1 * 1 * 2
    0.3
    """
    D = _as_atoms(atoms, moments)
    return _cost(D, product(moments.gram, D), moments, lam)


def gradient(atoms: ArrayLike, moments: Moments, lam: float) -> Floats:
    """Compute the gradient of the objective of the dictionary step.

    Parameters
    ----------
    atoms : array_like of shape (p, m)
        Dictionary D.
    moments : Moments
        Moments of the coded patches.
    lam : float
        Regularisation parameter lambda.

    Returns
    -------
    ndarray of shape (p, m)
        Gradient with respect to the atoms.

    See Also
    --------
    cost : The objective.

    Notes
    -----
    The gradient is ``A'A D - A'X + diag(lam mass_j / |d_j|) D``. The norm of a zero atom has no gradient; its
    subgradient 0 is used, so that such an atom changes only if the patches require it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from epitomes.learn import Moments, gradient
    >>> moments = Moments.of(np.array([[1.0, 2.0]]), csr_array([[2.0]]))
    >>> np.round(gradient([[0.6, 0.8]], moments, lam=0.0), 6)
    array([[ 0.4, -0.8]])
    """
    D = _as_atoms(atoms, moments)
    return _gradient(D, product(moments.gram, D), moments, lam)


def product(gram: Floats, D: Floats, threads: int | None = None) -> Floats:
    """Compute `A'A D`, with the same bits for any number of threads."""
    out = np.empty_like(D)
    shares = blocks.shares(len(gram), threads)
    if len(gram) * D.size < 10_000_000:  # a few milliseconds: threads would take longer
        kernels.multiply(gram, D, out)
    else:
        blocks.run(
            lambda rows, stop: kernels.multiply(gram[slice(*rows)], D, out[slice(*rows)]), shares, threads=threads
        )
    return out


@dataclass(frozen=True, eq=False)
class Point:
    """An epitome with what the objective needs; all linear in E, so points can be combined."""

    E: Floats
    D: Floats  # phi(E)
    GD: Floats  # A'A D

    def plus(self, other: Point, share: float) -> Point:
        """Return `self + share other` without another product with the Gram matrix."""
        return Point(self.E + share * other.E, self.D + share * other.D, self.GD + share * other.GD)

    def beyond(self, other: Point, share: float) -> Point:
        """Return `self + share (self - other)` without another product with the Gram matrix."""
        return Point(
            self.E + share * (self.E - other.E),
            self.D + share * (self.D - other.D),
            self.GD + share * (self.GD - other.GD),
        )


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Eq. 4 as a function of the pixels of E: `f(phi(E))`. Its gradient is the adjoint of phi applied to that of f."""

    phi: Phi
    moments: Moments
    lam: float
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.moments.cross.shape != (self.phi.n_atoms, self.phi.patch_size):
            raise ValueError(
                f"moments of {self.moments.cross.shape} (atoms, pixels) do not fit {self.phi!r}: "
                "compute them from codes on its atoms"
            )

    def at(self, E: Floats) -> Point:
        """Compute what the objective needs at an epitome."""
        D = np.ascontiguousarray(self.phi(E), np.float64)
        return Point(E, D, product(self.moments.gram, D, self.threads))

    def cost(self, point: Point) -> float:
        """Eq. 4."""
        return _cost(point.D, point.GD, self.moments, self.lam)

    def gradient(self, point: Point) -> Floats:
        """`R' grad f(D)`, of the shape of E."""
        return np.asarray(self.phi.adjoint(_gradient(point.D, point.GD, self.moments, self.lam)), np.float64)

    def curvature(self, point: Point) -> Floats:
        """Return `R' (gram_jj + lam mass_j / |d_j|)`: the diagonal of the Hessian of f on E, with its norms majorised.

        It is exact for a phi that copies no pixel to the same place of two atoms. Pixels that no used atom shows have
        no curvature. They get a small positive value and do not move, because their gradient is zero.
        """
        weight = np.diagonal(self.moments.gram) + pull(point.D, self.moments, self.lam)
        spread = np.asarray(self.phi.adjoint(np.repeat(weight[:, None], point.D.shape[1], axis=1)), np.float64)
        return above_zero(spread, self.phi)


def above_zero(spread: Floats, phi: Phi) -> Floats:
    """Raise small values of `spread` on E to a fraction of the largest one.

    The fraction is tiny for a phi that copies pixels: a faint but used atom has a curvature a million times that of the
    others, and a larger fraction would slow down every pixel of the epitome. The entries of a matrix can cancel, so
    there the fraction is larger.
    """
    top = float(spread.max())
    least = 1e-12 if isinstance(phi, GatherPhi) else 1e-3
    return np.maximum(spread, least * top) if top > 0 else np.ones_like(spread)


def pull(D: Floats, moments: Moments, lam: float) -> Floats:
    """Return the paper's Delta, `lam mass_j / |d_j|`, of shape `(p,)`; 0 where the atom is zero or unused."""
    norms = _norms(D)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = lam * moments.mass / norms
    return np.where((norms > 0) & np.isfinite(ratio), ratio, 0.0)


def _norms(D: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("pm,pm->p", D, D))
    return lengths


def _cost(D: Floats, GD: Floats, moments: Moments, lam: float) -> float:
    fit = moments.energy - 2 * inner(moments.cross, D) + inner(GD, D)
    return 0.5 * fit + lam * inner(moments.mass, _norms(D))


def inner(a: Floats, b: Floats) -> float:
    """Return the sum of `a * b`. Not by BLAS, whose threads would determine the order of the sum."""
    return float(np.sum(a * b))


def _gradient(D: Floats, GD: Floats, moments: Moments, lam: float) -> Floats:
    return GD - moments.cross + pull(D, moments, lam)[:, None] * D


def _as_atoms(atoms: ArrayLike, moments: Moments) -> Floats:
    D: Floats = np.asarray(as_floats("atoms", atoms, ndim=2, dtype=np.float64), np.float64)
    if D.shape != moments.cross.shape:
        raise ValueError(f"atoms need the shape {moments.cross.shape} of the moments, got {D.shape}")
    return D
