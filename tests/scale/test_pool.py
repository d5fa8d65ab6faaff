"""The pool of processes: what dies costs its own task only, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from pathlib import Path

import pytest
from processes import is_running, lines, python
from scale_cases import die, leave, nap, raises_on_three, slow_square, threads_and_parent, unpicklable

from epitomes.scale import process_pool
from epitomes.scale.pool import ProcessPool, WorkerDiedError

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")]


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    made = process_pool(2, threads=3)()
    assert isinstance(made, ProcessPool)
    with made:
        yield made


def test_results_and_settings(pool: ProcessPool) -> None:
    assert list(pool.map(slow_square, range(12))) == [number**2 for number in range(12)]
    threads, _ = pool.submit(threads_and_parent).result()
    assert threads == "3"
    assert len(set(pool.map(nap, [0.2] * 4))) == 2  # two processes, which stay


def test_errors_keep_their_type_and_traceback(pool: ProcessPool) -> None:
    with pytest.raises(ValueError, match="three is") as caught:
        pool.submit(raises_on_three, 3).result()
    assert "raises_on_three" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match=r"pickle.*got <function"):
        pool.submit(unpicklable).result()
    with pytest.raises(Exception, match="pickle"):
        pool.submit(lambda: None).result()
    assert pool.submit(abs, -1).result() == 1


def test_a_death_costs_one_task_and_is_named(pool: ProcessPool) -> None:
    others = [pool.submit(nap, 0.1) for _ in range(4)]
    with pytest.raises(WorkerDiedError, match="SIGKILL"):
        pool.submit(die).result()
    with pytest.raises(WorkerDiedError, match="exit code 5"):
        pool.submit(leave, 5).result()
    assert all(other.result() for other in others)


def test_many_deaths_leave_no_file_open_and_no_process(pool: ProcessPool) -> None:
    assert pool.submit(abs, -1).result() == 1
    before = len(os.listdir("/proc/self/fd"))
    deaths = [pool.submit(die) for _ in range(40)]
    wait(deaths)
    assert all(isinstance(death.exception(), WorkerDiedError) for death in deaths)
    pids = set(pool.map(nap, [0.05] * 4))
    assert len(os.listdir("/proc/self/fd")) <= before + 4  # the second process has files of its own
    pool.shutdown()
    assert not any(is_running(pid) for pid in pids)


def test_a_pool_that_is_cut_short_ends_at_once(pool: ProcessPool) -> None:
    pid = pool.submit(os.getpid).result()
    began, tasks = time.monotonic(), [pool.submit(nap, 30) for _ in range(5)]
    time.sleep(0.2)
    pool.shutdown(wait=False, cancel_futures=True)
    assert isinstance(tasks[0].exception(), WorkerDiedError)
    for task in tasks[2:]:
        with pytest.raises(CancelledError):
            task.result()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(abs, 1)
    pool.shutdown()
    assert time.monotonic() - began < 10 and not is_running(pid)


SCRIPT = """
import os, time
from epitomes.scale import process_pool, run_tasks
def work(number):
    print(os.getpid(), flush=True)
    time.sleep(30)
if __name__ == "__main__":
    list(run_tasks(work, range(2), process_pool(2)))
"""


@pytest.mark.parametrize("kill", ["ctrl-c", "kill"])
def test_workers_end_with_the_script(tmp_path: Path, kill: str) -> None:
    """With Ctrl-C, which every process of a terminal hears, and with a signal that nobody can answer."""
    script = tmp_path / "script.py"
    script.write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + SCRIPT
    )  # a shell in the background ignores Ctrl-C for its children
    with python(script, keep_errors=True) as job:
        written = lines(job)
        pids = [int(next(written)) for _ in range(2)]
        job.send_signal(signal.SIGINT if kill == "ctrl-c" else signal.SIGKILL)
        assert job.wait(15) != 0
        assert job.stderr is not None
        assert kill == "kill" or job.stderr.read().rstrip().endswith("KeyboardInterrupt")
    until = time.monotonic() + 10
    while any(map(is_running, pids)):
        assert time.monotonic() < until
        time.sleep(0.05)
