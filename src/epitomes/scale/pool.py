"""A pool of processes that survives the death of any of them.

That of the standard library is lost with one of its processes, together with all its tasks, and nobody knows which task
is to blame; replacing it while it dies can close files of its successor. Here each process has one task and one thread
that waits for it. If the process dies, this task fails, no other does, and the next task gets a new process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Any

PRELOADED = ["epitomes.scale", "zarr"]
PATIENCE = 5.0  # seconds that a process may take to end
STARTING = threading.Lock()  # the module that starts processes keeps a list of them without a lock


class WorkerDiedError(RuntimeError):
    """The process of a task ended before the task did."""


@dataclass(frozen=True)
class _Task:
    """A call, and the promise of its result."""

    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
    future: Future[Any]


class ProcessPool(Executor):
    """An executor with a number of processes, each started with its first task."""

    def __init__(self, workers: int, threads: int) -> None:
        self.workers = workers
        self._threads = threads
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._ended = self._cut_short = False
        self._alive: set[_Worker] = set()
        self._servers: list[threading.Thread] = []

    def submit(self, work: Callable[..., Any], /, *items: Any, **named: Any) -> Future[Any]:
        """Submit a call; its future raises `WorkerDiedError` if its process dies."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("this pool was shut down: make a new one")
            self._tasks.put(_Task((work, items, named), future))
            if len(self._servers) < self.workers:
                self._servers.append(threading.Thread(target=self._serve, daemon=True, name="epitomes-worker"))
                self._servers[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the pool. Cancelled without waiting, its processes end at once, in the middle of their tasks."""
        with self._lock:
            self._ended = True
            while cancel_futures and (task := self._next()) is not None:
                task.future.cancel()
                task.future.set_running_or_notify_cancel()
            for _ in self._servers:
                self._tasks.put(None)
            self._cut_short = cancel_futures and not wait
            if self._cut_short:
                for worker in self._alive:
                    worker.process.terminate()
        if wait or self._cut_short:
            for server in self._servers:
                server.join(None if wait else PATIENCE)

    def _next(self) -> _Task | None:
        try:
            return self._tasks.get_nowait()
        except Empty:
            return None

    def _serve(self) -> None:
        """Run one task after the other in one process, or in its successors."""
        worker: _Worker | None = None
        while (task := self._tasks.get()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                if worker is None:
                    worker = self._start()
                result = worker.call(task.call)
            except WorkerDiedError as error:
                self._forget(worker)
                worker = None
                # A new error, without frames: they would keep the process and its files as long as the future.
                task.future.set_exception(WorkerDiedError(str(error)))
            except BaseException as error:
                task.future.set_exception(error)
            else:
                task.future.set_result(result)
            del task  # results can be large, and the next task may be long in coming
        self._forget(worker)

    def _start(self) -> _Worker:
        worker = _Worker.start(self._threads)
        with self._lock:
            self._alive.add(worker)
            if self._cut_short:
                worker.process.terminate()
        return worker

    def _forget(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._alive.discard(worker)
            worker.end()


@dataclass(frozen=True, eq=False)
class _Worker:
    """A process and our end of the line to it."""

    process: BaseProcess
    line: Connection

    @classmethod
    def start(cls, threads: int) -> _Worker:
        context = _context()
        with STARTING:
            ours, its = context.Pipe()
            process = context.Process(target=_work, args=(its, threads), daemon=True)  # type: ignore[attr-defined]
            try:
                process.start()
            finally:
                its.close()  # so that ours ends with the process
        return cls(process, ours)

    def call(self, call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> Any:
        """Run a call in the process, and return its result or raise its error."""
        try:
            self.line.send(call)
            is_result, found = self.line.recv()
        except (EOFError, ConnectionError) as error:
            raise WorkerDiedError(self._cause()) from error
        if is_result:
            return found
        raise found

    def end(self) -> None:
        """End the process, and remove what the system keeps of it."""
        self.line.close()  # it hears that, if it is idle
        with STARTING:
            self.process.join(PATIENCE)
            if self.process.is_alive():
                self.process.kill()
                self.process.join()

    def _cause(self) -> str:
        with STARTING:
            self.process.join(PATIENCE)
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}"


def _context() -> BaseContext:
    """Processes that begin without our threads, locks and open files; where that is possible, with libraries loaded."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)  # a process that replaces a dead one is ready at once
    return context


def _work(line: Connection, threads: int) -> None:
    """Run calls until the line ends: the main function of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that made the pool, which then ends this
    os.environ["EPITOMES_NUM_THREADS"] = str(threads)
    threading.Thread(target=_end_with_parent, daemon=True, name="parent").start()
    while True:
        try:
            work, items, named = line.recv()
        except EOFError:
            return
        except Exception as error:  # what cannot be imported here
            line.send((False, _told(error)))
            continue
        try:
            answer = (True, work(*items, **named))
        except Exception as error:
            answer = (False, _told(error))
        try:
            line.send(answer)
        except ConnectionError:
            return
        except Exception as error:  # results and errors that cannot be pickled
            line.send((False, TypeError(f"{' '.join(str(error).split())}; got {answer[1]!r:.200}")))
        del answer


def _told(error: Exception) -> Exception:
    """The error with its traceback, which would be lost on its way."""
    error.add_note("In a worker:\n" + "".join(traceback.format_exception(error)).rstrip())
    return error


def _end_with_parent() -> None:
    """End when the process that made the pool is killed, even in the middle of a task."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
