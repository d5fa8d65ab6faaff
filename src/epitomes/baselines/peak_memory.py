"""The memory that a piece of work takes at most, while it runs."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.005  # seconds between two looks
STATM = Path("/proc/self/statm")


@dataclass
class Peak:
    """Bytes above those before the work; None where the system does not tell."""

    bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch the memory of this process: yields a `Peak` that is filled in at the end.

    Linux tells the memory in use at any time, other systems at most the largest so far. Memory that was freed but not
    returned to the system is returned first, so that the work of before does not hide that of now.
    """
    found, over = Peak(), threading.Event()
    _trim()
    before, most = _in_use(), [0]

    def look() -> None:
        while not over.wait(EVERY):
            most[0] = max(most[0], _in_use() or 0)

    watcher = threading.Thread(target=look, daemon=True, name="memory")
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
        if before is not None:
            found.bytes = max(0, max(most[0], _in_use() or 0) - before)


def _in_use() -> int | None:
    try:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return _largest()


def _largest() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _trim() -> None:
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
