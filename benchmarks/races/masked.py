"""Race: error-bounded pursuit of 8 x 8 patches with unknown pixels, up to the noise.

Each patch has its own random mask. Every fourth line and column of patches is coded. The peer is the masked pursuit of
SPAMS, whose error bound for a patch is scaled by its share of known pixels, as ours is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import judge
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, to_race
from benchmarks.races import compare
from benchmarks.record import Race
from benchmarks.rivals import Problem, Rival, spams
from benchmarks.rivals.ours import as_they_are, prepared
from benchmarks.start import race_epitome
from epitomes import Dictionary, Epitome
from epitomes.coders import OLS

SHARES = (0.9, 0.5, 0.2)  # of known pixels
SIGMA = 10
EVERY = 4
RESIDUAL_FACTOR = 1.15  # times the noise level, as in K-SVD denoising


def run(options: Options) -> Iterator[Race]:
    epitome, kind = race_epitome()
    for picture in to_race(options.images, options.quick):
        for seed in range(options.seeds):
            for share in SHARES:
                yield from measure(picture, share, seed, epitome, kind, options)


def measure(picture: Picture, share: float, seed: int, epitome: Epitome, kind: str, options: Options) -> Iterator[Race]:
    bound = 64 * (RESIDUAL_FACTOR * SIGMA) ** 2
    noisy = add_noise(picture.pixels, SIGMA, seed)
    problem = Problem(noisy, epitome, options.threads, residual=bound)
    grid = np.arange(len(problem.rows)).reshape(noisy.shape[0] - 7, -1)[::EVERY, ::EVERY].ravel()
    rows = np.ascontiguousarray(problem.rows[grid])
    known = np.random.default_rng([seed, 1]).random(rows.shape) < share
    dictionary, coder = prepared(Dictionary(problem.atoms)), OLS(residual=bound)
    ours = Rival("epitomes", lambda: coder.encode(rows, dictionary, mask=known, threads=options.threads), as_they_are)
    done = compare.race([ours, *spams.masked_pursuit(problem, rows, known)], len(rows), options)
    if "spams" in done:
        first, second = done["epitomes"], done["spams"]
        yield compare.replace(
            compare.row("masked", first, second, picture, options, kind, seed),
            sigma=SIGMA,
            known=share,
            agree=judge.agreement(first.codes, second.codes),
            nonzeros=judge.mean_nonzeros(first.codes),
        )
