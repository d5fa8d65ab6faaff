"""Blocks: long computations in short pieces on threads. Ctrl-C stops them; the number of threads changes no result.

Results are returned in the order of the pieces. The kernels release the interpreter lock, so Python threads suffice.
The threads end with the call, so a later fork is safe.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import whole

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Stop = NDArray[np.uint8]

ROWS = 8192  # patches in a block: a few milliseconds of work

_cancelled = Event()  # Ctrl-C reaches the main thread alone, which tells the others


def split(n: int, size: int = ROWS) -> list[tuple[int, int]]:
    """Split `range(n)` into consecutive ranges `(first, last)` of at most `size`."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def shares(n: int, threads: int | None = None, most: int = ROWS) -> list[tuple[int, int]]:
    """Split `range(n)` so that every thread gets a piece, and no piece is longer than `most`."""
    return split(n, max(1, min(most, -(-n // n_threads(threads)))))


def n_threads(threads: int | None = None) -> int:
    """Return the number of threads: as given, or `EPITOMES_NUM_THREADS`, or one per core that this process may use."""
    if threads is not None:
        return whole("threads", threads, least=1)
    named = os.environ.get("EPITOMES_NUM_THREADS")
    if named is not None:
        if not named.isdecimal() or int(named) < 1:
            raise ValueError(f"EPITOMES_NUM_THREADS must be a whole number of at least 1, got {named!r}")
        return int(named)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cancel(yes: bool = True) -> None:
    """Make all threads that work end with KeyboardInterrupt; or, once they have ended, let others work again."""
    _cancelled.set() if yes else _cancelled.clear()


def run(work: Callable[[Piece, Stop], Result], pieces: Sequence[Piece], *, threads: int | None = None) -> list[Result]:
    """Compute `[work(piece, stop) for piece in pieces]` on threads. Workers return early once `stop[0]` is set."""
    return list(stream(work, pieces, threads=threads))


def stream(
    work: Callable[[Piece, Stop], Result],
    pieces: Sequence[Piece],
    *,
    threads: int | None = None,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield what `run` returns, piece after piece. No more than `ahead` results are waiting, or being made, at once."""
    stop = np.zeros(1, np.uint8)
    if not pieces:
        return
    left, waiting = deque(pieces), deque[Future[Result]]()
    # Even a single piece runs on a thread: the main thread must be free to receive Ctrl-C.
    with ThreadPoolExecutor(min(n_threads(threads), len(pieces)), thread_name_prefix="epitomes") as pool:
        try:
            while left or waiting:
                while left and (ahead is None or len(waiting) < ahead):
                    waiting.append(pool.submit(work, left.popleft(), stop))
                # The main thread handles signals only while it runs Python code, so it must not sleep for long.
                while not wait(list(waiting)[:1], timeout=0.05).done:
                    if _cancelled.is_set():
                        raise KeyboardInterrupt
                    for future in waiting:
                        if future.done():
                            future.result()  # re-raises the error of the worker
                yield waiting.popleft().result()
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise
