"""Long calls can be stopped, forks survive, threads share, and impossible sizes are refused before allocation."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from epitomes import Dictionary, Patches, blocks, kernels
from epitomes.coders import OMP, Lasso, LassoLARS
from epitomes.phi import flat, windows

native = pytest.mark.skipif(kernels.isa == "reference", reason="the reference runs in Python")


def hard_work(rng: np.random.Generator) -> tuple[Dictionary, np.ndarray]:
    """Codes with a hundred atoms per patch: minutes of work unless stopped."""
    return Dictionary(rng.standard_normal((1500, 200))), rng.standard_normal((200_000, 200))


@native
@pytest.mark.serial
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("coder", [OMP(), Lasso(lam=1e-3), LassoLARS(lam=1e-3)], ids=repr)
def test_interrupt_is_heard_within_a_fifth_of_a_second(coder: OMP, threads: int, rng: np.random.Generator) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background made us ignore it
    D, X = hard_work(rng)
    D.engine  # noqa: B018  preparing is not part of the race
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.4, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        coder.encode(X, D, threads=threads)
    late = time.perf_counter() - sent[0]
    timer.join()
    assert late < 0.2
    assert not [t for t in threading.enumerate() if t.name.startswith("epitomes")]
    assert OMP(n_nonzero=3).encode(X[:50], D).nnz == 150  # still usable


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process")  # newer Pythons warn of forks beside threads: that is the test
def test_use_after_fork_does_not_hang(rng: np.random.Generator) -> None:
    D, X = Dictionary(rng.standard_normal((60, 20))), rng.standard_normal((9000, 20))
    coder = OMP(n_nonzero=4)
    before = coder.encode(X, D, threads=2)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            same = np.array_equal(coder.encode(X, D, threads=2).data, before.data)
            os._exit(0 if same else 1)
        deadline = time.monotonic() + 20
        while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.01)
        if status == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hung")
        assert os.waitstatus_to_exitcode(status[1]) == 0


def test_many_threads_share_one_dictionary(rng: np.random.Generator) -> None:
    D, X = Dictionary(rng.standard_normal((60, 20))), rng.standard_normal((400, 20))
    expected = Lasso(lam=0.5).encode(X, D)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: Lasso(lam=0.5).encode(X, D, threads=2), range(40)))
    assert all(np.array_equal(codes.data, expected.data) for codes in results)


@pytest.mark.serial
def test_an_error_in_a_block_stops_the_others() -> None:
    finished = []

    def work(piece: int, stop: np.ndarray) -> int:
        if piece == 3:
            raise MemoryError("block 3")
        for _ in range(100):
            if stop[0]:
                return -1
            time.sleep(0.01)
        finished.append(piece)
        return piece

    began = time.perf_counter()
    with pytest.raises(MemoryError, match="block 3"):
        blocks.run(work, range(50), threads=4)
    assert time.perf_counter() - began < 0.8 and len(finished) < 50


@pytest.mark.parametrize("threads", [1, 3])
def test_few_blocks_are_ahead_of_those_that_were_taken(threads: int) -> None:
    begun, taken = [], 0

    def work(piece: int, stop: np.ndarray) -> int:
        begun.append(piece)
        return piece * piece

    for k, square in enumerate(blocks.stream(work, range(20), threads=threads, ahead=4)):
        assert square == k * k and len(begun) <= taken + 4
        taken += 1
    assert taken == 20 and sorted(begun) == list(range(20))


def test_blocks_stop_when_nobody_wants_the_rest() -> None:
    ended = []

    def work(piece: int, stop: np.ndarray) -> int:
        while piece > 0 and not stop[0]:
            time.sleep(0.001)
        ended.append(piece)
        return piece

    pieces = blocks.stream(work, range(30), threads=3)
    assert next(pieces) == 0
    pieces.close()
    assert set(ended) <= {0, 1, 2, 3}  # the others had not begun


def test_threads_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPITOMES_NUM_THREADS", "5")
    assert blocks.n_threads() == 5 and blocks.n_threads(2) == 2
    monkeypatch.setenv("EPITOMES_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="EPITOMES_NUM_THREADS must be a whole number"):
        blocks.n_threads()
    monkeypatch.delenv("EPITOMES_NUM_THREADS")
    assert 1 <= blocks.n_threads() <= (os.cpu_count() or 1)
    with pytest.raises(ValueError, match="threads must be at least 1"):
        blocks.n_threads(0)


@pytest.mark.parametrize("side", [2**31, 2**32, 2**40, 2**62, 2**63, 10**30])
def test_sizes_that_overflow_are_refused_not_allocated(side: int) -> None:
    tracemalloc.start()
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        windows((side, side), (8, 8))
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        flat(side, (side, 8))
    with pytest.raises((OverflowError, MemoryError, ValueError)):
        Patches(np.zeros((9, 9)), (side, 8))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_index_tables_that_do_not_fit_are_refused() -> None:
    """The table has p * m entries: far more than the pixels of the epitome."""
    tracemalloc.start()
    with pytest.raises((OverflowError, MemoryError)):
        windows((60_000, 60_000), (500, 500))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_importing_is_light() -> None:
    code = "import sys, epitomes; print([m for m in ('sklearn', 'skimage', 'PIL', 'dask') if m in sys.modules])"
    assert os.popen(f'"{sys.executable}" -c "{code}"').read().strip() == "[]"
