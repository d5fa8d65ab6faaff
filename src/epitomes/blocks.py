"""Blocks: long work in short pieces on threads, which Ctrl-C can end and whose number changes no result.

Results come back in the order of the pieces. The kernels release the interpreter lock, so Python's threads suffice;
they live only as long as the call, so nothing is left to break after a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import whole

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Stop = NDArray[np.uint8]

ROWS = 8192  # patches in a block: some milliseconds of work


def split(n: int, size: int = ROWS) -> list[tuple[int, int]]:
    """Ranges `(first, last)` that cover 0 ... n in order."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def shares(n: int, threads: int | None = None, most: int = ROWS) -> list[tuple[int, int]]:
    """The same, in pieces short enough to give every thread one, and no longer than `most`."""
    return split(n, max(1, min(most, -(-n // n_threads(threads)))))


def n_threads(threads: int | None = None) -> int:
    """The number asked for, or `EPITOMES_NUM_THREADS`, or one per processor that this process may use."""
    if threads is not None:
        return whole("threads", threads, least=1)
    named = os.environ.get("EPITOMES_NUM_THREADS")
    if named is not None:
        if not named.isdecimal() or int(named) < 1:
            raise ValueError(f"EPITOMES_NUM_THREADS must be a whole number of at least 1, got {named!r}")
        return int(named)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(work: Callable[[Piece, Stop], Result], pieces: Sequence[Piece], *, threads: int | None = None) -> list[Result]:
    """`[work(piece, stop) for piece in pieces]` on threads. Workers return early once `stop[0]` is set."""
    stop = np.zeros(1, np.uint8)
    workers = min(n_threads(threads), len(pieces))
    if not pieces:
        return []
    # One piece, too, runs on a thread: the main thread must stay free to hear Ctrl-C.
    with ThreadPoolExecutor(workers, thread_name_prefix="epitomes") as pool:
        futures = [pool.submit(work, piece, stop) for piece in pieces]
        try:
            # A signal may reach another thread and leave this one asleep: wake up to hear it.
            while (state := wait(futures, timeout=0.05, return_when=FIRST_EXCEPTION)).not_done:
                for future in state.done:
                    future.result()  # raises what the worker raised
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise
