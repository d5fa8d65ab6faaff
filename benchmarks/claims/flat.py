"""Section 4.3: "a multitude of epitomes of the same size as the considered patches is equivalent to a dictionary".

The same alternate minimisation is done twice: by ours with phi, and for a plain matrix of atoms, atom by atom. The
objectives must agree after every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.common import LAM, chosen, drawn
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Claim
from epitomes import Dictionary, Patches
from epitomes.coders import Lasso
from epitomes.draw import Panel, dictionary_picture, sheet
from epitomes.learn import Moments, PreconditionedFista, alternate, cost, smooth_noise
from epitomes.phi import windows

Doubles = NDArray[np.float64]
PATCH = (6, 6)
TOLERANCE = 1e-6


def run(pictures: list[Picture], options: Options) -> Iterator[Claim]:
    name, image = chosen(pictures, "house", options, crop=64)
    count, n_steps, most = (16, 4, 1500) if options.quick else (64, 10, 6000)
    phi = windows((count, *PATCH), PATCH)
    patches = Patches(image.astype(np.float64), PATCH, 2)
    X = patches.rows(0, len(patches))[0]
    coder, start = Lasso(lam=LAM, tol=1e-10), smooth_noise(phi)
    learner = alternate(
        X, start, coder=coder, update=PreconditionedFista(n_steps=most, tol=1e-15), threads=options.threads
    )
    steps = list(islice(learner, n_steps))
    D, objectives = plain(X, start.dictionary.atoms.astype(np.float64), coder, n_steps, most, options.threads)
    found = [step.progress.objective for step in steps]
    difference = max(abs(a - b) / b for a, b in zip(found, objectives, strict=True))
    panels = [
        Panel("epitomes of the size of a patch", dictionary_picture(steps[-1].epitome.dictionary, PATCH)),
        Panel("a dictionary without phi", dictionary_picture(Dictionary(D), PATCH)),
    ]
    yield Claim(
        claim="epitomes as large as the patch are a flat dictionary",
        image=name,
        value=difference,
        against=TOLERANCE,
        holds=difference <= TOLERANCE,
        note=f"largest relative difference of the objectives over {n_steps} steps; {count} atoms",
        figure=drawn(options, "claim-flat", sheet(panels)),
    )


def plain(X: Doubles, D: Doubles, coder: Lasso, n_steps: int, most: int, threads: int) -> tuple[Doubles, list[float]]:
    """Alternate codes and atoms; also return the objective after each step."""
    objectives, codes = [], None
    for _ in range(n_steps):
        codes = coder.encode(X, Dictionary(D), codes, threads=threads)
        moments = Moments.of(X, codes, threads=threads)
        D = improved(D, moments, coder.lam, most)
        objectives.append(cost(D, moments, coder.lam) / len(X))
    return D, objectives


def improved(D: Doubles, moments: Moments, lam: float, most: int) -> Doubles:
    """Update atom by atom: with the others fixed, the optimum of each has a formula."""
    D = D.copy()
    gram, cross, mass = moments.gram, moments.cross, moments.mass
    for _ in range(most):
        moved = 0.0
        for j in np.flatnonzero(moments.used):
            pulled = cross[j] - gram[j] @ D + gram[j, j] * D[j]
            length = float(np.linalg.norm(pulled))
            new = max(0.0, 1.0 - lam * mass[j] / max(length, 1e-300)) * pulled / gram[j, j]
            moved = max(moved, float(np.abs(new - D[j]).max()) / max(float(np.abs(new).max()), 1e-300))
            D[j] = new
        if moved < 1e-12:
            break
    return D
