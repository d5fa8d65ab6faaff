"""run: when it stops and says why, who watches, and that a killed run ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import learn_cases
import numpy as np
import pytest
from learn_cases import LEARNERS, N_STEPS, learner, numbers, phi_at, same_bits
from processes import lines, python

from epitomes import Epitome
from epitomes.learn import Fit, Moments, Progress, Step, run, steps
from epitomes.learn.checkpoint import load_history, load_step
from epitomes.model_file import Provenance, save
from epitomes.phi import windows

EPITOME = Epitome(np.arange(16.0).reshape(4, 4), windows((4, 4), (3, 3)))


def pretend(objectives: Sequence[float], scales: Sequence[int] | None = None, first: int = 1) -> Iterator[Step]:
    """Steps with these objectives; each has pixels of its own."""
    for number, objective in enumerate(objectives):
        numbers = Progress(first + number, scales[number] if scales else 0, objective, 1.0, 0, 0.01)
        yield Step(numbers, Epitome(EPITOME.pixels + number, EPITOME.phi))


def endless() -> Iterator[Step]:
    return pretend([1.0 / number for number in range(1, 10_000)])


class TestWhenItStops:
    def test_after_max_steps(self) -> None:
        fit = run(endless(), max_steps=7)
        assert [progress.index for progress in fit.history] == [1, 2, 3, 4, 5, 6, 7]
        assert fit.reason == "7 steps done"
        np.testing.assert_array_equal(fit.epitome.pixels, EPITOME.pixels + 6)

    def test_no_step_more_than_it_says(self) -> None:
        """A step may take minutes: none is computed and thrown away."""
        taken = []

        def steps_of() -> Iterator[Step]:
            for step in endless():
                taken.append(step.progress.index)
                yield step

        run(steps_of(), max_steps=3)
        assert taken == [1, 2, 3]

    def test_steps_done_before_count(self) -> None:
        before = tuple(step.progress for step in pretend([9.0, 8.0]))
        fit = run(pretend([7.0, 6.0, 5.0], first=3), max_steps=4, history=before)
        assert [progress.objective for progress in fit.history] == [9.0, 8.0, 7.0, 6.0]

    def test_once_the_objective_falls_by_less_than_tol(self) -> None:
        fit = run(pretend([100.0, 50.0, 49.0, 48.99, 1.0]), tol=1e-3)
        assert [progress.objective for progress in fit.history] == [100.0, 50.0, 49.0, 48.99]
        assert "tol is 0.001" in fit.reason and "2.0e-04" in fit.reason
        assert len(run(pretend([100.0, 50.0, 49.0, 48.99, 1.0])).history) == 5  # without tol it goes on

    def test_a_rise_stops_it_too_and_zero_is_a_tolerance(self) -> None:
        assert len(run(pretend([3.0, 2.0, 2.5, 1.0]), tol=0.0).history) == 3
        assert len(run(pretend([0.0, 0.0, 0.0]), tol=0.0).history) == 2  # a constant image: nothing to gain

    def test_objectives_of_different_scales_are_not_compared(self) -> None:
        fit = run(pretend([3.0, 2.0, 50.0, 40.0, 39.999], [0, 0, 1, 1, 1]), tol=0.01)
        assert len(fit.history) == 5
        assert "tol" in fit.reason

    def test_tol_looks_back_over_an_interruption(self) -> None:
        before = tuple(step.progress for step in pretend([9.0, 8.0]))
        assert len(run(pretend([7.999, 1.0], first=3), tol=0.01, history=before).history) == 3

    def test_when_time_is_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = count(step=1.0)  # each look takes a second: one at the beginning, one per step
        monkeypatch.setattr(steps, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
        fit = run(endless(), seconds=4.5)
        assert len(fit.history) == 5
        assert fit.reason == "4.5 seconds are over"

    def test_when_the_learner_ends(self) -> None:
        fit = run(pretend([2.0, 1.0]), max_steps=10)
        assert (len(fit.history), fit.reason) == (2, "no steps left")

    def test_no_step_at_all_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="gave no step"):
            run(iter(()))

    def test_wrong_parameters(self) -> None:
        calls: list[tuple[str, Callable[[], Fit]]] = [
            ("max_steps must be at least 1, got 0", lambda: run(endless(), max_steps=0)),
            ("every must be at least 1, got 0", lambda: run(endless(), every=0)),
            ("tol must be a finite number >= 0, got -1", lambda: run(endless(), tol=-1.0)),
            ("seconds must be a finite number > 0, got 0", lambda: run(endless(), seconds=0.0)),
        ]
        for words, call in calls:
            with pytest.raises(ValueError, match=words):
                call()


class TestWatching:
    def test_every_step_is_seen_in_order(self) -> None:
        seen: list[Step] = []
        fit = run(endless(), max_steps=5, callback=seen.append)
        assert tuple(step.progress for step in seen) == fit.history
        assert seen[-1].epitome is fit.epitome

    def test_whoever_watches_may_end_it(self, tmp_path: Path) -> None:
        """An exception, Ctrl-C among them, comes through; the checkpoint holds the last step that was seen."""
        file = tmp_path / "run.checkpoint"

        def watch(step: Step) -> None:
            if step.progress.index == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(endless(), checkpoint=file, callback=watch)
        assert load_step(file, EPITOME.phi)[0].progress.index == 3


class TestCheckpoints:
    @pytest.mark.parametrize(("every", "saved"), [(1, [1, 2, 3, 4, 5]), (2, [2, 4, 5]), (9, [5])])
    def test_every_so_many_steps_and_the_last(
        self, every: int, saved: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found: list[int] = []
        monkeypatch.setattr(steps, "_save", lambda path, step, done: found.append(step.progress.index))
        run(endless(), max_steps=5, checkpoint=tmp_path / "run.checkpoint", every=every)
        assert found == saved

    def test_the_file_holds_the_step_and_all_numbers(self, tmp_path: Path) -> None:
        file = tmp_path / "run.checkpoint"
        fit = run(endless(), max_steps=5, checkpoint=file)
        step, history = load_step(file, EPITOME.phi)
        assert history == fit.history and step.progress == fit.history[-1]
        assert same_bits(step.epitome, fit.epitome)
        assert os.listdir(tmp_path) == ["run.checkpoint"]

    def test_no_file_unless_asked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        run(endless(), max_steps=5)
        assert os.listdir(tmp_path) == []


def model_bytes(fit: Fit, file: Path) -> bytes:
    save(file, fit.epitome, Provenance(lam=20.0, n_steps=len(fit.history), source="tests", made_with="tests"))
    return file.read_bytes()


def resumed(kind: str, file: Path) -> tuple[Step, tuple[Progress, ...]]:
    return load_step(file, phi_at(kind, load_history(file)[-1].scale))


def same_moments(one: Moments | None, other: Moments | None) -> bool:
    if one is None or other is None:
        return one is other
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("gram", "cross", "mass"))
    return arrays and (one.energy, one.count) == (other.energy, other.count)


@pytest.mark.parametrize("kind", LEARNERS)
def test_interrupted_at_every_step(kind: str, tmp_path: Path) -> None:
    """Stopped and resumed after each single step, through the file: the same bits as in one go."""
    whole = run(learner(kind), max_steps=N_STEPS)
    file = tmp_path / "run.checkpoint"
    fit = run(learner(kind), max_steps=1, checkpoint=file)
    for done in range(2, N_STEPS + 1):
        after, history = resumed(kind, file)
        fit = run(learner(kind, after), max_steps=done, checkpoint=file, history=history)
    assert [numbers(each) for each in fit.history] == [numbers(each) for each in whole.history]
    assert model_bytes(fit, tmp_path / "a.epitome") == model_bytes(whole, tmp_path / "b.epitome")


@pytest.mark.slow
def test_killed_runs_end_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """`kill -9` in the middle of learning, at a moment that nobody chose; then resumed, by another process."""
    code = "from pathlib import Path; import learn_cases; learn_cases.learn_until_killed(Path())"
    paths = os.environ | {"PYTHONPATH": str(Path(learn_cases.__file__).parent)}
    with python("-c", code, cwd=tmp_path, env=paths) as child:
        reached: set[str] = set()
        for line in lines(child):
            index, kind = line.strip().split(maxsplit=1)
            reached |= {kind} if int(index) >= 4 else set()
            if reached == set(LEARNERS):
                break
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    for kind in LEARNERS:
        file = tmp_path / kind
        after, history = resumed(kind, file)
        assert 3 <= len(history) < N_STEPS
        fit = run(learner(kind, after), max_steps=N_STEPS, checkpoint=file, history=history)
        whole = run(learner(kind), max_steps=N_STEPS, checkpoint=tmp_path / "whole")
        one, other = model_bytes(fit, tmp_path / f"{kind}.1"), model_bytes(whole, tmp_path / f"{kind}.2")
        assert one == other
        ended, expected = resumed(kind, file)[0], resumed(kind, tmp_path / "whole")[0]
        assert numbers(ended.progress) == numbers(expected.progress)
        assert (ended.codes is None) == (expected.codes is None)
        if ended.codes is not None:
            assert abs(ended.codes - expected.codes).nnz == 0
        assert same_moments(ended.moments, expected.moments)
