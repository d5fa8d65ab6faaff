"""Updates: from an epitome and the moments of the coded patches to a better epitome (paper, sections 3.2 and 4.1).

All three iterate on the pixels of E. A projected gradient step on D is such a step already:

    project(phi(E) - rho G) = phi(E - rho phi*(G))        because phi* phi = Id

so D stays in the image of phi without ever being projected, and the paper's metric on E is the number of atoms that
show each pixel. `PreconditionedFista` measures lengths by the curvature of the objective instead: pixels that much-used
atoms show move carefully, the others quickly. The problem is convex, so all three reach the same optimum.
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
    """What a dictionary step found."""

    epitome: Epitome
    cost: float  # Eq. 4, in float64; a float32 epitome differs from it by its rounding


class Update(Protocol):
    """Makes an epitome better for fixed codes; the cost never rises."""

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """The epitome after the dictionary step, and what it costs."""


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient:
    """`E <- E - rho phi*(grad f)`, rho found by the rule of Armijo: the paper's basic algorithm."""

    n_steps: int = 50
    tol: float = 1e-7  # stop once a step lowers the cost by less than this share of it
    slope: float = 1e-4  # Armijo: the share of the promised decrease that a step must keep

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Descend until `n_steps` or `tol`."""
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
            point, gained, value = nearer, value - lower, lower
            if gained <= self.tol * abs(value):
                break
        return _updated(point, epitome, value)


@dataclass(frozen=True, kw_only=True)
class Fista:
    """FISTA with backtracking (Beck and Teboulle 2009), lengths measured by `|phi(.)|`: the paper's section 4.1."""

    n_steps: int = 50
    tol: float = 1e-7  # stop once a step lowers the cost by less than this share of it

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Descend until `n_steps` or `tol`."""
        problem = Quadratic(epitome.phi, moments, lam, threads)
        return _accelerated(
            problem, epitome, self.n_steps, self.tol, lambda _: _counts(problem), _first_curvature(problem)
        )


@dataclass(frozen=True, kw_only=True)
class PreconditionedFista:
    """FISTA with lengths measured by the diagonal of the Hessian on E; the same optimum in far fewer steps."""

    n_steps: int = 10
    tol: float = 1e-7  # stop once a step lowers the cost by less than this share of it

    def __post_init__(self) -> None:
        _check(self.n_steps, self.tol)

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Descend until `n_steps` or `tol`."""
        problem = Quadratic(epitome.phi, moments, lam, threads)
        return _accelerated(problem, epitome, self.n_steps, self.tol, problem.curvature, 1.0)


def _accelerated(
    problem: Quadratic, epitome: Epitome, n_steps: int, tol: float, metric: Callable[[Point], Floats], first: float
) -> Updated:
    """FISTA in a diagonal metric, with backtracking, restarted whenever the cost rises; the best point wins.

    The curvature of a norm grows without bound near a zero atom, so a rate holds only nearby: hence the backtracking
    (slip 21 of the paper) and the restart.
    """
    best = last = ahead = problem.at(_pixels(epitome))
    value = problem.cost(best)
    scale, curved, momentum = metric(best), first, 1.0
    for _ in range(n_steps):
        slope, level = problem.gradient(ahead), problem.cost(ahead)
        downhill = problem.at(-slope / scale)
        fall = -inner(slope, downhill.E)  # the squared length of the gradient in this metric
        while True:
            point = ahead.plus(downhill, 1.0 / curved)
            reached = problem.cost(point)
            promised = level - 0.5 * fall / curved
            if reached <= promised + 1e-12 * abs(level) or not curved < 1e300:
                break
            curved *= 2.0
        if reached > value:
            if momentum == 1.0:
                break  # a plain step no longer helps: rounding is all that is left
            last = ahead = best
            momentum = 1.0
            continue
        gained, value, best = value - reached, reached, point
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = point.beyond(last, (momentum - 1.0) / following)
        last, momentum = point, following
        curved *= 0.9
        if gained <= tol * abs(value):
            break
    return _updated(best, epitome, value)


def _updated(point: Point, epitome: Epitome, value: float) -> Updated:
    return Updated(Epitome(point.E.astype(epitome.pixels.dtype), epitome.phi), value)


def _pixels(epitome: Epitome) -> Floats:
    return epitome.pixels.astype(np.float64)


def _counts(problem: Quadratic) -> Floats:
    """How many entries of the dictionary show each pixel: the paper's `R'R`, which turns a gradient on E into phi*."""
    ones = np.ones((problem.phi.n_atoms, problem.phi.patch_size))
    return above_zero(np.asarray(problem.phi.adjoint(ones), np.float64), problem.phi)


def _first_curvature(problem: Quadratic) -> float:
    """A guess of the curvature on D to begin the search with: the mean of its diagonal."""
    return max(float(np.trace(problem.moments.gram)) / problem.phi.n_atoms, np.finfo(np.float64).tiny)


def _check(n_steps: int, tol: float) -> None:
    whole("n_steps", n_steps, least=1)
    positive("tol", tol, zero=True)
