"""Learning as the paper describes it, on SPAMS: `spams.lasso` for the codes, FISTA in NumPy for the dictionary.

Sections 3 and 4.1: codes by LARS on unit atoms; then FISTA with backtracking on D, each step projected on the image of
phi by averaging the copies of a pixel; D and A rescaled by the smallest norm. The sums `A'A` and `A'X` are made once
per iteration, products are NumPy's, and the projection is ours, so that the scheme is not slower than necessary.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import Problem, installed
from epitomes import Epitome
from epitomes.phi import project

Doubles = NDArray[np.float64]

STEPS = 30  # of FISTA at most, in each iteration
TOL = 1e-5  # stop once a step lowers the cost by less than this share of it


def learner(problem: Problem) -> Iterator[Epitome] | None:
    """Yield an epitome after each iteration; None if SPAMS is not installed."""
    return iterations(problem) if installed("spams", "spams-bin") else None


def iterations(problem: Problem) -> Iterator[Epitome]:
    """Yield an epitome after each iteration, starting from that of the problem."""
    import spams

    phi = problem.epitome.phi
    X = np.asfortranarray(problem.rows.T)
    D = phi(problem.epitome.pixels.astype(np.float64))
    while True:
        norms = np.linalg.norm(D, axis=1)
        unit = D / np.maximum(norms, np.finfo(np.float64).tiny)[:, None]
        codes = spams.lasso(
            X, np.asfortranarray(unit.T.astype(np.float32)), lambda1=problem.lam, mode=2, numThreads=problem.threads
        )
        A = codes.astype(np.float64).tocsr()  # (p, n)
        A = A.multiply(1.0 / np.maximum(norms, np.finfo(np.float64).tiny)[:, None]).tocsr()
        scale = norms[norms > 0].min()
        D, A = D / scale, A * scale
        gram, cross, mass = (A @ A.T).toarray(), A @ problem.rows.astype(np.float64), np.asarray(abs(A).sum(axis=1))
        D = fista(D, gram, np.asarray(cross), mass.ravel(), problem)
        yield Epitome(phi.average(D), phi)


def fista(D: Doubles, gram: Doubles, cross: Doubles, mass: Doubles, problem: Problem) -> Doubles:
    """Minimise `1/2 <A'A D, D> - <A'X, D> + lam sum_j mass_j |d_j|` over the image of phi (Beck and Teboulle, 2009)."""
    lam, phi = problem.lam, problem.epitome.phi

    def cost(D: Doubles, GD: Doubles) -> float:
        return float(0.5 * np.vdot(GD, D) - np.vdot(cross, D) + lam * mass @ np.linalg.norm(D, axis=1))

    last, ahead, momentum = D, D, 1.0
    lipschitz = float(np.trace(gram)) / len(gram)
    value = cost(D, gram @ D)
    energy = abs(value)
    for _ in range(STEPS):
        GD = gram @ ahead
        level = cost(ahead, GD)
        pull = lam * mass / np.maximum(np.linalg.norm(ahead, axis=1), np.finfo(np.float64).tiny)
        slope = GD - cross + pull[:, None] * ahead
        while True:
            new = project(phi, ahead - slope / lipschitz)
            move = new - ahead
            reached = cost(new, gram @ new)
            if reached <= level + np.vdot(slope, move) + 0.5 * lipschitz * np.vdot(move, move) + 1e-12 * energy:
                break
            lipschitz *= 2.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / following * (new - last)
        last, momentum = new, following
        gained, value = value - reached, reached
        if abs(gained) <= TOL * energy:
            break
    return last
