"""Race: several threads against one, on a large image. The bits must be equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from benchmarks import judge
from benchmarks.options import Options
from benchmarks.pictures import add_noise, named, read_pictures
from benchmarks.races import compare
from benchmarks.races.pursuit import RESIDUAL_FACTOR
from benchmarks.record import Race
from benchmarks.rivals import Problem, ours
from benchmarks.start import race_epitome
from epitomes.coders import OLS

SIGMAS = (25, 10)


def run(options: Options) -> Iterator[Race]:
    several = replace(options, threads=max(2, options.threads))
    picture = named(read_pictures(options.images), "boat")
    epitome, kind = race_epitome()
    for sigma in SIGMAS:
        bound = 64 * (RESIDUAL_FACTOR * sigma) ** 2
        one = Problem(add_noise(picture.pixels, sigma, 0), epitome, 1, residual=bound)
        many = replace(one, threads=several.threads)
        names = f"epitomes-{many.threads}-threads", "epitomes-1-thread"
        rivals = [
            ours.on_windows(names[0], OLS(residual=bound), many),
            ours.on_windows(names[1], OLS(residual=bound), one),
        ]
        done = compare.race(rivals, len(one.rows), several)
        first, second = done[names[0]], done[names[1]]
        yield compare.replace(
            compare.row("threads", first, second, picture, several, kind, 0),
            sigma=sigma,
            agree=judge.agreement(first.codes, second.codes),
            bits_equal=same_bits(first.codes, second.codes),
        )


def same_bits(first: csr_array, second: csr_array) -> bool:
    """Compare atoms and coefficients to the last bit."""
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(first, part), getattr(second, part)) for part in parts)
