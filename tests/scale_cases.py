"""Tasks that processes of a pool or of a cluster can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def slow_square(number: int) -> int:
    """Tasks that begin later end sooner."""
    time.sleep(0.02 * (3 - number % 4))
    return number * number


def raises_on_three(number: int) -> int:
    if number == 3:
        raise ValueError("three is\n too much")
    return number


def kills_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kills_once(job: tuple[str, int]) -> int:
    """Kill the worker the first time that any item is seen; the folder remembers."""
    folder, number = job
    mark = Path(folder) / f"{number}"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number
