"""Timing: methods take turns, so that other load on the machine affects all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Lap(Generic[Result]):
    """All rounds of one method, and its result in the last of them."""

    rounds: tuple[float, ...]  # seconds
    result: Result

    @property
    def seconds(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rounds)

    def scaled(self, factor: float) -> Lap[Result]:
        """Scale the times, for peers that are too slow to do all the work."""
        return Lap(tuple(seconds * factor for seconds in self.rounds), self.result)


def ratio(peer: Lap[Result], ours: Lap[Result]) -> float:
    """Divide the median time of the peer by ours."""
    return peer.seconds / ours.seconds


def paired_ratio(peer: Lap[Result], ours: Lap[Result]) -> float:
    """Compute the median over the rounds of the ratio within a round."""
    return statistics.median(theirs / mine for theirs, mine in zip(peer.rounds, ours.rounds, strict=True))


def clock_name(threads: int) -> str:
    """Choose the clock: processor time for one thread, elapsed time for several."""
    return "cpu" if threads == 1 else "wall"


def once(run: Callable[[], Result], clock: str) -> tuple[Result, float]:
    """Run a method once, and return its result and the seconds on that clock."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    began = now()
    result = run()
    return result, now() - began


def interleave(
    runners: Mapping[str, Callable[[], Result]], *, rounds: int, clock: str, patience: float = float("inf")
) -> dict[str, Lap[Result]]:
    """Run every method once per round; the first round (memory, caches, imports) is not counted.

    After `patience` seconds no new round starts, but at least two are counted. Processor time of one thread is not
    affected by other programs; with several threads, elapsed time must be used.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    results: dict[str, Result] = {}
    until = time.monotonic() + patience
    for turn in range(rounds + 1):
        if turn > 2 and time.monotonic() > until:
            break
        for name, run in runners.items():
            results[name], seconds = once(run, clock)
            if turn > 0:
                times[name].append(max(seconds, 1e-9))  # a coarse clock must not divide by zero
    return {name: Lap(tuple(times[name]), results[name]) for name in runners}
