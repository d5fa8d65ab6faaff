"""Steps: what learners yield, and `run`, which decides when they stop, who watches and what is saved.

A learner is a generator of steps. It knows nothing of tolerances, clocks, terminals or files, so a reader's own `for`
loop is as good as `run`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from epitomes.checks import positive, whole
from epitomes.coders import Codes
from epitomes.display import repr_html
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments

if TYPE_CHECKING:
    from epitomes.learn.update import Update


@dataclass(frozen=True)
class Progress:
    """The numbers of one step."""

    index: int  # steps done, this one included: 1, 2, ...
    scale: int  # of a multi-scale run, 0 the coarsest
    objective: float  # Eq. 3: mean over the patches of this step, after it
    sparsity: float  # mean number of atoms per patch
    n_unused: int  # atoms that no patch used
    seconds: float  # that this step took


@dataclass(frozen=True, eq=False)
class Step:
    """An epitome on its way, and what the next step needs besides: with `after=step` a learner goes on from here."""

    progress: Progress
    epitome: Epitome
    codes: Codes | None = None  # of the patches, to start the next codes from
    moments: Moments | None = None  # of the patches seen so far


@dataclass(frozen=True, eq=False)
class Fit:
    """A learned epitome and how it came about."""

    epitome: Epitome
    history: tuple[Progress, ...]
    reason: str  # why it stopped, in words

    _repr_html_ = repr_html


def run(
    steps: Iterator[Step],
    *,
    max_steps: int = 50,
    tol: float | None = None,
    seconds: float | None = None,
    callback: Callable[[Step], None] | None = None,
    checkpoint: Path | None = None,
    every: int = 1,
    history: Sequence[Progress] = (),
) -> Fit:
    """Take steps until `max_steps` are done, the objective falls by less than `tol` of itself, or time is up.

    `checkpoint` names a file that always holds the last of every `every` steps, whole: `load_step` reads it, a learner
    goes on `after` it, and `history` is what was done before. Interrupted and resumed runs end with the same bits.
    """
    whole("max_steps", max_steps, least=1)
    whole("every", every, least=1)
    if tol is not None:
        positive("tol", tol, zero=True)
    if seconds is not None:
        positive("seconds", seconds)
    done, last = list(history), None
    if done and done[-1].index >= max_steps:
        raise ValueError(f"the run to go on with has {done[-1].index} steps already: raise max_steps above that")
    began = time.perf_counter()
    reason = f"{max_steps} steps done"
    for step in steps:
        last = step
        done.append(step.progress)
        if callback is not None:
            callback(step)
        finished = _reason(done, max_steps, tol, seconds, began)
        if checkpoint is not None and (finished or len(done) % every == 0):
            _save(checkpoint, step, done)
        if finished:
            reason = finished
            break
    else:
        reason = "no steps left"
    if last is None:
        raise ValueError("the learner gave no step: it was already done, or had no patches")
    return Fit(last.epitome, tuple(done), reason)


def _reason(done: list[Progress], max_steps: int, tol: float | None, seconds: float | None, began: float) -> str:
    """Why to stop here, or nothing."""
    now = done[-1]
    if now.index >= max_steps:
        return f"{max_steps} steps done"
    if seconds is not None and time.perf_counter() - began >= seconds:
        return f"{seconds:g} seconds are over"
    if tol is not None and len(done) > 1 and done[-2].scale == now.scale:
        fall = done[-2].objective - now.objective
        if fall <= tol * abs(now.objective):
            return f"the objective fell by {fall / max(abs(now.objective), 1e-300):.1e} of itself, tol is {tol:g}"
    return ""


def _save(path: Path, step: Step, done: list[Progress]) -> None:
    from epitomes.learn.checkpoint import save_step  # it needs Step

    save_step(path, step, done)


def improved(epitome: Epitome, moments: Moments, lam: float, update: Update, threads: int | None) -> Improvement:
    """The dictionary step, then a rescaling: `D / s` and `s A`, with s the root mean square of the atoms' norms.

    Neither the objective nor the dictionary's span changes. The paper divides by the smallest norm instead (section
    3.1); one faint atom in a flat corner of the epitome then blows all others up, the opposite of what it is for. While
    s is near 1 nothing needs it, and nothing is done.
    """
    better, value = update.step(epitome, moments, lam, threads=threads)
    objective = value / max(moments.count, 1.0)
    factor = float(np.sqrt(np.mean(better.dictionary.norms.astype(np.float64) ** 2)))
    if not factor > 0:
        raise ValueError("all atoms became zero: lam is too large for these patches, lower it")
    if 0.5 < factor < 2.0:
        return Improvement(better, moments, 1.0, objective)
    rescaled = replace(better, pixels=better.pixels / factor)
    return Improvement(rescaled, moments.recoded(factor), factor, objective)


@dataclass(frozen=True, eq=False)
class Improvement:
    """What `improved` found."""

    epitome: Epitome
    moments: Moments  # of the rescaled codes
    factor: float  # that the codes must be multiplied by
    objective: float  # Eq. 3, per patch


def in_full(start: Epitome) -> Epitome:
    """The start in float64: steps are smaller than float32 can tell apart."""
    return replace(start, pixels=start.pixels.astype(np.float64))
