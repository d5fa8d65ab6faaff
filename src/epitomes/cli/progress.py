"""Progress on stderr, for people only: a bar with the objective and the time left where stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from epitomes.learn.steps import Step

Watch = Callable[["Step"], None]


@contextmanager
def watching(label: str, n_steps: int) -> Iterator[Watch | None]:
    """Something to hand over as `watch`, drawing a bar of `n_steps`; None where nobody looks or nothing happens."""
    if n_steps < 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=n_steps, state="")

        def watch(step: Step) -> None:
            state = f"objective {step.progress.objective:.6g}, {step.progress.sparsity:.2f} atoms per patch"
            bar.update(task, advance=1, state=state)

        yield watch
