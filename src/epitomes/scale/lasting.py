"""A pool of workers that lasts for many rows of tasks: starting processes takes longer than a short round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from epitomes.scale.tasks import Workers, worker_count


@contextmanager
def lasting(executor: Workers) -> Iterator[Workers]:
    """Yield an executor for several calls of `run_tasks`; what was made meanwhile is shut down at the end."""
    if executor is None or isinstance(executor, Executor):
        yield executor
        return
    kept = _Kept(executor)
    try:
        yield _Again(kept)
    finally:
        kept.end()


class _Kept(Executor):
    """An executor that survives `shutdown`, unless it is broken: then the next task gets a new one."""

    def __init__(self, make: Callable[[], Executor]) -> None:
        self._make = make
        self._executor = make()

    def submit(self, work: Callable[..., Any], /, *items: Any, **named: Any) -> Future[Any]:
        """Submit a task to the workers."""
        return self._executor.submit(work, *items, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Replace the workers if they are broken."""
        try:
            self._executor.submit(int)
        except (BrokenExecutor, RuntimeError):
            self.end()
            self._executor = self._make()

    def end(self) -> None:
        """Shut the workers down."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return worker_count(self._executor)


@dataclass(frozen=True)
class _Again:
    """Makes no executor, but returns the one that was kept."""

    kept: _Kept

    def __call__(self) -> Executor:
        return self.kept

    @property
    def workers(self) -> int:
        """How many tasks run at once."""
        return self.kept.workers
