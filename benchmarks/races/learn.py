"""Race: the time until an epitome is as good as that of the paper's algorithm, on SPAMS, after twenty iterations.

All start from the same epitome and see the same patches. The time is taken after every iteration. Afterwards all
patches are coded with the same coder, and Eq. 3 is evaluated. The ratio is the peer's time to its last epitome over our
time to the first one that is no worse.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from benchmarks import judge, timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_pictures
from benchmarks.record import Race
from benchmarks.rivals import Problem, spams_alternate
from benchmarks.start import PATCH, SIDE
from benchmarks.timing import Lap
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.learn import Step, alternate, online, smooth_noise
from epitomes.learn._online import n_batches
from epitomes.phi import windows

SIGMA = 25
LAM = 60.0
PEER = "spams-alternate"
PATIENCE = 2


@dataclass(frozen=True)
class Size:
    """Size of the problem."""

    crop: int | None  # width of the part of the image; None: all of it
    side: int  # of the epitome
    iterations: int  # of the peer
    rounds: int


FULL = Size(crop=None, side=SIDE, iterations=20, rounds=3)
QUICK = Size(crop=88, side=28, iterations=8, rounds=1)


@dataclass(frozen=True, eq=False)
class Course:
    """The epitome after each iteration, and the seconds until then."""

    seconds: tuple[float, ...]
    epitomes: tuple[Epitome, ...]


def run(options: Options) -> Iterator[Race]:
    size = QUICK if options.quick else FULL
    picture = read_pictures(options.images)[0]
    for seed in range(options.seeds):
        clean = picture.pixels if size.crop is None else middle(picture.pixels, size.crop)
        noisy = add_noise(clean, SIGMA, seed)
        phi = windows((size.side, size.side), PATCH)
        start = smooth_noise(phi)
        problem = Problem(noisy, start, options.threads, lam=LAM)
        yield from measure(problem, picture, size, seed, options)


def measure(problem: Problem, picture: Picture, size: Size, seed: int, options: Options) -> Iterator[Race]:
    """Yield one row for each of our learners."""
    if spams_alternate.learner(problem) is None:
        return
    clock = timing.clock_name(options.threads)
    runners = competitors(problem, size)
    for make, _ in runners.values():
        next(make())  # imports, packed patches: not counted
    courses: dict[str, list[Course]] = {name: [] for name in runners}
    for _ in range(size.rounds):
        for name, (make, n_steps) in runners.items():
            courses[name].append(walk(make(), n_steps, clock))
    value = worth(problem)
    goal = courses[PEER][0].epitomes[-1]
    peer = Lap(tuple(course.seconds[-1] for course in courses[PEER]), goal)
    for name in ("epitomes", "epitomes-online"):
        epitomes = courses[name][0].epitomes  # the same in every round, because they depend on the seed alone
        reached = first_at_most(epitomes, value(goal), value)
        at = len(epitomes) - 1 if reached is None else reached
        ours = Lap(tuple(course.seconds[at] for course in courses[name]), epitomes[at])
        yield row(name, ours, peer, picture, problem, seed, options, reached is not None, value, at + 1, size)


def competitors(problem: Problem, size: Size) -> dict[str, tuple[Callable[[], Iterator[Epitome]], int]]:
    """Return all learners with their numbers of steps.

    `alternate` makes `PATIENCE` times as many as the peer, since only the time counts. `online` makes as many passes
    over the patches as the peer; each of its steps is a batch.
    """
    coder, start, threads = Lasso(lam=problem.lam), problem.epitome, problem.threads

    def ours() -> Iterator[Epitome]:
        return epitomes_of(alternate(Patches(problem.noisy, PATCH), start, coder=coder, threads=threads))

    def ours_online() -> Iterator[Epitome]:
        return epitomes_of(online(Patches(problem.noisy, PATCH), start, coder=coder, threads=threads))

    passes = n_batches(Patches(problem.noisy, PATCH))
    return {
        PEER: (lambda: spams_alternate.iterations(problem), size.iterations),
        "epitomes": (ours, PATIENCE * size.iterations),
        "epitomes-online": (ours_online, size.iterations * passes),
    }


def epitomes_of(steps: Iterator[Step]) -> Iterator[Epitome]:
    """Return the epitome of each step."""
    return (step.epitome for step in steps)


def walk(epitomes: Iterator[Epitome], n_steps: int, clock: str) -> Course:
    """Make so many steps and take the time after each."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    began, marks, found = now(), [], []
    for epitome in islice(epitomes, n_steps):
        marks.append(max(now() - began, 1e-9))
        found.append(dataclasses.replace(epitome))  # without its prepared dictionary, which takes megabytes
    return Course(tuple(marks), tuple(found))


def worth(problem: Problem) -> Callable[[Epitome], float]:
    """Return a function that computes Eq. 3 per patch in float64, over all patches, with one coder."""
    patches = Patches(problem.noisy.astype(np.float64), PATCH)
    rows = patches.rows(0, len(patches))[0]
    coder = Lasso(lam=problem.lam, tol=1e-7)

    @cache
    def value(epitome: Epitome) -> float:
        full = dataclasses.replace(epitome, pixels=epitome.pixels.astype(np.float64))
        codes = coder.encode(patches, full.dictionary, threads=problem.threads)
        return float(judge.objective(rows, full.dictionary.atoms, codes, problem.lam).mean())

    return value


def first_at_most(epitomes: tuple[Epitome, ...], goal: float, value: Callable[[Epitome], float]) -> int | None:
    """Find the first epitome with a value of at most `goal` by bisection, since the values decrease."""
    if value(epitomes[-1]) > goal:
        return None
    low, high = 0, len(epitomes) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if value(epitomes[middle]) <= goal else (middle + 1, high)
    return low


def row(
    name: str,
    ours: Lap[Epitome],
    peer: Lap[Epitome],
    picture: Picture,
    problem: Problem,
    seed: int,
    options: Options,
    reached: bool,
    value: Callable[[Epitome], float],
    n_steps: int,
    size: Size,
) -> Race:
    return Race(
        race="learn",
        image=picture.name,
        method=name,
        peer=PEER,
        ratio=timing.ratio(peer, ours) if reached else 0.0,
        seconds=ours.seconds,
        peer_seconds=peer.seconds,
        paired_ratio=timing.paired_ratio(peer, ours) if reached else 0.0,
        rounds=size.rounds,
        clock=timing.clock_name(options.threads),
        threads=options.threads,
        n_patches=len(problem.rows),
        pictures=picture.source,
        epitome="noise",
        seed=seed,
        sigma=SIGMA,
        lam=problem.lam,
        reached=reached,
        n_steps=n_steps,
        peer_n_steps=size.iterations,
        objective=value(ours.result),
        peer_objective=value(peer.result),
    )
