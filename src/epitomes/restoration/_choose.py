"""choose: which method, preset and recipe suit an image, from the noisy image alone and within a time.

Ways are tried on tiles of the image and compared by held-out noise (`trial.py`). The prior is what was measured on many
pictures: "balanced" is hard to beat, so another way must be better by more than the estimate is uncertain, or surely as
good in less time. What can hardly win is not tried; `docs/denoising.md` has the numbers.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import as_floats, positive, whole
from epitomes.learn import Step
from epitomes.restoration._denoise import FAINTEST, denoise
from epitomes.restoration.recipe import Recipe
from epitomes.restoration.result import Restored
from epitomes.restoration.trial import SIDE, Gain, Split, gain, mean_square_error, split
from epitomes.restoration.ways import (
    BALANCED,
    BEST,
    BEST_TO_BALANCED,
    FAST,
    PAPER,
    Outcome,
    Task,
    Way,
    atoms_needed,
    recipe_of,
    tried,
)

LEAST = 64 * 64  # pixels: on less, nothing can be told apart
SHARE = 9.5  # of so many pixels one is tried, if that makes three tiles or more
FEWEST, MOST = 3, 16  # tiles
WORTH = 0.05  # dB that more time must gain
SMALL = 256 * 256  # values: "best" takes seconds
FEW_ATOMS = 0.5  # per patch: on smoother grey images "best" gains most
MANY_ATOMS = 4.0  # from there on an epitome of the image's own may gain
MOST_ATOMS = 20.0  # and from there on learning takes too long
TRYING = 0.25  # of the time allowed, for tries
MARGIN = 1.1  # on predicted times


@dataclass(frozen=True, kw_only=True)
class Try:
    """One way to denoise, and what is expected of it."""

    label: str  # "fast", "balanced", "best", or "paper" with its lambda
    gain: float | None  # dB over "fast", estimated; None: it was not tried
    error: float | None  # standard deviation of the gain
    seconds: float  # predicted for the whole image
    fits: bool  # in the time allowed


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """What to do with an image, and why. `choice.denoise(noisy)` does it."""

    label: str  # of the way: "balanced"
    method: str
    preset: str
    price: float | None  # for the paper's method: lambda over sigma
    recipe: Recipe | None  # likewise: how to learn from this image
    sigma: float
    tries: tuple[Try, ...]
    reasons: tuple[str, ...]
    allowed: float | None  # seconds
    spent: float  # seconds that choosing took

    def denoise(
        self,
        noisy: ArrayLike,
        *,
        seed: int = 0,
        threads: int | None = None,
        callback: Callable[[Step], None] | None = None,
        on_pass: Callable[[int, int], None] | None = None,
    ) -> Restored:
        """Denoise as was chosen; the rest as for `denoise`."""
        return denoise(
            noisy,
            self.sigma,
            method=self.method,
            preset=self.preset,
            recipe=self.recipe,
            seed=seed,
            threads=threads,
            callback=None if self.recipe is None else callback,
            on_pass=on_pass,
        )

    def explain(self) -> str:
        """Why, in one line."""
        return f"{self.label}: {'; '.join(self.reasons)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "label": self.label,
            "method": self.method,
            "preset": self.preset if self.recipe is None else None,
            "lam": None if self.recipe is None else self.recipe.lam,
            "reasons": list(self.reasons),
            "tries": [dataclasses.asdict(one) for one in self.tries],
            "seconds_allowed": self.allowed,
            "seconds_spent": self.spent,
        }


Found = tuple[Way, list[Try], list[str]]  # what was chosen, what was tried, why


def choose(
    noisy: ArrayLike,
    sigma: float,
    *,
    seconds: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    on_try: Callable[[Try], None] | None = None,
) -> Choice:
    """Choose how to take white Gaussian noise of standard deviation `sigma` off an image.

        choice = choose(noisy, 12.0, seconds=30)
        print(choice.explain())
        clean = choice.denoise(noisy).image

    The image is `(height, width)` or `(height, width, channels)`. `seconds` are for choosing and denoising together;
    ways that would take longer are left out, and choosing takes up to a quarter of the time. Without `seconds` no clock
    is looked at.

    It is "balanced", unless "fast" is surely as good, or another way better by 0.05 dB and more than the estimate is
    uncertain. Textures under faint noise may learn an epitome of their own by the paper's method. In the place of
    "balanced" comes "best", which takes about six times as long, without a try: where `seconds` leave time for it, on
    images up to 256 x 256, and on smooth grey ones. Images below 64 x 64 are too small to tell:
    "balanced". `on_try` is told of every try.
    """
    began = time.perf_counter()
    pixels = as_floats("noisy", noisy)
    level, start = positive("sigma", sigma), whole("seed", seed, least=0)
    allowed = None if seconds is None else positive("seconds", seconds)
    if pixels.ndim not in (2, 3):
        raise ValueError(
            f"choose needs an image (height, width) or (height, width, channels), got shape {pixels.shape}: "
            "give one plane at a time"
        )
    task = Task(pixels, level, allowed, start, threads, began)
    if np.ptp(pixels) > FAINTEST * level:
        found: Found = (FAST, [], ["noise as faint as that is left as it is"])
    elif pixels.shape[0] * pixels.shape[1] < LEAST:
        found = _usual(task)
    else:
        found = _searched(task, on_try)
    way, tries, reasons = found
    recipe = recipe_of(way, pixels, level)
    return Choice(
        label=way.label,
        method="nonlocal" if recipe is None else "paper",
        preset=way.preset or BALANCED.label,
        price=way.price,
        recipe=recipe,
        sigma=level,
        tries=tuple(tries),
        reasons=(*reasons, *_time_words(way, tries, allowed)),
        allowed=allowed,
        spent=time.perf_counter() - began,
    )


def _usual(task: Task) -> Found:
    """For small images: "balanced", if there is time for it."""
    high, wide = task.pixels.shape[:2]
    reasons = [f"{high} x {wide} pixels are too few to compare ways on"]
    if task.limit is None:
        return BALANCED, [], reasons
    quick = next(tried(FAST, task, split(task.pixels, task.sigma, 1, task.seed))).seconds
    tries = [_as_try(way, None, quick * way.cost, task) for way in (FAST, BALANCED)]
    return (BALANCED if tries[1].fits else FAST), tries, reasons


def _searched(task: Task, on_try: Callable[[Try], None] | None) -> Found:
    """Try one way after the other; each takes the place of the last one that did, or does not."""
    halves = split(task.pixels, task.sigma, _n_tiles(task), task.seed)
    fast = _outcome(FAST, task, halves, 0.0)
    tries: list[Try] = []

    def told(way: Way, over_fast: Gain | None, seconds: float) -> Try:
        tries.append(_as_try(way, over_fast, seconds, task))
        if on_try is not None:
            on_try(tries[-1])
        return tries[-1]

    told(FAST, Gain(0.0, 0.0), fast.seconds)
    atoms = atoms_needed(task, halves)
    mse = mean_square_error(
        lambda u: denoise(u, halves.sigma, preset="fast", threads=task.threads).image, halves, fast.answers, task.seed
    )
    holder, held, held_mse, reasons = FAST, fast, mse, []
    for way in (BALANCED, *PAPER):
        if not _may_win(way, task, atoms, holder):
            continue
        guess = way.cost * fast.seconds
        first = halves.n_values / task.pixels.size / (1 if way in PAPER else len(halves.tiles))  # before it is measured
        trying = way.tile_cost * fast.seconds * first
        if not task.has_time_for(MARGIN * max(guess, held.seconds) + trying):
            told(way, None, guess + trying)
            continue
        outcome = _outcome(way, task, halves, held.seconds)
        if told(way, gain(fast.answers, outcome.answers, halves, mse), outcome.seconds).fits:
            better = gain(held.answers, outcome.answers, halves, held_mse)
            reasons.append(f"{way.label} {_words(better)} against {holder.label}")
            if _takes_over(way, better):
                holder, held, held_mse = way, outcome, held_mse / 10 ** (better.decibels / 10)
    if reasons:
        reasons = [_place(halves), *reasons]
    why = _why_best(task, atoms) if holder is BALANCED else None
    if why is not None and told(BEST, None, BEST_TO_BALANCED * held.seconds).fits:
        holder = BEST
        reasons.append(f"best is a little better than balanced on most images, and {why}")
    return holder, tries, reasons


def _why_best(task: Task, atoms: float) -> str | None:
    """Why "best" is worth its time, if it is: its gain over "balanced" is too small to be seen in a try."""
    if task.limit is not None:
        return "there is time for it"
    if task.pixels.size <= SMALL:
        return "on an image of this size it takes seconds"
    if task.pixels.ndim == 2 and atoms < FEW_ATOMS:
        return f"on one as smooth as this, {atoms:.2g} atoms per patch, by up to 0.6 dB"
    return None


def _may_win(way: Way, task: Task, atoms: float, holder: Way) -> bool:
    """What was measured on many pictures, as rules; `atoms` are those that a patch needs."""
    if way in PAPER:
        if task.limit is None:
            useful = way is PAPER[0] and atoms >= MANY_ATOMS
        else:
            useful = atoms >= MANY_ATOMS or holder is FAST  # there may be no time for groups
        return useful and atoms < MOST_ATOMS and task.pixels.ndim == 2
    return True


def _takes_over(way: Way, better: Gain) -> bool:
    """ "balanced" unless it surely gains nothing; others only if they gain more than the estimate is uncertain."""
    if way is BALANCED:
        return better.decibels + better.error >= WORTH
    return better.decibels > max(WORTH, better.error)


def _n_tiles(task: Task) -> int:
    """By the size of the image; or by the time allowed, once it is known how long a tile takes."""
    if task.limit is None:
        area = float(task.pixels.shape[0] * task.pixels.shape[1])
        return min(MOST, max(FEWEST, round(area / SIDE**2 / SHARE)))
    one = split(task.pixels, task.sigma, 1, task.seed)
    whole_image = next(tried(FAST, task, one)).seconds
    ways = [way for way in (FAST, BALANCED) if task.has_time_for(MARGIN * whole_image * way.cost)]
    per_tile = whole_image * one.n_values / task.pixels.size * sum(way.tile_cost for way in ways)
    return min(MOST, max(1, int(TRYING * task.limit / per_tile))) if ways else 1


def _outcome(way: Way, task: Task, halves: Split, held_seconds: float) -> Outcome:
    """On all tiles, or on as many as there is time for, so that what holds the place still fits."""
    began = time.perf_counter()
    outcomes = tried(way, task, halves)
    outcome = next(outcomes)
    for number, later in enumerate(outcomes, start=2):
        outcome = later
        per_tile = (time.perf_counter() - began) / number
        if not task.has_time_for(MARGIN * max(outcome.seconds, held_seconds) + per_tile):
            break
    return outcome


def _as_try(way: Way, over_fast: Gain | None, seconds: float, task: Task) -> Try:
    return Try(
        label=way.label,
        gain=None if over_fast is None else over_fast.decibels,
        error=None if over_fast is None else over_fast.error,
        seconds=seconds,
        fits=task.has_time_for(MARGIN * seconds),
    )


def _place(halves: Split) -> str:
    high, wide = halves.tried[0].shape[:2]
    count = len(halves.tried)
    return f"estimated on {count} tile{'s' if count > 1 else ''} of {high} x {wide} pixels"


def _words(better: Gain) -> str:
    return f"{better.decibels:+.2f} dB, give or take {better.error:.2f},"


def _time_words(way: Way, tries: list[Try], allowed: float | None) -> list[str]:
    """What the chosen way takes, and which ones would take too long; nothing where time does not matter."""
    if allowed is None or not tries:
        return []
    mine = next(one for one in tries if one.label == way.label)
    late = [one for one in tries if not one.fits and one is not mine]
    if not mine.fits:
        return [f"even {mine.label} takes about {_short(mine.seconds)}, and {_short(allowed)} are allowed"]
    words = [f"about {_short(mine.seconds)} of {_short(allowed)}"]
    return words + [f"{one.label} would take about {_short(one.seconds)}" for one in late]


def _short(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
