"""LeastSquares: the dictionary step of MOD and of the image-signature dictionary, for any phi.

For fixed codes and without a penalty, Eq. 4 is quadratic in the epitome. Its minimum solves the normal equations

    R' (A'A kron I) R vec(E) = R' vec(A'X)

which for a flat dictionary are those of the method of optimal directions, `D = (A'A)^-1 A'X` (Engan et al. 1999), and
for the windows of one picture those of Aharon and Elad (2008). The matrix is never made: conjugate gradients need its
products alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import positive, whole
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.objective import Point, Quadratic, inner, pull
from epitomes.learn.update import Updated

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LeastSquares:
    """Solve the least-squares problem of the dictionary step by conjugate gradients.

    Parameters
    ----------
    n_steps : int, optional
        Largest number of iterations.
    tol : float, optional
        Stop when the gradient, in the metric of the curvature, is below this fraction of that at the start.

    See Also
    --------
    PreconditionedFista : The default of the learners.
    epitomes.baselines.learn_mod : The method of optimal directions.

    Notes
    -----
    Without a penalty (coders such as `epitomes.coders.OMP`), the step minimises ``|X - A D|^2`` over the epitome. With
    a penalty, each ``|d_j|`` is majorised by a parabola that touches it at the current atom, so that the objective
    never increases.

    References
    ----------
    .. [1] K. Engan, S. O. Aase, J. H. Husøy, "Method of optimal directions for frame design", ICASSP 1999.
    .. [2] M. Aharon, M. Elad, "Sparse and redundant modeling of image content using an image-signature-dictionary",
       SIAM Journal on Imaging Sciences 1(3), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import OMP
    >>> from epitomes.learn import LeastSquares, alternate, smooth_noise
    >>> from epitomes.phi import flat
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> step = next(alternate(patches, smooth_noise(flat(8, (4, 4))), coder=OMP(n_nonzero=2), update=LeastSquares()))
    >>> step.progress.index
    1
    """

    n_steps: int = 100
    tol: float = 1e-6

    def __post_init__(self) -> None:
        whole("n_steps", self.n_steps, least=1)
        positive("tol", self.tol, zero=True)

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Take up to `n_steps` iterations.

        Parameters
        ----------
        epitome : Epitome
            Epitome to improve.
        moments : Moments
            Moments of the coded patches.
        lam : float
            Regularisation parameter lambda.
        threads : int, optional
            Number of threads. Default: one per processor. It does not change the result.

        Returns
        -------
        Updated
            The improved epitome and its objective.
        """
        problem = Quadratic(epitome.phi, moments, lam, threads)
        point = problem.at(epitome.pixels.astype(np.float64))
        value, scale = problem.cost(point), problem.curvature(point)
        stiff = pull(point.D, moments, lam)[:, None]
        left = -problem.gradient(point)
        ahead = left / scale
        length = first = inner(left, ahead)
        best = point
        for _ in range(self.n_steps):
            if not length > self.tol**2 * first:
                break
            move = problem.at(ahead)
            bent = _product(problem, move, stiff)
            curved = inner(ahead, bent)
            if not curved > 0:
                break  # only rounding errors are left
            share = length / curved
            point = point.plus(move, share)
            left = left - share * bent
            even = left / scale
            following = inner(left, even)
            ahead = even + following / length * ahead
            length = following
        reached = problem.cost(point)
        if reached <= value:
            best, value = point, reached
        return Updated(Epitome(best.E.astype(epitome.pixels.dtype), epitome.phi), value)


def _product(problem: Quadratic, move: Point, stiff: Floats) -> Floats:
    """The Hessian of the majorised objective times a direction on E."""
    return np.asarray(problem.phi.adjoint(move.GD + stiff * move.D), np.float64)
