"""Updates: dictionary steps, which improve an epitome for fixed codes (paper, sections 3.2 and 4.1).

All three iterate on the pixels of E. A projected gradient step on D is already such a step:

    project(phi(E) - rho G) = phi(E - rho phi*(G))        because phi* phi = Id

so D stays in the image of phi without being projected, and the paper's metric on E is the number of atoms that show
each pixel. `PreconditionedFista` uses the curvature of the objective as its metric: pixels of frequently used atoms
take small steps, the others large ones. The problem is convex, so all three converge to the same optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import positive, whole
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.objective import Point, Quadratic, above_zero, inner

Floats = NDArray[np.float64]


class Updated(NamedTuple):
    """Result of a dictionary step.

    Parameters
    ----------
    epitome : Epitome
        Epitome after the step.
    cost : float
        Its objective (paper, Eq. 4), computed in float64 before the epitome is rounded to its own type.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from epitomes.learn import Fista, Moments, smooth_noise
    >>> from epitomes.phi import windows
    >>> moments = Moments.of(np.ones((1, 4)), csr_array(np.ones((1, 9))))
    >>> epitome, cost = Fista().step(smooth_noise(windows((4, 4), (2, 2))), moments, 0.1)
    >>> epitome.pixels.shape
    (4, 4)
    """

    epitome: Epitome
    cost: float


class Update(Protocol):
    """Dictionary step: improves an epitome for fixed codes. The objective must never increase.

    Any object with this method can be passed to a learner as `update`.

    See Also
    --------
    PreconditionedFista : The default.

    Examples
    --------
    >>> from epitomes.learn import Updated, cost
    >>> class Nothing:
    ...     def step(self, epitome, moments, lam, *, threads=None):
    ...         return Updated(epitome, cost(epitome.dictionary.atoms, moments, lam))
    """

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Take one dictionary step.

        Parameters
        ----------
        epitome : Epitome
            Epitome to improve.
        moments : Moments
            Moments of the coded patches.
        lam : float
            Regularisation parameter lambda.
        threads : int, optional
            Number of threads. Default: one per processor.

        Returns
        -------
        Updated
            The improved epitome and its objective.
        """


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient:
    """Projected gradient descent with Armijo's rule: the paper's basic algorithm.

    Parameters
    ----------
    n_steps : int, optional
        Largest number of iterations in one dictionary step.
    tol : float, optional
        Stop when an iteration lowers the objective by less than this fraction of it.
    slope : float, optional
        Fraction of the predicted decrease that a step must reach (Armijo's rule).

    See Also
    --------
    PreconditionedFista : The same optimum in far fewer iterations.

    Notes
    -----
    Each iteration is ``E <- E - rho phi*(grad f)``, where phi* averages the copies of a pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import ProjectedGradient, alternate, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> start = smooth_noise(windows((8, 8), (4, 4)))
    >>> step = next(alternate(patches, start, coder=Lasso(lam=1.0), update=ProjectedGradient(n_steps=5)))
    >>> step.progress.index
    1
    """

    n_steps: int = 50
    tol: float = 1e-7
    slope: float = 1e-4

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

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
        point = problem.at(_pixels(epitome))
        value, counts, rho = problem.cost(point), _counts(problem), 1.0 / _first_curvature(problem)
        for _ in range(self.n_steps):
            slope = problem.gradient(point)
            downhill = problem.at(-slope / counts)  # phi* of the gradient on D
            promised = -inner(slope, downhill.E)
            if not promised > 0:
                break
            rho *= 2.0  # the last step may have been shorter than it had to be
            while True:
                nearer = point.plus(downhill, rho)
                lower = problem.cost(nearer)
                if lower <= value - self.slope * rho * promised or rho < 1e-300:
                    break
                rho *= 0.5
            if not lower < value:
                break
            point, decrease, value = nearer, value - lower, lower
            if decrease <= self.tol * abs(value):
                break
        return _updated(point, epitome, value)


@dataclass(frozen=True, kw_only=True)
class Fista:
    """FISTA with backtracking: the accelerated algorithm of section 4.1 of the paper.

    Parameters
    ----------
    n_steps : int, optional
        Largest number of iterations in one dictionary step.
    tol : float, optional
        Stop when an iteration lowers the objective by less than this fraction of it.

    See Also
    --------
    PreconditionedFista : The same optimum in far fewer iterations.

    Notes
    -----
    Lengths on E are measured by ``|phi(.)|``, that is, each pixel counts as often as atoms show it.

    References
    ----------
    .. [1] A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", SIAM
       Journal on Imaging Sciences 2(1), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import Fista, alternate, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> start = smooth_noise(windows((8, 8), (4, 4)))
    >>> step = next(alternate(patches, start, coder=Lasso(lam=1.0), update=Fista(n_steps=5)))
    >>> step.progress.index
    1
    """

    n_steps: int = 50
    tol: float = 1e-7

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

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
        return _accelerated(
            problem, epitome, self.n_steps, self.tol, lambda _: _counts(problem), _first_curvature(problem)
        )


@dataclass(frozen=True, kw_only=True)
class PreconditionedFista:
    """FISTA in the metric of the diagonal of the Hessian on E: the default of all learners.

    Parameters
    ----------
    n_steps : int, optional
        Largest number of iterations in one dictionary step.
    tol : float, optional
        Stop when an iteration lowers the objective by less than this fraction of it.

    See Also
    --------
    Fista : The algorithm of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import PreconditionedFista, alternate, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> start = smooth_noise(windows((8, 8), (4, 4)))
    >>> step = next(alternate(patches, start, coder=Lasso(lam=1.0), update=PreconditionedFista(n_steps=5)))
    >>> step.progress.index
    1
    """

    n_steps: int = 10
    tol: float = 1e-7

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

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
        return _accelerated(problem, epitome, self.n_steps, self.tol, problem.curvature, 1.0)


def _accelerated(
    problem: Quadratic, epitome: Epitome, n_steps: int, tol: float, metric: Callable[[Point], Floats], first: float
) -> Updated:
    """Run FISTA in a diagonal metric with backtracking and a restart whenever the cost rises; return the best point.

    The curvature of a norm grows without bound near a zero atom, so a step size is valid only locally. This is why
    backtracking (slip 21 of the paper) and restarts are needed.
    """
    best = last = ahead = problem.at(_pixels(epitome))
    value = problem.cost(best)
    scale, curved, momentum = metric(best), first, 1.0
    for _ in range(n_steps):
        slope, here = problem.gradient(ahead), problem.cost(ahead)
        downhill = problem.at(-slope / scale)
        fall = -inner(slope, downhill.E)  # the squared length of the gradient in this metric
        while True:
            point = ahead.plus(downhill, 1.0 / curved)
            reached = problem.cost(point)
            promised = here - 0.5 * fall / curved
            if reached <= promised + 1e-12 * abs(here) or not curved < 1e300:
                break
            curved *= 2.0
        if reached > value:
            if momentum == 1.0:
                break  # not even a plain gradient step helps: only rounding errors are left
            last = ahead = best
            momentum = 1.0
            continue
        decrease, value, best = value - reached, reached, point
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = point.beyond(last, (momentum - 1.0) / following)
        last, momentum = point, following
        curved *= 0.9
        if decrease <= tol * abs(value):
            break
    return _updated(best, epitome, value)


def _updated(point: Point, epitome: Epitome, value: float) -> Updated:
    return Updated(Epitome(point.E.astype(epitome.pixels.dtype), epitome.phi), value)


def _pixels(epitome: Epitome) -> Floats:
    return epitome.pixels.astype(np.float64)


def _counts(problem: Quadratic) -> Floats:
    """Count the entries of the dictionary that show each pixel: the paper's `R'R`, which turns a gradient into phi*."""
    ones = np.ones((problem.phi.n_atoms, problem.phi.patch_size))
    return above_zero(np.asarray(problem.phi.adjoint(ones), np.float64), problem.phi)


def _first_curvature(problem: Quadratic) -> float:
    """Estimate the curvature on D, as the mean of its diagonal, to start the line search."""
    return max(float(np.trace(problem.moments.gram)) / problem.phi.n_atoms, np.finfo(np.float64).tiny)


def _check(n_steps: int, tol: float) -> None:
    whole("n_steps", n_steps, least=1)
    positive("tol", tol, zero=True)
