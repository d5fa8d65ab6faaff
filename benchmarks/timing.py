"""Fair stopwatches: competitors take turns, so that a busy moment of the machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Lap(Generic[Result]):
    """All rounds of one competitor, and what it computed in the last of them."""

    rounds: tuple[float, ...]  # seconds
    result: Result

    @property
    def seconds(self) -> float:
        return statistics.median(self.rounds)

    def scaled(self, factor: float) -> Lap[Result]:
        """As if the work had been `factor` times as long: for peers too slow to do all of it."""
        return Lap(tuple(seconds * factor for seconds in self.rounds), self.result)


def ratio(peer: Lap[Result], ours: Lap[Result]) -> float:
    """The peer's median time over ours."""
    return peer.seconds / ours.seconds


def paired_ratio(peer: Lap[Result], ours: Lap[Result]) -> float:
    """The median over the rounds of the ratio within a round."""
    return statistics.median(theirs / mine for theirs, mine in zip(peer.rounds, ours.rounds, strict=True))


def clock_name(threads: int) -> str:
    return "cpu" if threads == 1 else "wall"


def interleave(
    runners: Mapping[str, Callable[[], Result]], *, rounds: int, clock: str, patience: float = float("inf")
) -> dict[str, Lap[Result]]:
    """Run every competitor once per round, in turn; the first round (memory, caches, imports) is not counted.

    After `patience` seconds no new round begins, but two always count. Processor time of one thread does not see other
    programs; with several threads only elapsed time means anything.
    """
    now = time.process_time if clock == "cpu" else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in runners}
    results: dict[str, Result] = {}
    until = time.monotonic() + patience
    for turn in range(rounds + 1):
        if turn > 2 and time.monotonic() > until:
            break
        for name, run in runners.items():
            began = now()
            result = run()
            seconds = now() - began
            results[name] = result
            if turn > 0:
                times[name].append(max(seconds, 1e-9))  # a coarse clock must not divide by zero
    return {name: Lap(tuple(times[name]), results[name]) for name in runners}
