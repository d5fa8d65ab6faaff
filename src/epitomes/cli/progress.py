"""Progress on stderr: a bar with the stage and the time left, if stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from epitomes.learn.steps import Step

Watch = Callable[["Step"], None]
Callback = Callable[[float, str], None]  # fraction of the work that is done, and a few words


@contextmanager
def progress(label: str) -> Iterator[Callback | None]:
    """Draw a bar and yield the callback that moves it; None if nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import TaskProgressColumn

    with _bar(TaskProgressColumn()) as bar:
        task = bar.add_task(label, total=1.0, state="")
        yield lambda fraction, stage: bar.update(task, completed=fraction, state=stage)


@contextmanager
def watching(label: str, n_steps: int) -> Iterator[Watch | None]:
    """Draw a bar of `n_steps` learning steps and yield the callback that moves it; None if nobody is looking."""
    if n_steps < 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn()) as bar:
        task = bar.add_task(label, total=n_steps, state="")
        yield lambda step: bar.update(task, advance=1, state=_state(step))


def _state(step: Step) -> str:
    return f"objective {step.progress.objective:.6g}, {step.progress.sparsity:.2f} atoms per patch"


def _bar(count: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        count,
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
