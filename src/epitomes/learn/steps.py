"""Steps: what learners yield, and `run`, which decides when to stop and what to save.

A learner is a generator of steps. It knows nothing of tolerances, clocks, terminals or files, so your own `for` loop
can replace `run`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
    """Numbers that describe one step of a learner.

    Parameters
    ----------
    index : int
        Number of steps done, including this one.
    scale : int
        Scale of a multiscale run, 0 for the coarsest.
    objective : float
        Objective (paper, Eq. 3) after the step, as a mean over its patches.
    sparsity : float
        Mean number of atoms per patch.
    n_unused : int
        Number of atoms that no patch uses.
    seconds : float
        Duration of the step.

    Examples
    --------
    >>> from epitomes.learn import Progress
    >>> Progress(index=1, scale=0, objective=12.5, sparsity=3.0, n_unused=0, seconds=0.1).objective
    12.5
    """

    index: int
    scale: int
    objective: float
    sparsity: float
    n_unused: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Step:
    """State of a learner after one step: all that the next step needs.

    Pass it to a learner as ``after=step`` to continue from it.

    Parameters
    ----------
    progress : Progress
        Numbers of the step.
    epitome : Epitome
        Epitome after the step.
    codes : scipy.sparse.csr_array, optional
        Codes of the patches, from which the next coding starts.
    moments : Moments, optional
        Moments of the patches seen so far.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> step = next(alternate(patches, smooth_noise(windows((8, 8), (4, 4))), coder=Lasso(lam=1.0)))
    >>> step.progress.index, step.epitome.pixels.shape
    (1, (8, 8))
    """

    progress: Progress
    epitome: Epitome
    codes: Codes | None = None
    moments: Moments | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """A learned epitome, as returned by `run` and `learn_epitome`.

    Parameters
    ----------
    epitome : Epitome
        The learned epitome.
    history : tuple of Progress
        Progress of all steps.
    reason : str
        Why learning stopped, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, run, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> fit = run(alternate(patches, smooth_noise(windows((8, 8), (4, 4))), coder=Lasso(lam=1.0)), max_steps=2)
    >>> len(fit.history), fit.reason
    (2, '2 steps done')
    """

    epitome: Epitome
    history: tuple[Progress, ...]
    reason: str

    _repr_html_ = repr_html


def run(
    steps: Iterator[Step],
    *,
    max_steps: int = 50,
    tol: float | None = None,
    seconds: float | None = None,
    callback: Callable[[Step], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    history: Sequence[Progress] = (),
) -> Fit:
    """Run a learner until it has done enough steps, has converged or has used its time.

    Parameters
    ----------
    steps : iterator of Step
        Learner, such as `alternate`, `online` or `multiscale`.
    max_steps : int, optional
        Stop after this many steps, including those in `history`.
    tol : float, optional
        Stop when a step lowers the objective by less than this fraction of it.
    seconds : float, optional
        Stop after the step during which this time has passed.
    callback : callable, optional
        Called with each `Step`.
    checkpoint : str or path-like, optional
        File in which a step is saved regularly. It is always complete, so an interrupted run can be resumed with
        `load_step` and ends with the same bits as an uninterrupted one.
    every : int, optional
        Save each step whose number is a multiple of this, and the last one.
    history : sequence of Progress, optional
        Progress of the steps before these, when a run is resumed.

    Returns
    -------
    Fit
        The epitome after the last step, the progress of all steps and the reason for stopping.

    Raises
    ------
    ValueError
        If there is no step to take, or a parameter is out of range.

    See Also
    --------
    learn_epitome : Learn an epitome from images in one call.
    load_step : Load a checkpoint.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, run, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> learner = alternate(patches, smooth_noise(windows((8, 8), (4, 4))), coder=Lasso(lam=1.0))
    >>> fit = run(learner, max_steps=5)
    >>> fit.history[-1].objective < fit.history[0].objective
    True
    """
    whole("max_steps", max_steps, least=1)
    whole("every", every, least=1)
    if tol is not None:
        positive("tol", tol, zero=True)
    if seconds is not None:
        positive("seconds", seconds)
    done, last = list(history), None
    if done and done[-1].index >= max_steps:
        raise ValueError(f"{done[-1].index} steps are done already: max_steps must be larger, got {max_steps}")
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
        raise ValueError("the learner gave no step: all steps of its scales are done already")
    return Fit(last.epitome, tuple(done), reason)


def _reason(done: list[Progress], max_steps: int, tol: float | None, seconds: float | None, began: float) -> str:
    """Return the reason to stop now, or an empty string."""
    now = done[-1]
    if now.index >= max_steps:
        return f"{max_steps} steps done"
    if seconds is not None and time.perf_counter() - began >= seconds:
        return f"{seconds:g} seconds are over"
    if tol is not None and len(done) > 1 and done[-2].scale == now.scale:
        fall = done[-2].objective - now.objective
        if fall <= tol * abs(now.objective):
            share = fall / max(abs(now.objective), 1e-300)
            return f"the last step lowered the objective by a fraction of {share:.1e}, tol is {tol:g}"
    return ""


def _save(path: str | os.PathLike[str], step: Step, done: list[Progress]) -> None:
    from epitomes.learn.checkpoint import save_step  # it needs Step

    save_step(path, step, done)


def improved(epitome: Epitome, moments: Moments, lam: float, update: Update, threads: int | None) -> Improvement:
    """Take the dictionary step and rescale: `D / s` and `s A`, with s the root mean square of the atoms' norms.

    This changes neither the objective nor the span of the dictionary. The paper divides by the smallest norm (section
    3.1), but then one faint atom in a flat corner of the epitome makes all others very large. Nothing is rescaled while
    s is near 1.
    """
    better, value = update.step(epitome, moments, lam, threads=threads)
    objective = value / max(moments.count, 1.0)
    factor = float(np.sqrt(np.mean(better.dictionary.norms.astype(np.float64) ** 2)))
    if not factor > 0:
        raise ValueError("all atoms became zero: lam is too large for these patches, use a smaller one")
    if 0.5 < factor < 2.0:
        return Improvement(better, moments, 1.0, objective)
    rescaled = replace(better, pixels=better.pixels / factor)
    return Improvement(rescaled, moments.recoded(factor), factor, objective)


@dataclass(frozen=True, eq=False)
class Improvement:
    """Result of `improved`."""

    epitome: Epitome
    moments: Moments  # of the rescaled codes
    factor: float  # by which the codes must be multiplied
    objective: float  # Eq. 3, per patch


def in_full(epitome: Epitome) -> Epitome:
    """Return the epitome in float64: steps can be smaller than float32 resolves."""
    return replace(epitome, pixels=epitome.pixels.astype(np.float64))


def require_start(start: object, after: object) -> None:
    """Refuse a start that is not an Epitome and an `after` that is not a Step, with the cure."""
    if not isinstance(start, Epitome):
        raise TypeError(f"start must be an Epitome, got {type(start).__name__}: make one with smooth_noise(phi)")
    if isinstance(after, tuple):
        raise TypeError(
            "after must be a Step, got a tuple: load_step returns the step and its history, so write "
            "step, history = load_step(...) and pass after=step"
        )
    if after is not None and not isinstance(after, Step):
        raise TypeError(f"after must be a Step or None, got {type(after).__name__}")
