"""How long a method takes for an image: measured on a few small tiles of it, not by constants of some machine.

Most of the time grows with the number of pixels. Learning does not: it is measured apart, per step.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from epitomes.checks import Array
from epitomes.colours import turn_of
from epitomes.restoration.method import Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.colour import to_planar
from epitomes.restoration.non_local.passes import AdaptPass, State, bounded
from epitomes.restoration.non_local.presets import passes_of
from epitomes.restoration.non_local.volumes import chosen, n_tried, related, tried_on
from epitomes.restoration.patchwise import Patchwise, Recipe
from epitomes.restoration.planning.candidates import Candidate, Task, atoms_needed, tried, warm_up, work_of
from epitomes.restoration.planning.held_out import hold_out, tiles

SIDE = 64  # of a tile, pixels
CORRELATED_SIDE = 128  # the same where noise is correlated: at half the size, smaller ones are mostly border
TILES = 2
LARGER_SIDE = 192  # of other tiles, where a method is quick: calls take milliseconds, too
TRIALS = 2  # tiles on which arrangements of planes are compared, about
ENOUGH = 0.5  # seconds: no other tile is measured after them
LEAST_SIDE = 16  # pixels, of images for which learning is measured


class TimeLimitError(ValueError):
    """No method denoises an image within the time allowed.

    Parameters
    ----------
    message : str
        What was allowed, what is needed, and what to do.
    value : float
        Seconds that would be enough.

    See Also
    --------
    epitomes.denoise : Its argument `time` is the limit.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.restoration import TimeLimitError
    >>> noisy = np.random.default_rng(0).normal(100, 10, (64, 64))
    >>> try:
    ...     denoise(noisy, sigma=10, time=1e-6)
    ... except TimeLimitError as error:
    ...     print(error.value > 1e-6)
    True
    """

    argument = "time"

    def __init__(self, message: str, value: float) -> None:
        super().__init__(message)
        self.value = value


def too_slow(label: str, seconds: float, limit: float, spent: float = 0.0) -> TimeLimitError:
    """The error for an image that even the quickest method cannot denoise in time."""
    needed = rounded_up(1.2 * seconds + spent)
    return TimeLimitError(
        f"the quickest method ({label}) needs about {short(seconds)}, and {short(limit)} are allowed: allow "
        f"{needed:g} s, or crop or shrink the image",
        needed,
    )


def seconds_of(method: Method, task: Task) -> float | None:
    """Predict the time of a method for all planes of a task; None if nothing is known of the method."""
    warm_up(task.image.dtype)
    if isinstance(method, NonLocal):
        return _by_groups(method, task) if task.volume is None else _across_planes(method, task.volume, task)
    volume = task.volume
    if isinstance(method, Patchwise) and volume is not None and method.prepare(volume.shape, task.channels) > 2:
        return None if method.epitome is None else _in_volume(method, volume, task)
    grey = task.blocks is None and task.image.ndim == 2 and min(task.image.shape) >= LEAST_SIDE
    if isinstance(method, Patchwise) and grey:
        known = method if method.epitome is not None or method.recipe is not None else replace(method, recipe=Recipe())
        held = hold_out(task.image, task.sigma, 1, task.seed)
        return next(tried(Candidate(known), task, held)).seconds
    return None


def short(seconds: float) -> str:
    """Format seconds for people: two digits."""
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def rounded_up(seconds: float) -> float:
    """The next number with two digits."""
    unit = 10 ** (math.floor(math.log10(seconds)) - 1)
    return float(f"{math.ceil(seconds / unit) * unit:.2g}")


def _in_volume(method: Patchwise, volume: Array, task: Task) -> float:
    """Of patches with three axes: a tile of the volume."""
    part = next(tried_on(volume))
    began = time.perf_counter()
    method.run(part, task.sigma, blocks=task.blocks, channels=task.channels, seed=task.seed, threads=task.threads)
    return (time.perf_counter() - began) * task.n_values / part.size


def _across_planes(method: NonLocal, volume: Array, task: Task) -> float:
    """Of a volume: the trials of arrangements, and all stages on a tile."""
    deep = method.prepare(volume.shape, task.channels) == 3 and task.blocks is None
    if not deep or (method.planes == "auto" and not related(volume, task.sigma)):
        return _by_groups(method, task)
    part = next(tried_on(volume))
    began = time.perf_counter()
    arrangement = chosen(part, task.sigma, method.planes, method.spacing, method.preset, task.seed, task.threads)
    trial = time.perf_counter() - began
    began = time.perf_counter()
    known = replace(method, planes=arrangement.name)
    known.run(part, task.sigma, channels=task.channels, seed=task.seed, threads=task.threads)
    trials = (1 + n_tried(volume.shape[:3])) / 2  # the second may be spared
    return trial * trials + (time.perf_counter() - began) * task.n_values / part.size


def _by_groups(method: NonLocal, task: Task) -> float:
    settled = method.settled(task.image, task.sigma)
    passes = passes_of(method.preset) if method.passes is None else method.passes
    learning = [step for step in passes if isinstance(step, AdaptPass)]
    lean = replace(settled, passes=tuple(step for step in passes if not isinstance(step, AdaptPass)))
    spent = seen = 0.0
    side = SIDE if task.blocks is None else CORRELATED_SIDE
    for tile in (*tiles(task.image, TILES, side), *tiles(task.image, TILES, LARGER_SIDE)):
        if spent > ENOUGH / 10 and tile.shape[0] > side:
            break
        began = time.perf_counter()
        found = lean.run(
            np.ascontiguousarray(tile),
            task.sigma,
            blocks=task.blocks,
            channels=task.channels,
            seed=task.seed,
            threads=task.threads,
        )
        spent, seen = spent + time.perf_counter() - began, seen + work_of(tile.shape)
        if spent > ENOUGH:
            break
    if learning and method.passes is None and task.blocks is None:
        atoms = atoms_needed(task, hold_out(task.image, task.sigma, TILES, task.seed))
        learning = [step for step in bounded(learning, atoms) if isinstance(step, AdaptPass)]
    steps = sum(_learning(step, found.image, settled, task) for step in learning)
    return spent * task.work / seen + steps * task.n_planes


def _learning(step: AdaptPass, estimate: Array, method: NonLocal, task: Task) -> float:
    """Seconds of learning for one plane, from those of a single step on a tile."""
    level = task.sigma if task.blocks is None else float(np.mean(task.blocks.sigma))
    planar = to_planar(estimate, float(estimate.mean()), level, turn_of(estimate))
    state = State.begin(planar, planar, method.starting_epitome)
    began = time.perf_counter()
    replace(step, most_steps=1).run(state, seed=task.seed, threads=task.threads)
    high, wide = (side - 7 for side in task.image.shape[:2])
    return (time.perf_counter() - began) * step.n_steps(max(1, high * wide))
