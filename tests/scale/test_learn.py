"""`learn_from`: the same bits on every executor, through deaths and resumptions; what fails is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learn_cases import same_bits
from scale_learn_cases import LAM, PHI, Damaging, Killing, pictures, start

from epitomes import kernels
from epitomes.coders import Lasso
from epitomes.learn import PreconditionedFista, alternate, online, run
from epitomes.model_file import ModelError
from epitomes.patches import Patches
from epitomes.scale import (
    Learned,
    Status,
    TooManyFailedError,
    collection,
    learn_from,
    process_pool,
    statistics_of,
)

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow to learn with")

SHARDS = {"sample": 60, "shard_size": 2, "round_shards": 3, "epochs": 2, "lam": LAM, "rng": 5}


def learned(count: int = 14, **more: Any) -> Learned:
    return learn_from(pictures(count), start(), **{**SHARDS, **more})


def test_it_learns_what_the_learners_in_memory_learn() -> None:
    """One shard, one round per epoch, all patches, no memory: the steps of `alternate`, without warm starts."""
    image = pictures(1, (40, 41))[0]
    found = learn_from([image], start(), lam=LAM, sample=None, epochs=3, forget=100.0)
    expected = run(alternate(Patches(image, (5, 5)), start(), coder=Lasso(lam=LAM)), max_steps=3)
    np.testing.assert_allclose(found.epitome.pixels, expected.epitome.pixels, rtol=1e-4, atol=1e-4)
    for one, other in zip(found.history, expected.history, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
        assert one.sparsity == pytest.approx(other.sparsity, rel=1e-3)


def test_older_rounds_are_forgotten_as_online_does() -> None:
    """Batches that are one picture each give the objective of `online` on the same patches, within three percent."""
    images = pictures(8)
    found = learn_from(images, start(), lam=LAM, sample=None, shard_size=1, round_shards=1, epochs=3)
    rows = np.concatenate([Patches(image, (5, 5)).rows(0, 440)[0] for image in images])
    steps = online(rows, start(), coder=Lasso(lam=LAM), batch=440, update=PreconditionedFista())
    expected = run(steps, max_steps=24)
    assert len(found.history) == 24
    assert found.history[-1].objective == pytest.approx(expected.history[-1].objective, rel=0.03)
    assert found.history[-1].objective < 0.9 * found.history[0].objective


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_give_the_same_bits(workers: int) -> None:
    expected = learned()
    assert [each.index for each in expected.history] == list(range(1, 7))  # 7 shards: 3 rounds in each of 2 epochs
    with ThreadPoolExecutor(workers) as pool:
        found = learned(executor=pool)
    assert same_bits(found.epitome, expected.epitome)
    assert [each.objective for each in found.history] == [each.objective for each in expected.history]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_give_the_same_bits(workers: int) -> None:
    assert same_bits(learned(executor=process_pool(workers)).epitome, learned().epitome)


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_though_workers_are_killed(dask_client: Any) -> None:
    killed: list[int] = []

    def kill(status: Status) -> None:
        if status.done in (2, 8):
            workers = list(dask_client.run(os.getpid).values())
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    found = learned(executor=dask_client.get_executor(pure=False, retries=3), callback=kill)
    assert len(set(killed)) == 2 and same_bits(found.epitome, learned().epitome)


@pytest.mark.slow
def test_killed_workers_change_nothing(tmp_path: Path) -> None:
    """Every shard kills its worker the first time: 22 workers die by SIGKILL, and no shard is lost."""
    found = learned(44, executor=Killing(tmp_path), epochs=1)
    assert len(list(tmp_path.iterdir())) == 22
    assert found.failed == () and same_bits(found.epitome, learned(44, epochs=1).epitome)


@pytest.mark.slow
def test_a_shard_that_kills_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    began = time.monotonic()
    found = learned(executor=Killing(tmp_path, always=3), max_failed=0.2)
    assert time.monotonic() - began < 60
    (failed,) = found.failed
    assert failed.index == 3 and "(picture 6 to picture 7)" in failed.name and "worker died" in failed.reason
    assert len(found.history) == 6
    # It is left out of later epochs: it died as often as it was tried in the first one.
    assert 1 < len((tmp_path / "3").read_text().split()) <= 6
    images: list[Any] = pictures(14)
    images[6] = images[7] = np.zeros((2, 2), np.uint8)  # the same run without these two pictures
    assert same_bits(found.epitome, learn_from(images, start(), **SHARDS).epitome)


def test_too_many_failures_stop_the_run_with_its_checkpoint(tmp_path: Path) -> None:
    kept, damaging = tmp_path / "kept", Damaging(3, 99, "nan")
    with pytest.raises(TooManyFailedError, match=r"1 of 7 shards failed.*picture 6 to picture 7.*NaN.*twice"):
        learned(executor=damaging.executor(), checkpoint=kept)
    damaging.left = 0  # the machine was repaired
    found = learned(executor=damaging.executor(), checkpoint=kept, resume=True)
    assert found.failed == () and same_bits(found.epitome, learned().epitome)


@pytest.mark.parametrize("how", ["nan", "changed"])
def test_damaged_statistics_are_computed_again(how: str) -> None:
    damaging = Damaging(2, 1, how)
    found = learned(executor=damaging.executor())
    assert damaging.left == 0 and found.failed == () and same_bits(found.epitome, learned().epitome)
    twice = learned(executor=Damaging(2, 2, how).executor(), max_failed=0.5, epochs=1)
    assert [each.index for each in twice.failed] == [2] and not same_bits(twice.epitome, learned(epochs=1).epitome)


def test_resumed_is_uninterrupted(tmp_path: Path) -> None:
    """Interrupted after every round, and in the middle of one."""
    kept, done = tmp_path / "kept", 0

    class InterruptionError(Exception):
        pass

    def interrupt(status: Status) -> None:
        nonlocal done
        if status.done > done + 4:
            done = status.done
            raise InterruptionError

    for _ in range(20):
        try:
            found = learned(checkpoint=kept, resume=True, callback=interrupt)
            break
        except InterruptionError:
            continue
    assert done >= 9 and same_bits(found.epitome, learned().epitome)
    assert [each.objective for each in found.history] == [each.objective for each in learned().history]
    assert same_bits(learned(checkpoint=kept, resume=True).epitome, found.epitome)  # nothing is left to do
    assert len(learned(checkpoint=kept, resume=True, epochs=3).history) == 9  # more epochs may follow


@pytest.mark.slow
def test_a_killed_driver_resumes_with_the_same_bits(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; sys.path[:0] = sys.argv[2:]\n"
        "from test_learn import learned\n"
        "def die(status):\n"
        "    if status.done == 10: os.kill(os.getpid(), signal.SIGKILL)\n"
        "learned(checkpoint=sys.argv[1], callback=die)"
    )
    here = Path(__file__).parent
    kept = tmp_path / "kept"
    ended = subprocess.run([sys.executable, "-c", script, kept, here, here.parent], capture_output=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-500:]
    found = learned(checkpoint=kept, resume=True)
    assert same_bits(found.epitome, learned().epitome)
    assert list(tmp_path.iterdir()) == [kept]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    learned(4, checkpoint=kept)
    for more, words in (
        ({"lam": 2 * LAM}, "lam"),
        ({"rng": 6}, "rng"),
        ({"sample": 61}, "sample"),
        ({"round_shards": 2}, "round_shards"),
        ({"shard_size": 1}, "the pictures or shard_size"),
        ({"update": PreconditionedFista(n_steps=3)}, "update"),
    ):
        with pytest.raises(ModelError, match=f"other values of {words}:"):
            learned(4, checkpoint=kept, resume=True, **more)
    with pytest.raises(ModelError, match="the pictures"):
        learned(5, checkpoint=kept, resume=True)
    content = kept.read_bytes()
    for wrong in (content[:-8], content[:-9] + b"x" + content[-8:]):
        kept.write_bytes(wrong)
        with pytest.raises(ModelError, match="kept"):
            learned(4, checkpoint=kept, resume=True)
    with pytest.raises(ValueError, match="checkpoint"):
        learned(4, resume=True)


def test_skipped_pictures_are_counted_once_and_survive_a_checkpoint(tmp_path: Path) -> None:
    images: list[Any] = pictures(6)
    images[1], images[4] = np.zeros((3, 9), np.uint8), np.zeros((30, 30))
    kept = tmp_path / "kept"
    found = learn_from(images, start(), **SHARDS, checkpoint=kept)
    again = learn_from(images, start(), **SHARDS, checkpoint=kept, resume=True)
    for each in (found, again):
        assert each.n_skipped == 2 and {skipped.name for skipped in each.skipped} == {"picture 1", "picture 4"}
    with pytest.raises(ValueError, match=r"none of the pictures of 1 shards can be used.*picture 0.*fit"):
        learn_from([np.zeros((3, 9), np.uint8)], start(), **SHARDS)


def test_status_says_how_far_it_is() -> None:
    seen: list[Status] = []
    learned(callback=seen.append)
    assert [each.done for each in seen] == list(range(1, 15)) and {each.total for each in seen} == {14}
    assert [each.n_patches for each in seen] == [120 * number for number in range(1, 15)]
    assert seen[2].progress is None and seen[3].progress is not None and seen[3].progress.index == 1


def test_a_phi_starts_from_natural_images_or_noise() -> None:
    found = learn_from(pictures(2), PHI, lam=LAM)
    assert found.epitome.pixels.shape == (12, 12) and len(found.history) == 30  # epochs of one round each
    assert found.history[-1].objective < 0.95 * found.history[0].objective
    one = statistics_of(pictures(2), start(), lam=LAM, sample=30, rng=1)[0]
    other = statistics_of(collection(pictures(2), n_axes=2), start(), lam=LAM, sample=30, rng=1)[0]
    assert one.gram.tobytes() == other.gram.tobytes() and one.count == 60
