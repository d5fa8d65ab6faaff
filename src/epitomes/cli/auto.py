"""Zero knobs: settings that suit a picture and the time, chosen once per file and told in one line."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epitomes.cli.errors import tell
from epitomes.cli.planewise import Job, Level, Method, Preset, pieces_of
from epitomes.cli.progress import moving

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epitomes.formats import Picture
    from epitomes.restoration import Choice


def settled(job: Job, picture: Picture, found: list[Level], name: str, began: float) -> Job:
    """The job with settings for this picture; as it is, if they were given. `began` is when its time began to run.

    Of several planes the one with the most structure is tried, and its settings serve all.
    """
    if job.preset is not Preset.auto:
        return job
    noisy = [at for at, level in enumerate(found) if level.sigma > 0]
    if not noisy:
        return replace(job, preset=Preset.balanced)  # nothing will be done
    pieces = list(pieces_of(picture, job.joint(picture)))
    at = max(noisy, key=lambda at: _structure(pieces[at][1], found[at]))
    left = None
    if job.seconds is not None:
        left = job.seconds - (time.perf_counter() - began)
        if left <= 0:
            tell(f"{name}: fast was chosen: estimating the noise took all of the {job.seconds:g} s allowed")
            return replace(job, preset=Preset.fast, together=True)
        left /= len(noisy)
    with moving(f"settings of {name}", 1) as move:
        move(0.0, "trying")
        choice = _choice(job, pieces[at][1], found[at], left)
    planes = f" on plane {pieces[at][0]} for all {len(pieces)}" if len(pieces) > 1 else ""
    tell(f"{name}: {chosen_words(choice, planes)}")
    return replace(
        job,
        method=Method(choice.method),
        preset=Preset(choice.preset),
        price=choice.price,
        together=True,
        choice=choice,
    )


def chosen_words(choice: Choice, place: str = "") -> str:
    """What was chosen, and why."""
    return f"{choice.label} was chosen{place}: {'; '.join(choice.reasons)}"


def _structure(pixels: NDArray[Any], level: Level) -> float:
    import numpy as np

    return float(np.var(pixels, dtype=np.float64)) / level.sigma**2


def _choice(job: Job, pixels: NDArray[Any], level: Level, seconds: float | None) -> Choice:
    from epitomes.noise import anscombe
    from epitomes.restoration import choose

    even = pixels if level.model is None else anscombe(pixels, level.model)
    return choose(even, level.sigma, seconds=seconds, seed=job.seed, threads=job.threads)
