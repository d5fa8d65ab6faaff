"""Progress on stderr: a bar with the stage and the time left, if stderr is a terminal.

Commands tell how far they are when a part is done, which may take many seconds. Between two such words the bar goes on
at the pace so far, but no farther than the longest part: it moves every second, and a bar that stops has a reason.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from epitomes.learn.steps import Step

Watch = Callable[["Step"], None]
Callback = Callable[[float, str], None]  # fraction of the work that is done, and a few words

EVERY = 0.25  # seconds between two pictures of the bar
MEMORY = 20.0  # seconds over which the pace is measured: parts of the work differ


@dataclass
class Pace:
    """How far the work is, between what is told of it."""

    began: float
    told: list[tuple[float, float]] = field(default_factory=list)  # when, and the fraction that was done
    longest: float = 0.01  # part that was told at once
    shown: float = 0.0  # so far

    def tell(self, now: float, fraction: float) -> None:
        """Take note of a fraction of the work that is done."""
        last = self.told[-1][1] if self.told else 0.0
        self.longest = max(self.longest, fraction - last)
        self.told = [(when, done) for when, done in self.told if now - when < MEMORY] + [(now, fraction)]

    def rate(self) -> float:
        """Fraction of the work per second, lately."""
        first = self.told[0] if len(self.told) > 2 else (self.began, 0.0)
        last = self.told[-1]
        return (last[1] - first[1]) / max(last[0] - first[0], 1e-3)

    def fraction(self, now: float) -> float:
        """The fraction to show: what was told, and what was done since at the same pace."""
        if not self.told:
            return 0.0
        when, done = self.told[-1]
        ahead = min(done + min(self.rate() * (now - when), 0.9 * self.longest), max(done, 0.99))
        self.shown = max(self.shown, ahead)  # never back
        return self.shown

    def left(self, now: float) -> float | None:
        """Seconds until the end; None if it cannot be told yet."""
        rate = self.rate() if self.told else 0.0
        return None if rate <= 0 else (1 - self.fraction(now)) / rate


@contextmanager
def progress(label: str) -> Iterator[Callback | None]:
    """Draw a bar and yield the callback that moves it; None if nobody is looking, or several files are under way."""
    if not sys.stderr.isatty() or threading.current_thread() is not threading.main_thread():
        yield None
        return
    from rich.progress import TaskProgressColumn

    with _moving(label, 1, TaskProgressColumn()) as tell:
        yield tell


@contextmanager
def counting(n_files: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar that counts files, and yield what moves it; files that are worked on meanwhile draw none."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import TaskProgressColumn

    with _moving("files", 1, TaskProgressColumn()) as tell:
        yield lambda done: tell(done / n_files, f"{done} of {n_files}")


@contextmanager
def watching(label: str, n_steps: int) -> Iterator[Watch | None]:
    """Draw a bar of `n_steps` learning steps and yield the callback that moves it; None if nobody is looking."""
    if n_steps < 1 or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import MofNCompleteColumn

    steps = 0
    with _moving(label, n_steps, MofNCompleteColumn()) as tell:

        def watch(step: Step) -> None:
            nonlocal steps
            steps += 1
            tell(min(1.0, steps / n_steps), _state(step))

        yield watch


def _state(step: Step) -> str:
    return f"objective {step.progress.objective:.6g}, {step.progress.sparsity:.2f} atoms per patch"


@contextmanager
def _moving(label: str, total: int, count: ProgressColumn) -> Iterator[Callback]:
    """A bar that a thread moves at the pace of the work."""
    pace, over = Pace(time.monotonic()), threading.Event()
    with _bar(count) as bar:
        task = bar.add_task(label, total=total, state="", left="-:--:--")

        def show() -> None:
            now = time.monotonic()
            done = pace.fraction(now) * total
            shown = round(done, 3) if total == 1 else int(done + 1e-6)
            bar.update(task, completed=shown, left=_clock(pace.left(now)))

        def tell(fraction: float, stage: str) -> None:
            if not pace.told or fraction > pace.told[-1][1]:
                pace.tell(time.monotonic(), fraction)
            bar.update(task, state=stage)
            show()

        def move() -> None:
            while not over.wait(EVERY):
                show()

        mover = threading.Thread(target=move, daemon=True, name="progress")
        mover.start()
        try:
            yield tell
        finally:
            over.set()
            mover.join()


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(math.ceil(seconds), 60)  # no "0 s left" while something is left
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _bar(count: ProgressColumn) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        count,
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]} left", markup=False),
        TextColumn("{task.fields[state]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
