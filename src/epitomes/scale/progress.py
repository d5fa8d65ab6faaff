"""How far a job is: tiles done, rate, time left, failures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class StoreProgress:
    """How far a job is.

    Parameters
    ----------
    stage : str
        What is being done: "settling", "tiles", "levels" or "done".
    done : int
        Tiles that are written.
    total : int
        Tiles of the image.
    failed : int
        Tiles that were given up.
    seconds : float
        Time since the job began, or went on.
    rate : float
        Tiles per second, in this time.
    left : float or None
        Predicted seconds until all tiles are done; None before the first one is.

    Examples
    --------
    >>> from epitomes.scale import StoreProgress
    >>> StoreProgress("tiles", 5, 20, 0, 10.0, 0.5, 30.0).left
    30.0
    """

    stage: str
    done: int
    total: int
    failed: int
    seconds: float
    rate: float
    left: float | None


class Teller:
    """Tells the user how far the job is."""

    def __init__(self, callback: Callable[[StoreProgress], None] | None, began: float) -> None:
        self._callback, self._began = callback, began
        self._started, self._resumed, self._done, self._total = began, 0, 0, 0

    def start(self, resumed: int, total: int) -> None:
        """The first tile comes now."""
        self._started, self._resumed, self._done, self._total = time.monotonic(), resumed, resumed - 1, total
        self("tiles")

    def __call__(self, stage: str, failed: int = 0) -> None:
        if stage == "tiles":
            self._done += 1
        if self._callback is None:
            return
        seconds = time.monotonic() - self._started
        now = self._done - self._resumed
        rate = now / seconds if seconds > 0 else 0.0
        left = (self._total - self._done) / rate if rate > 0 else None
        written = self._done - failed
        self._callback(StoreProgress(stage, written, self._total, failed, time.monotonic() - self._began, rate, left))
