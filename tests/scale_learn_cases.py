"""Small collections, and executors whose workers die or return nonsense; processes of a pool can import all of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from learn_cases import texture

from epitomes import Epitome
from epitomes.learn import smooth_noise
from epitomes.phi import windows
from epitomes.scale import Shard, Statistics, process_pool

PHI = windows((12, 12), (5, 5))
LAM = 30.0


def pictures(count: int, shape: tuple[int, int] = (24, 26)) -> list[np.ndarray]:
    return [np.clip(np.rint(texture(shape, seed)), 0, 255).astype(np.uint8) for seed in range(count)]


def start() -> Epitome:
    return smooth_noise(PHI, rng=3)


class Wrapped(Executor):
    """An executor that runs `wrap(work, item)` in the place of `work(item)`."""

    def __init__(self, pool: Executor, wrap: Callable[[Any, Any], Any]) -> None:
        self._pool, self._wrap = pool, wrap
        self._max_workers = 2

    def submit(self, work: Any, /, *items: Any, **named: Any) -> Future[Any]:
        return self._pool.submit(self._wrap, work, *items) if items else self._pool.submit(work)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


class Killing:
    """Makes pools of two processes in which some shards kill their worker: the first time, or always."""

    def __init__(self, folder: Path, *, always: int | None = None) -> None:
        self.folder, self.always = folder, always

    def __call__(self) -> Executor:
        return Wrapped(process_pool(2)(), self.run)

    def run(self, work: Callable[[Shard], Statistics], shard: Shard) -> Statistics:
        mark = self.folder / str(shard.index)
        first = self.always is None and not mark.exists()
        if first or shard.index == self.always:
            with mark.open("a") as file:
                file.write("killed\n")
            os.kill(os.getpid(), signal.SIGKILL)
        return work(shard)


class Damaging:
    """Runs shards on a thread and damages the statistics of one of them, the first `times` times."""

    def __init__(self, index: int, times: int, how: str) -> None:
        self.index, self.left, self.how = index, times, how

    def executor(self) -> Executor:
        return Wrapped(ThreadPoolExecutor(1), self.run)

    def run(self, work: Callable[[Shard], Statistics], shard: Shard) -> Statistics:
        found = work(shard)
        if shard.index != self.index or not self.left:
            return found
        self.left -= 1
        cross = found.cross.copy()
        cross[0, 0] = np.nan if self.how == "nan" else cross[0, 0] + 1
        return replace(found, cross=cross)
