"""Progress on stderr, for people only: a bar with the state and the time left where stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from epitomes.learn.steps import Step

Watch = Callable[["Step"], None]
Move = Callable[[float, str], None]  # to this much of the bar, with these words


@contextmanager
def watching(label: str, n_steps: int) -> Iterator[Watch | None]:
    """Something to hand over as `watch`, drawing a bar of `n_steps`; None where nobody looks or nothing happens."""
    if n_steps < 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn()) as bar:
        task = bar.add_task(label, total=n_steps, state="")

        def watch(step: Step) -> None:
            bar.update(task, advance=1, state=state_of(step))

        yield watch


@contextmanager
def moving(label: str, n: int) -> Iterator[Move]:
    """A bar over `n` parts of unequal or unknown length: `move(1.5, "pass 2 of 4")` is in the middle of the second."""
    if not sys.stderr.isatty():
        yield lambda done, state: None
        return
    from rich.progress import TaskProgressColumn

    with _bar(TaskProgressColumn()) as bar:
        task = bar.add_task(label, total=n, state="")

        def move(done: float, state: str) -> None:
            bar.update(task, completed=done, state=state)

        yield move


def state_of(step: Step) -> str:
    """A step of learning in a few words."""
    return f"objective {step.progress.objective:.6g}, {step.progress.sparsity:.2f} atoms per patch"


def _bar(count: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        count,
        TextColumn("{task.fields[state]}", markup=False),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
