"""`run_tasks`: independent tasks on threads, processes or a cluster; results in order, dead workers survived.

Everything that is larger than memory or than one machine is a row of tasks that know nothing of each other. They run
on any `concurrent.futures.Executor`; nothing here knows Dask. The order of the results, and therefore every sum over
them, does not depend on the number of workers or on when they end.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from epitomes.blocks import n_threads
from epitomes.checks import whole
from epitomes.scale.pool import WorkerDiedError

Item = TypeVar("Item")
Result = TypeVar("Result")

Workers = Executor | Callable[[], Executor] | None
"""Where tasks run: an executor, a function that makes one (so that a broken one can be replaced), None for threads."""

_AHEAD = 4  # tasks per worker that are submitted or wait for an earlier one


@dataclass(frozen=True)
class Failure:
    """A task that was given up: it raised an error, or its worker died, each time it was tried.

    Parameters
    ----------
    index : int
        Number of the task, from 0.
    item : object
        The item that the task was made for.
    reason : str
        What happened, on one line.

    See Also
    --------
    run_tasks : Run tasks on an executor.

    Examples
    --------
    >>> from epitomes.scale import run_tasks
    >>> [failed] = run_tasks(int, ["seven"])
    >>> failed.index, failed.item
    (0, 'seven')
    """

    index: int
    item: Any
    reason: str


def run_tasks(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    executor: Workers = None,
    *,
    window: int | None = None,
    retries: int = 3,
) -> Iterator[Result | Failure]:
    """Run ``work(item)`` for every item on an executor.

    Parameters
    ----------
    work : callable
        A pure function of one item: it may run several times. A process pool or a cluster must be able to import it.
    items : iterable
        Items of the tasks. They are taken as they are needed.
    executor : Executor or callable, optional
        Any `concurrent.futures.Executor`, such as a process pool or ``Client(...).get_executor(pure=False, retries=3)``
        of Dask, or a function without arguments that makes one, such as `process_pool`. Only with a function, tasks
        survive the death of a worker of a `ProcessPoolExecutor`, because such a pool cannot be used any more.
        Default: threads of this process.
    window : int, optional
        Most tasks that are submitted and whose results are not yet taken. Default: four per worker.
    retries : int, default: 3
        How often a task is repeated that raised an error or lost its worker.

    Returns
    -------
    iterator
        The result of each task in the order of the items, whatever the order they end in; or a `Failure`.

    Raises
    ------
    BrokenExecutor
        If a worker of an executor died that cannot be replaced, or the connection to a cluster was lost.

    Notes
    -----
    When a process of `process_pool` dies, its task is repeated in a new one. When one of a pool of the standard library
    dies, all unfinished tasks are lost, and nobody knows which one is to blame: they are repeated one by one in a new
    pool. Either way a task that always kills its worker is found, and costs no other task.

    Examples
    --------
    >>> from epitomes.scale import run_tasks
    >>> list(run_tasks(abs, [-3, 1, -2]))
    [3, 1, 2]
    """
    whole("retries", retries, least=0)
    if window is not None:
        whole("window", window, least=1)
    return _results(work, items, _Pool(executor), window, retries)


@dataclass
class _Task(Generic[Item, Result]):
    """An item, and what is known of its result."""

    index: int
    item: Item
    future: Future[Result]
    errors: int = 0  # how often it raised an error
    deaths: int = 0  # how often its worker died while it was the only task

    @property
    def error(self) -> BaseException | None:
        try:
            return self.future.exception()
        except CancelledError as error:
            raise BrokenExecutor(
                "the executor gave up its tasks; a cluster does so when the connection to its scheduler is lost: "
                "see whether the scheduler runs, then go on with resume or start again"
            ) from error

    def died(self) -> bool:
        return _is_of_unknown_cause(self.error)


def _results(
    work: Callable[[Item], Result], items: Iterable[Item], pool: _Pool, window: int | None, retries: int
) -> Iterator[Result | Failure]:
    source = enumerate(items)
    tasks: deque[_Task[Item, Result]] = deque()  # submitted and not yielded, in the order of the items
    try:
        while True:
            most = window if window is not None else _AHEAD * pool.workers()
            tasks.extend(
                _Task(index, item, pool.submit(work, item)) for index, item in islice(source, max(0, most - len(tasks)))
            )
            if not tasks:
                return
            first = tasks[0]
            error = first.error
            if error is None:
                yield tasks.popleft().future.result()
            elif first.deaths or (first.errors >= retries and not _is_of_unknown_cause(error)):
                yield _failure(tasks.popleft(), error)
            elif _is_of_unknown_cause(error):
                _find_the_killer(work, tasks, pool, retries)
            else:
                first.errors += 1
                first.future = pool.submit(work, first.item)
    finally:
        for task in tasks:
            task.future.cancel()
        pool.close()


def _find_the_killer(
    work: Callable[[Item], Result], tasks: deque[_Task[Item, Result]], pool: _Pool, retries: int
) -> None:
    """Repeat the tasks whose worker died one by one, so that a task that kills its worker is alone when it does."""
    wait([task.future for task in tasks])  # those that live elsewhere end well
    suspects = [task for task in tasks if task.died()]
    if not pool.renew(tasks[0].error) and len(suspects) == 1:
        suspects[0].deaths += 1  # a cluster has tried it on several workers, beside others that were well
        return
    for task in suspects:
        while task.died() and task.deaths <= retries:
            task.future = pool.submit(work, task.item)
            if not task.died():
                task.deaths = 0
            else:
                task.deaths += 1
                if not pool.renew(task.error):
                    break  # a cluster has repeated it on several workers before it says so


def _failure(task: _Task[Item, Result], error: BaseException) -> Failure:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    died = f"its worker died whenever it ran ({words})"
    return Failure(task.index, task.item, died if task.deaths or isinstance(error, WorkerDiedError) else words)


def _is_of_unknown_cause(error: BaseException | None) -> bool:
    """Whether some worker died: the error of a broken pool, or Dask's, which is known by its name."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


class _Pool:
    """An executor that is made again when it breaks, if it can be, and is shut down in the end, if it was made here."""

    def __init__(self, executor: Workers) -> None:
        if executor is not None and not isinstance(executor, Executor) and not callable(executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor or a function that makes one, got {executor!r}"
            )
        self._make = _threads if executor is None else None if isinstance(executor, Executor) else executor
        self._executor = executor if isinstance(executor, Executor) else None

    def submit(self, work: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Submit a task; a pool that is broken already gives a future that says so."""
        if self._executor is None:
            assert self._make is not None
            self._executor = self._make()
        try:
            return self._executor.submit(work, item)
        except BrokenExecutor as error:
            lost: Future[Result] = Future()
            lost.set_exception(error)
            return lost

    def renew(self, error: BaseException | None) -> bool:
        """Replace a broken pool. False if it is not broken: a cluster replaces its workers itself."""
        if not isinstance(error, BrokenExecutor):
            return False
        if self._make is None:
            raise BrokenExecutor(
                "a worker died and its pool cannot be used any more: pass a function that makes a pool, "
                "such as epitomes.scale.process_pool(2), so that it can be replaced"
            ) from error
        self.close()
        return True

    def workers(self) -> int:
        """How many tasks run at once."""
        return worker_count(self._executor or self._make)

    def close(self) -> None:
        """Shut down what was made here; tasks that have not begun never will."""
        if self._make is not None and self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None


def worker_count(executor: Workers) -> int:
    """How many tasks run at once."""
    if executor is None or executor is _threads:
        return n_threads()
    for name in ("workers", "_max_workers"):  # of our pools; of those of the standard library, loky and mpi4py
        known = getattr(executor, name, None)
        if isinstance(known, int):
            return max(1, known)
    cores = getattr(getattr(executor, "_client", None), "nthreads", None)  # Dask: workers come and go
    return max(1, sum(cores().values())) if callable(cores) else os.cpu_count() or 1


def _threads() -> Executor:
    return ThreadPoolExecutor(n_threads(), thread_name_prefix="epitomes-task")
