"""Race: all correlations of patches with atoms, the first step of every coder, against the matrix product of NumPy.

"sgemm-peak" is sgemm on large square matrices with a preallocated result: the fastest product on this machine. Ours is
timed as the coders use it, without a result array of `(n, p)` floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, to_race
from benchmarks.record import Race
from benchmarks.rivals import Problem
from benchmarks.start import PATCH, race_epitome
from benchmarks.timing import Lap
from epitomes import Epitome, Patches, kernels

SIGMA = 25
SQUARE = 1536
PAIRS = (("rows", "sgemm-peak"), ("rows", "sgemm"), ("windows", "sgemm-peak"), ("windows", "rows"))


def run(options: Options) -> Iterator[Race]:
    picture = to_race(options.images, options.quick)[0]
    epitome, kind = race_epitome()
    problem = Problem(add_noise(picture.pixels, SIGMA, 0), epitome, threads=1)
    flops = 2.0 * problem.rows.size * len(problem.atoms)
    laps = measure(problem, flops, options)
    for method, peer in PAIRS:
        yield row(laps[method], laps[peer], method, peer, picture, problem, kind, flops)


def measure(problem: Problem, flops: float, options: Options) -> dict[str, Lap[object]]:
    """Time one pass over all patches, with one thread."""
    engine = Epitome(problem.epitome.pixels, problem.epitome.phi).dictionary.engine
    block = np.ascontiguousarray(problem.rows[:4096])
    atoms = np.ascontiguousarray(problem.unit.T)
    product = np.empty((len(block), atoms.shape[1]), np.float32)
    left = np.random.default_rng(0).standard_normal((SQUARE, SQUARE)).astype(np.float32)
    square = np.empty_like(left)
    runners: dict[str, Callable[[], object]] = {
        "rows": partial(engine.correlate, kernels.Rows(problem.rows, None), keep=False),
        "windows": partial(engine.correlate, windows_of(problem), keep=False),
        "sgemm": partial(np.matmul, block, atoms, out=product),
        "sgemm-peak": partial(np.matmul, left, left, out=square),
    }
    laps = timing.interleave(runners, rounds=3 * options.rounds, clock="cpu")
    laps["sgemm"] = laps["sgemm"].scaled(len(problem.rows) / len(block))
    laps["sgemm-peak"] = laps["sgemm-peak"].scaled(flops / (2.0 * SQUARE**3))
    return laps


def windows_of(problem: Problem) -> kernels.Windows:
    """Prepare all patches for the kernel: the image minus its level, and the lines of windows."""
    patches = Patches(problem.noisy, PATCH)
    image = np.subtract(problem.noisy, np.float32(patches.level))[:, :, None]
    return kernels.Windows(image, patches.positions[0].astype(np.int64), 0, patches.n_patches, True)


def row(
    ours: Lap[object],
    peer: Lap[object],
    method: str,
    name: str,
    picture: Picture,
    problem: Problem,
    kind: str,
    flops: float,
) -> Race:
    return Race(
        race="correlate",
        image=picture.name,
        method=f"epitomes-{method}",
        peer=f"epitomes-{name}" if name == "rows" else name,
        ratio=timing.ratio(peer, ours),
        seconds=ours.seconds,
        peer_seconds=peer.seconds,
        paired_ratio=timing.paired_ratio(peer, ours),
        rounds=len(ours.rounds),
        clock="cpu",
        threads=1,
        n_patches=len(problem.rows),
        pictures=picture.source,
        epitome=kind,
        sigma=SIGMA,
        gflops=flops / ours.seconds * 1e-9,
    )
