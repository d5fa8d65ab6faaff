"""Race: the weighted lasso on about 20 000 noisy patches, with lambda such that patches have 2, 5 and 10 atoms.

The patches are all those of a band of the image, so that ours can use their overlap. A warm start begins with codes on
atoms that differ by 3.4 %, as between two steps of learning. The peers have no warm start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks import judge
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, to_race
from benchmarks.races import compare
from benchmarks.races.compare import Finish
from benchmarks.record import Race
from benchmarks.rivals import Problem, ours, sklearn, spams
from benchmarks.start import PATCH, moved, race_epitome
from epitomes import Dictionary, Epitome, Patches
from epitomes.coders import Lasso

SIGMA = 25
N_PATCHES = 20_000
TARGETS = (2, 5, 10)  # mean non-zeros
QUICK_TARGETS = (5,)
MOVED = 0.034
METHODS = {"epitomes": "cold", "epitomes-rows": "cold", "epitomes-warm": "warm", "epitomes-rows-warm": "warm"}


def run(options: Options) -> Iterator[Race]:
    epitome, kind = race_epitome()
    for picture in to_race(options.images, options.quick):
        for seed in range(options.seeds):
            noisy = band(add_noise(picture.pixels, SIGMA, seed))
            for target in QUICK_TARGETS if options.quick else TARGETS:
                yield from measure(picture, noisy, target, seed, epitome, kind, options)


def band(noisy: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut rows from the middle of the image that hold about `N_PATCHES` patches."""
    per_row = noisy.shape[1] - PATCH[1] + 1
    height = min(noisy.shape[0], round(N_PATCHES / per_row) + PATCH[0] - 1)
    top = (noisy.shape[0] - height) // 2
    return np.ascontiguousarray(noisy[top : top + height])


def measure(
    picture: Picture, noisy: NDArray[np.float32], target: int, seed: int, epitome: Epitome, kind: str, options: Options
) -> Iterator[Race]:
    lam = lam_for(Problem(noisy, epitome, options.threads), target)
    problem = Problem(noisy, epitome, options.threads, lam=lam)
    coder = Lasso(lam=lam)
    start = coder.encode(Patches(noisy, PATCH), moved(epitome, MOVED).dictionary)
    rivals = [
        ours.on_windows("epitomes", coder, problem),
        ours.on_windows("epitomes-warm", coder, problem, start),
        ours.on_rows("epitomes-rows", coder, problem),
        ours.on_rows("epitomes-rows-warm", coder, problem, start),
        *spams.lasso(problem),
        *sklearn.lasso(problem),
    ]
    done = compare.race(rivals, len(problem.rows), options)
    gaps = {name: gap(problem, finish) for name, finish in done.items()}
    for peer in ("spams", "sklearn"):
        for method, begin in METHODS.items():
            if peer not in done or (peer == "sklearn" and method != "epitomes"):
                continue
            difference = differences(problem, done[method], done[peer])
            yield compare.replace(
                compare.row("lasso", done[method], done[peer], picture, options, kind, seed),
                sigma=SIGMA,
                lam=lam,
                start=begin,
                nonzeros=judge.mean_nonzeros(done[method].codes),
                objective_mean=float(difference.mean()),
                objective_min=float(difference.min()),
                objective_max=float(difference.max()),
                gap=gaps[method],
                peer_gap=gaps[peer],
            )


def lam_for(problem: Problem, target: int) -> float:
    """Find the lambda at which ours has about `target` atoms per patch, on every eighth patch."""
    rows = np.ascontiguousarray(problem.rows[::8])
    dictionary = Dictionary(problem.atoms)
    highest = float(np.abs(rows @ problem.unit.T).max())

    def nonzeros(lam: float) -> float:
        found: csr_array = Lasso(lam=lam).encode(rows, dictionary)
        return judge.mean_nonzeros(found)

    return judge.find_lam(nonzeros, target, 1e-3 * highest, highest)


def gap(problem: Problem, finish: Finish) -> float:
    """Compute the largest relative duality gap of a rival."""
    return judge.relative_gap(problem.rows[finish.rival.indices], problem.atoms, finish.codes, problem.lam)


def differences(problem: Problem, first: Finish, peer: Finish) -> NDArray[np.float64]:
    """Compute (ours - peer) / peer for the patches that both coded."""
    rows = problem.rows[peer.rival.indices]
    mine = judge.objective(rows, problem.atoms, first.codes[peer.rival.indices], problem.lam)
    theirs = judge.objective(rows, problem.atoms, peer.codes, problem.lam)
    used = theirs > 0
    return (mine[used] - theirs[used]) / theirs[used]
