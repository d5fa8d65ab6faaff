"""Race: the time until a flat dictionary is as good as that of `spams.trainDL`, or of scikit-learn.

All see the same patches of a noisy image, without their means, and start from the same random patches. The peer does
its work in one call. Our learner is stopped after every few batches; afterwards all patches are coded with the same
coder, and the mean of `1/2 |x - a D|^2 + lam |a|_1` is computed. The ratio is the peer's time over ours until no worse.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks import judge, timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_pictures
from benchmarks.record import Race
from benchmarks.rivals import dictionary
from benchmarks.start import PATCH
from epitomes import Dictionary, Patches
from epitomes.baselines.by_dictionary import first_dictionary
from epitomes.coders import Lasso
from epitomes.learn import BlockCoordinate, online

SIGMA = 25
LAM = 60.0
ATOMS = 256
QUICK_CROP = 88
BATCHES = {"spams.trainDL": 400, "sklearn": 60}  # of the peers; scikit-learn takes a quarter of a second per batch
QUICK_BATCHES = {"spams.trainDL": 40, "sklearn": 2}
PASSES = 16  # of ours, at most
BATCH = 4096  # of ours
JUDGED = 20_000  # patches on which dictionaries are judged

Atoms = NDArray[np.float64]


def run(options: Options) -> Iterator[Race]:
    picture = read_pictures(options.images)[0]
    for seed in range(options.seeds):
        yield from measure(picture, seed, options)


def measure(picture: Picture, seed: int, options: Options) -> Iterator[Race]:
    clean = middle(picture.pixels, QUICK_CROP) if options.quick else picture.pixels
    patches = Patches(add_noise(clean, SIGMA, seed), PATCH)
    rows = np.ascontiguousarray(patches.rows(0, len(patches))[0], np.float32)
    start = first_dictionary(rows, ATOMS, None, seed)
    first = start.dictionary.unit.astype(np.float32)
    makers = {"spams.trainDL": dictionary.spams_learner, "sklearn": dictionary.sklearn_learner}
    clock = timing.clock_name(options.threads)
    now = time.process_time if clock == "cpu" else time.perf_counter
    judged = rows[:: max(1, len(rows) // JUDGED)].astype(np.float64)

    def worth(atoms: Atoms) -> float:
        unit = Dictionary(atoms).unit
        codes = Lasso(lam=LAM, tol=1e-7).encode(judged, Dictionary(unit), threads=options.threads)
        return float(judge.objective(judged, unit, codes, LAM).mean())

    for name, make in makers.items():
        learner = make(rows, first, LAM, options.threads)
        if learner is None:
            continue
        n_batches = (QUICK_BATCHES if options.quick else BATCHES)[name]
        theirs, seconds = timing.once(lambda learner=learner, n=n_batches: learner(n), clock)
        goal = worth(theirs)
        steps = online(
            rows, start, coder=Lasso(lam=LAM), update=BlockCoordinate(), batch=BATCH, rng=seed, threads=options.threads
        )
        began, marks, found = now(), [], []
        for step in islice(steps, max(1, PASSES * len(rows) // BATCH)):
            marks.append(now() - began)
            found.append(step.epitome.pixels)
            if marks[-1] > seconds:
                break
        atoms = [pixels.reshape(ATOMS, -1) for pixels in found]
        at = first_at_most(atoms, goal, worth)
        reached = at is not None
        at = len(found) - 1 if at is None else at
        yield Race(
            race="dictionary",
            image=picture.name,
            method="epitomes-online",
            peer=name,
            ratio=seconds / marks[at] if reached else 0.0,
            seconds=marks[at],
            peer_seconds=seconds,
            paired_ratio=seconds / marks[at] if reached else 0.0,
            rounds=1,
            clock=clock,
            threads=options.threads,
            n_patches=len(rows),
            pictures=picture.source,
            epitome="patches",
            seed=seed,
            sigma=SIGMA,
            lam=LAM,
            reached=reached,
            n_steps=at + 1,
            peer_n_steps=n_batches,
            objective=worth(atoms[at]),
            peer_objective=goal,
        )


def first_at_most(found: list[Atoms], goal: float, worth: object) -> int | None:
    """Find the first dictionary that is at most `goal` by bisection, since the values decrease."""
    assert callable(worth)
    if worth(found[-1]) > goal:
        return None
    low, high = 0, len(found) - 1
    while low < high:
        half = (low + high) // 2
        low, high = (low, half) if worth(found[half]) <= goal else (half + 1, high)
    return low
