"""make-epitome: learn the 42 x 42 epitome that the library ships, from a folder of natural pictures.

Alternate minimisation of `1/2 |X - A D|^2 + lam sum_j |d_j| |a^j|_1` over codes A and epitome E, with D = phi(E):
fresh patches are coded each time, then E takes a few preconditioned gradient steps with momentum. The seed decides
the result; one thread is used, so that no sum depends on their number.
"""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, read_pictures
from benchmarks.record import write_atomically
from benchmarks.start import PATCH, SIDE, smooth_noise
from epitomes import Epitome, GatherPhi, Lasso, Patches, windows

Floats = NDArray[np.float64]

LAM = 60.0  # grey levels: |d| |a| must be worth this much
POOL = 100_000  # patches drawn once from all pictures
BATCH = 15_000  # patches coded in each iteration
ITERATIONS = 40
STEPS = 8  # of the epitome in each iteration
FORGET = 0.7  # weight of the past in the statistics: evens out the batches


@dataclass(frozen=True, eq=False)
class Statistics:
    """All that the step in E needs to know of the coded patches."""

    gram: Floats  # A'A (p, p)
    cross: Floats  # A'X (p, m)
    mass: Floats  # sum |A| (p,)

    def blend(self, past: Statistics) -> Statistics:
        keep = FORGET
        return Statistics(self.gram + keep * past.gram, self.cross + keep * past.cross, self.mass + keep * past.mass)


def run(options: Options) -> None:
    if options.output is None or options.images is None:
        raise SystemExit("make-epitome needs --images DIR and --output FILE")
    rng = np.random.default_rng(0)
    pool = draw(read_pictures(options.images), rng)
    phi = windows((SIDE, SIDE), PATCH)
    E = smooth_noise((SIDE, SIDE), seed=0).astype(np.float64)
    seen: Statistics | None = None
    for iteration in range(5 if options.quick else ITERATIONS):
        X = pool[rng.choice(len(pool), min(BATCH, len(pool)), replace=False)]
        new, cost, nonzeros = summarise(X, E, phi)
        print(f"{iteration:3d}  cost per patch {cost:9.2f}  atoms per patch {nonzeros:.2f}", file=sys.stderr)
        seen = new if seen is None else new.blend(seen)
        E = improve(E, seen, phi)
    buffer = io.BytesIO()
    np.save(buffer, (E / E.std()).astype(np.float32))  # the model does not depend on the scale of E
    write_atomically(options.output, buffer.getvalue())
    print(f"wrote {os.fspath(options.output)}", file=sys.stderr)


def draw(pictures: list[Picture], rng: np.random.Generator) -> NDArray[np.float32]:
    """`POOL` centred patches, the same number from each picture."""
    share = -(-POOL // len(pictures))
    sets = [Patches(picture.pixels, PATCH) for picture in pictures]
    return np.concatenate([each.at_index(rng.integers(each.n_patches, size=share))[0] for each in sets])


def summarise(X: NDArray[np.float32], E: Floats, phi: GatherPhi) -> tuple[Statistics, float, float]:
    """Code the patches; statistics, cost per patch, atoms per patch."""
    dictionary = Epitome(E.astype(np.float32), phi).dictionary
    A = Lasso(lam=LAM).encode(X, dictionary, threads=1).astype(np.float64)
    D = dictionary.atoms.astype(np.float64)
    statistics = Statistics((A.T @ A).toarray(), A.T @ X.astype(np.float64), np.asarray(abs(A).sum(axis=0)).ravel())
    fit = 0.5 * np.sum((X - A @ D) ** 2)
    price = LAM * statistics.mass @ np.linalg.norm(D, axis=1)
    return statistics, float(fit + price) / len(X), A.nnz / len(X)


def improve(E: Floats, s: Statistics, phi: GatherPhi) -> Floats:
    """Accelerated gradient steps in the metric of the diagonal of the Hessian, with backtracking and restart."""
    best, cost, ahead, momentum, length = E, value(E, s, phi), E, 1.0, 1.0
    for _ in range(STEPS):
        D = phi(ahead)
        pull = LAM * s.mass / np.maximum(np.linalg.norm(D, axis=1), 1e-12)
        slope = phi.adjoint(s.gram @ D - s.cross + pull[:, None] * D)
        metric = phi.adjoint(np.repeat((np.diag(s.gram) + pull)[:, None], phi.patch_size, axis=1))
        metric = np.maximum(metric, 1e-3 * metric.mean())  # pixels that no code uses stay where they are
        here, norm = value(ahead, s, phi), float(np.sum(slope**2 / metric))
        while True:
            tried = ahead - slope / (length * metric)
            found = value(tried, s, phi)
            if found <= here - 0.5 * norm / length + 1e-12 * abs(here) or length > 1e6:
                break
            length *= 2.0
        if found > cost:  # the momentum went too far: start again from the best
            ahead, momentum = best, 1.0
            continue
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = tried + (momentum - 1.0) / following * (tried - best)
        best, cost, momentum = tried, found, following
    return best


def value(E: Floats, s: Statistics, phi: GatherPhi) -> float:
    """The cost of the codes' atoms, up to the constant `1/2 |X|^2`."""
    D = phi(E)
    return float(np.vdot(0.5 * (s.gram @ D) - s.cross, D) + LAM * s.mass @ np.linalg.norm(D, axis=1))
