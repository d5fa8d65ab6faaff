"""Race: error-bounded pursuit of all 8 x 8 patches of noisy images, up to the noise.

OLS against SPAMS, which computes orthogonal least squares too, so that the supports must be identical; and plain OMP
against scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import judge
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, to_race
from benchmarks.races import compare
from benchmarks.record import Race
from benchmarks.rivals import Problem, ours, sklearn, spams
from benchmarks.start import race_epitome
from epitomes import Epitome
from epitomes.coders import OLS, OMP

SIGMAS = (25, 10, 5)
RESIDUAL_FACTOR = 1.15  # times the noise level, as in K-SVD denoising
PAIRS = (("epitomes", "spams"), ("epitomes-fresh", "spams"), ("epitomes-rows", "spams"), ("epitomes-omp", "sklearn"))


def run(options: Options) -> Iterator[Race]:
    epitome, kind = race_epitome()
    for picture in to_race(options.images, options.quick):
        for seed in range(options.seeds):
            for sigma in SIGMAS:
                yield from measure(picture, sigma, seed, epitome, kind, options)


def measure(picture: Picture, sigma: int, seed: int, epitome: Epitome, kind: str, options: Options) -> Iterator[Race]:
    bound = 64 * (RESIDUAL_FACTOR * sigma) ** 2
    problem = Problem(add_noise(picture.pixels, sigma, seed), epitome, options.threads, residual=bound)
    rivals = [
        ours.on_windows("epitomes", OLS(residual=bound), problem),
        ours.fresh("epitomes-fresh", OLS(residual=bound), problem),
        ours.on_rows("epitomes-rows", OLS(residual=bound), problem),
        *spams.pursuit(problem),
    ]
    if peers := sklearn.pursuit(problem):
        rivals += [ours.on_windows("epitomes-omp", OMP(residual=bound), problem), *peers]
    done = compare.race(rivals, len(problem.rows), options)
    for method, peer in PAIRS:
        if method in done and peer in done:
            first, second = done[method], done[peer]
            yield compare.replace(
                compare.row("pursuit", first, second, picture, options, kind, seed),
                sigma=sigma,
                agree=judge.agreement(first.codes[second.rival.indices], second.codes),
                nonzeros=judge.mean_nonzeros(first.codes),
            )
