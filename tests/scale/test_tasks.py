"""Tasks: results in order, a bounded window, and the death of workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dask_cluster import cluster
from scale_cases import kills_on_three, kills_once, raises_on_three, slow_square

from epitomes.scale import Failure, dask_executor, process_pool, run_tasks


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> Any:
    match request.param:
        case "two threads":
            return partial(ThreadPoolExecutor, 2)
        case "two processes":
            return process_pool(2)
        case "dask":
            return request.getfixturevalue("dask_client").get_executor(pure=False, retries=3)
    return None


slow = [pytest.param(name, marks=pytest.mark.slow) for name in ("two processes", "dask")]


@pytest.mark.parametrize("executor", ["default", "two threads", *slow], indirect=True)
def test_results_come_in_order_and_errors_are_named(executor: Any) -> None:
    assert list(run_tasks(slow_square, range(9), executor)) == [number**2 for number in range(9)]
    found = list(run_tasks(raises_on_three, range(6), executor, retries=1))
    failed = found.pop(3)
    assert found == [0, 1, 2, 4, 5]
    assert failed == Failure(3, 3, "ValueError: three is too much")


@pytest.mark.parametrize("executor", slow, indirect=True)
def test_a_task_that_kills_is_named_and_the_others_are_kept(executor: Any) -> None:
    began = time.monotonic()
    found = list(run_tasks(kills_on_three, range(8), executor, retries=2))
    failed = found.pop(3)
    assert found == [0, 1, 2, 4, 5, 6, 7]
    assert isinstance(failed, Failure) and (failed.index, failed.item) == (3, 3) and "worker died" in failed.reason
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_tasks_survive_the_death_of_their_workers(tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(6)]
    assert list(run_tasks(kills_once, jobs, process_pool(2))) == list(range(6))
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.slow
def test_a_cluster_that_is_gone_is_told_within_seconds() -> None:
    pytest.importorskip("distributed")
    with cluster(1) as running:
        executor = dask_executor(running.address)
        results = run_tasks(slow_square, range(2000), executor)
        assert next(results) == 0
        running.end()
        began = time.monotonic()
        with pytest.raises(BrokenExecutor, match="connection to its scheduler is lost"):
            list(results)
        executor.shutdown(wait=False)
        assert time.monotonic() - began < 60


@pytest.mark.slow
def test_a_pool_that_cannot_be_replaced_says_what_to_do() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(BrokenExecutor, match="process_pool"):
        list(run_tasks(kills_on_three, range(8), pool))


def test_the_window_is_bounded_and_items_are_taken_as_needed() -> None:
    taken, yielded = 0, 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(20):
            taken += 1
            assert taken - yielded <= 3
            yield number

    for result in run_tasks(abs, items(), window=3):
        assert result == yielded
        yielded += 1
    assert yielded == 20


def test_errors_that_pass_are_repeated() -> None:
    tries: dict[int, int] = {}

    def fails_twice(number: int) -> int:
        tries[number] = tries.get(number, 0) + 1
        if tries[number] < 3:
            raise OSError("the disk is busy")
        return number

    assert list(run_tasks(fails_twice, range(4))) == [0, 1, 2, 3]
    assert set(tries.values()) == {3}


def test_a_user_may_stop_in_the_middle() -> None:
    with ThreadPoolExecutor(1) as pool:
        results = run_tasks(slow_square, range(100), pool)
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
        assert pool.submit(abs, -1).result() == 1  # the executor is the user's


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="Executor or a function"):
        run_tasks(abs, [1], "threads")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="window"):
        run_tasks(abs, [1], window=0)


def test_dask_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ValueError, match=r"epitomes\[dask\]"):
        dask_executor("tcp://127.0.0.1:1")
