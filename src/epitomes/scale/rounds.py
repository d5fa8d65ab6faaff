"""Rounds: code shards with one epitome, add their statistics in a fixed order, take a dictionary step.

Nothing depends on clocks or on which worker did what, so every executor gives the same bits.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from epitomes.epitome import Epitome
from epitomes.learn import Progress, Update
from epitomes.learn.steps import improved
from epitomes.scale._collection import Collection, Kind, Shard
from epitomes.scale.lasting import lasting
from epitomes.scale.outcome import FailedShard, State, Status, TooManyFailedError
from epitomes.scale.shards import code_shard
from epitomes.scale.statistics import MOST_NAMED, Statistics, pairwise
from epitomes.scale.tasks import Failure, Workers, run_tasks

RETRIES = 3  # of a shard


@dataclass
class Clock:
    """What was done since the run was started or resumed, for its status."""

    before: int = 0  # shards
    n_skipped: int = 0  # pictures, in the first epoch
    progress: Progress | None = None
    here: int = 0  # shards
    n_patches: int = 0
    began: float = field(default_factory=time.perf_counter)

    def status(self, total: int, n_failed: int) -> Status:
        """Return how far the run is."""
        return Status(
            done=self.before + self.here,
            here=self.here,
            total=total,
            n_patches=self.n_patches,
            seconds=time.perf_counter() - self.began,
            n_failed=n_failed,
            n_skipped=self.n_skipped,
            progress=self.progress,
        )


@dataclass(frozen=True, eq=False)
class Run:
    """Checked arguments of `learn_from`."""

    pictures: Collection
    kind: Kind  # of the first picture, asked once: files may vanish during a run
    lam: float
    epochs: int
    sample: int | None
    round_shards: int
    forget: float
    update: Update
    max_failed: float
    seed: int
    threads: int | None
    callback: Callable[[Status], None] | None

    def settings(self, start: Epitome) -> dict[str, str]:
        """Return what a checkpoint must agree with, in words."""
        return {
            "the pictures or shard_size": self.pictures.fingerprint,
            "the kind of pictures": str(self.kind),
            "lam": repr(self.lam),
            "sample": repr(self.sample),
            "round_shards": repr(self.round_shards),
            "forget": repr(self.forget),
            "update": repr(self.update),
            "rng": repr(self.seed),
            "start": hashlib.sha256(np.ascontiguousarray(start.pixels, np.float64).tobytes()).hexdigest(),
        }

    def rounds(self, state: State, executor: Workers) -> Iterator[State]:
        """Yield the state after each round that is left."""
        n_shards = len(self.pictures)
        per_epoch = -(-n_shards // self.round_shards)
        epoch, part = divmod(state.n_rounds, per_epoch)
        done = epoch * n_shards + part * self.round_shards
        clock = Clock(done, state.n_skipped, state.history[-1] if state.history else None)
        with lasting(executor) as workers:
            while state.n_rounds < self.epochs * per_epoch:
                epoch, part = divmod(state.n_rounds, per_epoch)
                order = _order(n_shards, self.seed, epoch)[part * self.round_shards : (part + 1) * self.round_shards]
                state = self._after_round(state, epoch, order, clock, workers)
                clock.progress = state.history[-1]
                yield state

    def _after_round(self, state: State, epoch: int, order: list[int], clock: Clock, executor: Workers) -> State:
        began = time.perf_counter()
        failed = {each.index: each for each in state.failed}
        total = self.summed(state.epitome, epoch, order, failed, clock, executor)
        index = state.n_rounds + 1
        moments = total.moments
        if state.memory is not None:
            moments = state.memory.scaled((1.0 - 1.0 / index) ** self.forget) + moments
        better = improved(state.epitome, moments, self.lam, self.update, self.threads)
        progress = Progress(
            index=index,
            scale=0,
            objective=better.objective,
            sparsity=total.n_nonzero / total.count,
            n_unused=int((~better.moments.used).sum()),
            seconds=time.perf_counter() - began,
        )
        first = epoch == 0  # later epochs skip the same pictures again
        return replace(
            state,
            epitome=better.epitome,
            memory=better.moments,
            history=(*state.history, progress),
            failed=tuple(failed.values()),
            n_skipped=state.n_skipped + total.n_skipped * first,
            skipped=(state.skipped + total.skipped)[:MOST_NAMED] if first else state.skipped,
        )

    def summed(
        self,
        epitome: Epitome,
        epoch: int,
        order: range | list[int],
        failed: dict[int, FailedShard],
        clock: Clock,
        executor: Workers,
    ) -> Statistics:
        """Code shards and add their statistics; shards that fail are added to `failed`."""
        work = partial(
            code_shard,
            epitome,
            lam=self.lam,
            sample=self.sample,
            kind=self.kind,
            seed=self.seed,
            epoch=epoch,
            threads=1,  # tasks share the cores
        )
        total = pairwise(self._results(work, epoch, order, failed, clock, executor))
        if total is None or not total.count:
            why = f": {total.skipped[0].name}: {total.skipped[0].reason}" if total is not None and total.skipped else ""
            raise ValueError(f"none of the pictures of {len(order)} shards can be used{why}")
        return total

    def _results(
        self,
        work: Callable[[Shard], Statistics],
        epoch: int,
        order: range | list[int],
        failed: dict[int, FailedShard],
        clock: Clock,
        executor: Workers,
    ) -> Iterator[Statistics | None]:
        """Yield the statistics of each shard in order, None for one that failed now or before."""
        before = set(failed)
        shards = (self.pictures.shard(index) for index in order if index not in before)
        results = run_tasks(work, shards, executor, retries=RETRIES)
        for index in order:
            statistics: Statistics | None = None
            if index not in before:
                shard = partial(self.pictures.shard, index)
                statistics, reason = _accepted(next(results), work, shard, executor)
                if statistics is None:
                    failed[index] = FailedShard(index, str(self.pictures.shard(index)), reason)
                    self._require_few(failed)
                else:
                    clock.n_patches += statistics.count
                    clock.n_skipped += statistics.n_skipped * (epoch == 0)
            clock.here += 1
            if self.callback is not None:
                self.callback(clock.status(self.epochs * len(self.pictures), len(failed)))
            yield statistics

    def _require_few(self, failed: dict[int, FailedShard]) -> None:
        if len(failed) > self.max_failed * len(self.pictures):
            named = "; ".join(map(str, failed.values()))
            error = TooManyFailedError(
                f"{len(failed)} of {len(self.pictures)} shards failed, and max_failed={self.max_failed:g}: {named}"
            )
            error.needed = math.ceil(100 * len(failed) / len(self.pictures)) / 100
            raise error


def _accepted(
    result: Statistics | Failure,
    work: Callable[[Shard], Statistics],
    shard: Callable[[], Shard],
    executor: Workers,
) -> tuple[Statistics | None, str]:
    """Return statistics that are whole, or why there are none. Damaged ones are computed once more."""
    for again in (True, False):
        if isinstance(result, Failure):
            return None, result.reason
        problem = result.damage()
        if not problem:
            return result, ""
        if again:
            result = next(run_tasks(work, [shard()], executor, retries=RETRIES))
    return None, f"{problem}, twice"


def _order(n_shards: int, seed: int, epoch: int) -> list[int]:
    """Return the shards of an epoch in random order: files are often sorted by what they show."""
    random = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, epoch])))
    return [int(index) for index in random.permutation(n_shards)]
