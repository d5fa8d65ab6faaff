"""Search: which method suits an image, from the noisy image alone and within a time budget.

Candidates are tried on tiles of the image and compared by held-out noise. The prior comes from measurements on many
images: "balanced" is hard to beat, so another candidate must be better by more than the estimate is uncertain, or
surely as good in less time. Candidates that can hardly win are not tried; `docs/denoising.md` has the numbers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from epitomes.checks import Array
from epitomes.restoration.method import Callback, Method
from epitomes.restoration.non_local.outliers import is_too_faint, outliers_of
from epitomes.restoration.patchwise import Patchwise
from epitomes.restoration.planning.candidates import (
    BALANCED,
    BEST,
    COARSE,
    FAST,
    PAPER,
    Candidate,
    Outcome,
    Task,
    atoms_needed,
    tried,
    warm_up,
)
from epitomes.restoration.planning.held_out import SIDE, Gain, HeldOut, gain, hold_out, mean_square_error
from epitomes.restoration.planning.timing import seconds_of, short, too_slow

TINY = 8  # pixels along an axis: smaller images have no room for a patch of the shipped epitome
LEAST = 64 * 64  # pixels; on fewer, candidates cannot be told apart
SHARE = 9.5  # one pixel of so many is tried, if that makes three tiles or more
FEWEST, MOST = 3, 16  # tiles
WORTH = 0.05  # dB that more time must gain
SMALL = 256 * 256  # values: "best" takes seconds
FEW_ATOMS = 0.5  # per patch: on smoother grey images "best" gains most
MANY_ATOMS = 4.0  # per patch: from there on an epitome learned from the image may gain
MOST_ATOMS = 20.0  # per patch: from there on learning takes too long, and nothing gains over "balanced"
TRYING = 0.25  # of the time budget, for trials
MARGIN = 1.1  # on predicted times
N_CANDIDATES = 4  # about, for the progress shown


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One candidate and what is expected of it.

    Parameters
    ----------
    label : str
        Name of the candidate.
    gain : float or None
        Estimated gain over "fast" in dB; None if it was not tried.
    error : float or None
        Standard deviation of the gain.
    seconds : float
        Predicted time for the whole image, all planes counted.
    fits : bool
        Whether it fits in the time budget.

    Examples
    --------
    >>> from epitomes.restoration import Trial
    >>> Trial(label="fast", gain=0.0, error=0.0, seconds=0.5, fits=True).label
    'fast'
    """

    label: str
    gain: float | None
    error: float | None
    seconds: float
    fits: bool


@dataclass(frozen=True, eq=False)
class Decision:
    """The method chosen, the candidates tried, and why."""

    method: Method
    trials: tuple[Trial, ...]
    reasons: tuple[str, ...]

    @property
    def seconds(self) -> float | None:
        """Predicted time of the method, where it is known."""
        return next((trial.seconds for trial in self.trials if trial.label == self.method.label), None)


@dataclass(eq=False)
class _Log:
    """Trials and reasons so far."""

    task: Task
    callback: Callback | None
    trials: list[Trial]
    reasons: list[str]

    def add(self, candidate: Candidate, over_fast: Gain | None, seconds: float) -> Trial:
        trial = Trial(
            label=candidate.label,
            gain=None if over_fast is None else over_fast.decibels,
            error=None if over_fast is None else over_fast.error,
            seconds=seconds,
            fits=self.task.has_time_for(MARGIN * seconds),
        )
        self.trials.append(trial)
        if self.callback is not None:
            self.callback(min(1.0, len(self.trials) / N_CANDIDATES), f"compared {trial.label}")
        return trial

    def measure(self, candidate: Candidate) -> Trial:
        """Measure the time of a candidate, without comparing it; what was measured before is kept."""
        known = [trial for trial in self.trials if trial.label == candidate.label]
        return known[0] if known else self.add(candidate, None, seconds_of(candidate.method, self.task) or 0.0)

    def of(self, candidate: Candidate) -> Trial:
        return next(trial for trial in self.trials if trial.label == candidate.label)

    def fits(self, candidate: Candidate) -> bool:
        return self.of(candidate).fits


def search(
    image: Array,
    sigma: float,
    *,
    n_planes: int = 1,
    larger: float = 1.0,
    seconds: float | None = None,
    began: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Decision:
    """Choose a method for an image `(height, width)` or `(height, width, channels)` of floats with white noise.

    `seconds` are for the search and the denoising of `n_planes` images like this one together, each `larger` times its
    size, since `began` (now, by default). Without it the clock decides nothing, and the choice depends on the image
    alone.

    Raises
    ------
    TimeLimitError
        If not even the quickest method fits.
    """
    since = time.perf_counter() if began is None else began
    task = Task(image, sigma, seconds, seed, threads, since, n_planes, larger, channels=image.ndim == 3)
    log = _Log(task, callback, [], [])
    high, wide = image.shape[:2]
    if min(high, wide) < TINY:
        return Decision(Patchwise(), (), (f"an image of {high} x {wide} pixels needs smaller patches",))
    outliers = outliers_of(image, sigma)
    if outliers is not None and is_too_faint(outliers):
        return Decision(FAST.method, (), ("the noise is too faint beside the range of the image to be removed",))
    warm_up(image.dtype)
    if high * wide < LEAST:
        log.reasons.append(f"an image of {high} x {wide} pixels is too small to compare methods on")
        return by_time(task, log.reasons) if seconds is not None else Decision(BALANCED.method, (), (*log.reasons,))
    chosen = _by_trials(log)
    if seconds is not None and not log.fits(chosen):
        return by_time(task, log.reasons, log.trials)
    return Decision(chosen.method, tuple(log.trials), (*log.reasons, *_time_words(chosen, log.trials, seconds)))


def by_time(task: Task, reasons: Sequence[str], before: Sequence[Trial] = ()) -> Decision:
    """Choose by time alone: the best method that fits, "balanced" if there is no limit.

    Raises
    ------
    TimeLimitError
        If not even the quickest method fits.
    """
    log = _Log(task, None, list(before), list(reasons))
    if task.limit is None:
        log.measure(BALANCED)
        return Decision(BALANCED.method, tuple(log.trials), tuple(log.reasons))
    chosen = None
    for candidate, leap in ((FAST, 1.0), (BALANCED, 1.0), (BEST, BEST.cost / BALANCED.cost)):
        if chosen is not None and not task.has_time_for(leap * log.of(chosen).seconds):
            break
        if not log.measure(candidate).fits:
            break
        chosen = candidate
    coarse = COARSE if task.blocks is None else COARSE[:1]  # correlated noise has one coarse filter
    for candidate in coarse if chosen is None else ():
        if log.measure(candidate).fits:
            chosen = candidate
            break
    if chosen is None:
        quickest = min(log.trials, key=lambda trial: trial.seconds)
        raise too_slow(quickest.label, quickest.seconds, task.limit, task.limit - task.left)
    words = _time_words(chosen, log.trials, task.limit)
    return Decision(chosen.method, tuple(log.trials), (*log.reasons, *words))


def _by_trials(log: _Log) -> Candidate:
    """Try one candidate after the other; each replaces the leader or does not."""
    task = log.task
    atoms = atoms_needed(task, hold_out(task.image, task.sigma, FEWEST, task.seed))
    if atoms >= MOST_ATOMS:
        log.reasons.append(f"the noise is faint beside the structure of the image ({atoms:.0f} atoms per patch)")
        log.measure(BALANCED)
        return BALANCED
    held = hold_out(task.image, task.sigma, _n_tiles(task), task.seed)
    fast = _outcome(FAST, task, held, 0.0)
    log.add(FAST, Gain(0.0, 0.0), fast.seconds)
    mse = mean_square_error(
        lambda u: FAST.method.run(u, held.sigma, channels=task.channels, threads=task.threads).image,
        held,
        fast.estimates,
        task.seed,
    )
    leader, best, best_mse, n_tiles = FAST, fast, mse, []
    compared: list[str] = []
    for candidate in (BALANCED, *PAPER):
        if not _may_win(candidate, task, atoms, leader):
            continue
        guess = candidate.cost * fast.seconds
        first = held.n_values / task.n_values / (1 if candidate in PAPER else len(held.tiles))  # until measured
        trying = candidate.trial_cost * fast.seconds * first
        if not task.has_time_for(MARGIN * max(guess, best.seconds) + trying):
            log.add(candidate, None, guess + trying)
            continue
        outcome = _outcome(candidate, task, held, best.seconds)
        if log.add(candidate, gain(fast.estimates, outcome.estimates, held, mse), outcome.seconds).fits:
            better = gain(best.estimates, outcome.estimates, held, best_mse)
            n_tiles.append(min(len(best.estimates), len(outcome.estimates)))
            compared.append(
                f"{candidate.label} gains {better.decibels:+.2f} ± {better.error:.2f} dB over {leader.label}"
            )
            if _takes_over(candidate, better):
                leader, best, best_mse = candidate, outcome, best_mse / 10 ** (better.decibels / 10)
    if compared:
        log.reasons += [_place(held, min(n_tiles)), *compared]
    why = _why_best(task, atoms) if leader is BALANCED else None
    guess = BEST.cost / BALANCED.cost * best.seconds
    if why is not None and not task.has_time_for(guess):
        log.add(BEST, None, guess)
    elif why is not None and log.measure(BEST).fits:
        leader = BEST
        log.reasons.append(f'"best" replaces "balanced" without a trial, because {why}')
    return leader


def _why_best(task: Task, atoms: float) -> str | None:
    """Why "best" is worth its time, if it is: its gain over "balanced" is too small to measure in a trial."""
    if task.limit is not None:
        return "there is time for it"
    if task.image.size <= SMALL:
        return f"it takes seconds on {'an image' if task.n_planes == 1 else 'a plane'} of this size"
    if not task.channels and atoms < FEW_ATOMS:
        return f"it gains up to 0.6 dB on an image as smooth as this ({atoms:.2g} atoms per patch)"
    return None


def _may_win(candidate: Candidate, task: Task, atoms: float, leader: Candidate) -> bool:
    """What was measured on many images, as rules; `atoms` are those that a patch needs."""
    if candidate not in PAPER:
        return True
    if task.limit is None:
        useful = candidate is PAPER[0] and atoms >= MANY_ATOMS
    else:
        useful = atoms >= MANY_ATOMS or leader is FAST  # there may be no time for groups
    return useful and atoms < MOST_ATOMS and not task.channels


def _takes_over(candidate: Candidate, better: Gain) -> bool:
    """ "balanced" unless it surely gains nothing; others only if they gain more than the estimate is uncertain."""
    if candidate is BALANCED:
        return better.decibels + better.error >= WORTH
    return better.decibels > max(WORTH, better.error)


def _n_tiles(task: Task) -> int:
    """By the size of the image; or by the time budget, once it is known how long a tile takes."""
    if task.limit is None:
        area = float(task.image.shape[0] * task.image.shape[1])
        return min(MOST, max(FEWEST, round(area / SIDE**2 / SHARE)))
    one = hold_out(task.image, task.sigma, 1, task.seed)
    whole_image = next(tried(FAST, task, one)).seconds
    affordable = [each for each in (FAST, BALANCED) if task.has_time_for(MARGIN * whole_image * each.cost)]
    per_tile = whole_image * one.n_values / task.n_values * sum(each.trial_cost for each in affordable)
    return min(MOST, max(1, int(TRYING * task.limit / per_tile))) if affordable else 1


def _outcome(candidate: Candidate, task: Task, held: HeldOut, leader_seconds: float) -> Outcome:
    """On all tiles, or on as many as there is time for, so that the leader still fits."""
    began = time.perf_counter()
    outcomes = tried(candidate, task, held)
    outcome = next(outcomes)
    for number, later in enumerate(outcomes, start=2):
        outcome = later
        per_tile = (time.perf_counter() - began) / number
        if not task.has_time_for(MARGIN * max(outcome.seconds, leader_seconds) + per_tile):
            break
    return outcome


def _place(held: HeldOut, n_tiles: int) -> str:
    high, wide = held.noisier[0].shape[:2]
    return f"estimated on {n_tiles} tile{'s' if n_tiles > 1 else ''} of {high} x {wide} pixels"


def _time_words(chosen: Candidate, trials: list[Trial], limit: float | None) -> list[str]:
    """How long the choice takes and which candidates would take too long; nothing where time does not matter."""
    if limit is None or not trials:
        return []
    mine = next(trial for trial in trials if trial.label == chosen.label)
    late = [trial for trial in trials if not trial.fits and trial is not mine]
    words = [f"about {short(mine.seconds)} of the {short(limit)} allowed"]
    return words + [f"{trial.label} would take about {short(trial.seconds)}" for trial in late]
