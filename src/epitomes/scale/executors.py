"""Where tasks run: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from epitomes.checks import whole
from epitomes.formats.errors import library
from epitomes.scale.pool import ProcessPool

CLOSING = 10  # seconds that the end of a connection may take


@dataclass(frozen=True)
class ProcessPools:
    """Makes pools of processes; see `process_pool`."""

    workers: int
    threads: int

    def __call__(self) -> Executor:
        return ProcessPool(self.workers, self.threads)


@dataclass(frozen=True)
class ThreadPools:
    """Makes pools of threads of this process."""

    workers: int

    def __call__(self) -> Executor:
        return ThreadPoolExecutor(self.workers, thread_name_prefix="epitomes-task")


def process_pool(workers: int, *, threads: int = 1) -> ProcessPools:
    """Return a function that makes a pool of processes on this machine.

    Parameters
    ----------
    workers : int
        Number of processes.
    threads : int, default: 1
        Number of threads that each of them uses.

    Returns
    -------
    ProcessPools
        To be given to `run_tasks` as its executor.

    See Also
    --------
    dask_executor : The workers of a cluster.

    Notes
    -----
    The processes are started afresh, not forked from this one, so a script must call this below
    ``if __name__ == "__main__":``.

    Examples
    --------
    >>> from epitomes.scale import process_pool
    >>> make = process_pool(2)
    >>> with make() as pool:  # doctest: +SKIP
    ...     list(pool.map(abs, [-1, 2]))
    [1, 2]
    """
    return ProcessPools(whole("workers", workers, least=1), whole("threads", threads, least=1))


def dask_executor(address: str) -> Executor:
    """Return an executor that runs tasks on the workers of a Dask cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``"tcp://127.0.0.1:8786"``.

    Returns
    -------
    Executor
        To be given to `run_tasks`. Its method ``shutdown`` gives up the tasks that have not ended and closes the
        connection; the cluster goes on.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    process_pool : Processes of this machine.

    Notes
    -----
    Dask sends tasks as pickles over TCP, without encryption or passwords unless the cluster is set up for TLS: keep
    the scheduler on the loopback address or in a network that you trust.

    Examples
    --------
    >>> from epitomes.scale import dask_executor
    >>> executor = dask_executor("tcp://127.0.0.1:8786")  # doctest: +SKIP
    """
    distributed: Any = library("distributed", extra="dask", what="a cluster")
    # A task is no pure function for Dask: two runs of one tile must be two tasks.
    client = distributed.Client(address, set_as_default=False)
    return _Connection(client, client.get_executor(pure=False, retries=3))


class _Connection(Executor):
    """Dask's executor and its client. Dask's own leaves the client open, which then looks for a scheduler for ever."""

    def __init__(self, client: Any, executor: Executor) -> None:
        self._client = client
        self._executor = executor

    def submit(self, work: Callable[..., Any], /, *items: Any, **named: Any) -> Future[Any]:
        """Submit a task to the workers."""
        return self._executor.submit(work, *items, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the connection."""
        if self._client.status == "running":
            self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close(timeout=CLOSING)

    @property
    def workers(self) -> int:
        """How many tasks run at once; workers come and go."""
        with suppress(OSError):  # the connection is lost: tasks will say so
            if self._client.status == "running":
                return max(1, int(sum(self._client.nthreads().values())))
        return 1
