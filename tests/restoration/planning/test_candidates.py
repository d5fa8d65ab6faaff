"""Candidates on tiles: epitomes learned from all of them, times predicted for everything there is to do."""

from __future__ import annotations

import dataclasses
import math
import sys
from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, grey, whole_methods, with_noise

from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration.planning import candidates, search
from epitomes.restoration.planning.candidates import BALANCED, FAST, PAPER, RIM, Candidate, Task, atoms_needed, tried
from epitomes.restoration.planning.held_out import SIDE, hold_out

SIGMA = 20.0


def task_of(noisy: Doubles, **changed: Any) -> Task:
    given = {"image": noisy, "sigma": SIGMA, "limit": None, "seed": 0, "threads": 1, "began": 0.0}
    return Task(**(given | changed))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def grass() -> Doubles:
    data = pytest.importorskip("skimage.data")
    return with_noise(data.grass()[:SIDE, : 2 * SIDE], SIGMA).astype(np.float32)


@pytest.mark.slow
@whole_methods
@pytest.mark.parametrize("candidate", PAPER, ids=lambda candidate: candidate.label)
def test_epitomes_are_learned_from_all_tiles(candidate: Candidate, grass: Doubles) -> None:
    held = hold_out(grass, SIGMA, 2, 0)
    *_, last = tried(candidate, task_of(grass), held)
    assert len(last.estimates) == 2 and last.seconds > 0
    for estimate, u, y in zip(last.estimates, held.noisier, held.tiles, strict=True):
        assert estimate.shape == u.shape and 0.5 * SIGMA < (u - estimate).std() < 1.5 * held.sigma
        assert (estimate - y).std() < held.sigma


class Clock:
    """Time that passes by a second whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("n_planes", [1, 64])
@pytest.mark.parametrize("candidate", [FAST, PAPER[0]], ids=lambda candidate: candidate.label)
def test_time_grows_with_the_pixels_of_all_planes(
    candidate: Candidate, n_planes: int, grass: Doubles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second for a tile, and for learning one by the number of steps: a plane has two tiles here."""
    part = np.ascontiguousarray(grass[:, :SIDE])
    monkeypatch.setattr(candidates, "time", Clock())
    task = task_of(np.concatenate([part, part]), n_planes=n_planes)
    first = next(tried(candidate, task, hold_out(part, SIGMA, 1, 0)))
    learning, coding = 0.0, (2 * SIDE + RIM) / (SIDE + RIM)  # two tiles have one rim
    if candidate is not FAST:
        coding = 2.0
        recipe = candidate.method.recipe  # type: ignore[attr-defined]
        half = dataclasses.replace(recipe, n_passes=1.0).settle(part, task.sigma * math.hypot(1, 0.5)).n_steps
        learning = recipe.settle(task.image, SIGMA).n_steps / half
    assert first.seconds == pytest.approx(n_planes * (coding + learning))


def test_atoms_per_patch_are_those_of_the_pilot() -> None:
    smooth, busy = with_noise(np.full((SIDE, SIDE), 100.0), SIGMA), with_noise(grey("camera", SIDE), SIGMA)
    few, many = (atoms_needed(task_of(image), hold_out(image, SIGMA, 1, 0)) for image in (smooth, busy))
    assert few < 0.1 < 0.3 < many
    pilot = FAST.method.run(busy, SIGMA).atoms_per_patch
    assert many == pytest.approx(pilot, rel=0.15)  # a sample of the patches


@pytest.mark.slow
def test_the_shipped_epitome_is_read_once(grass: Doubles) -> None:
    """Not for every tile: files that are opened inside the package are counted."""
    opened: list[str] = []
    watching = True

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if watching and event == "open" and "epitomes" in str(given[0]) and "data" in str(given[0]):
            opened.append(str(given[0]))

    sys.addaudithook(hook)  # for good: hence the flag
    try:
        held = hold_out(grass, SIGMA, 2, 0)
        for candidate in (FAST, BALANCED):
            list(tried(candidate, task_of(grass), held))
        search(grass, SIGMA, threads=1)
    finally:
        watching = False
    assert len(opened) <= 1
    assert natural(windows((20, 15, 15), (8, 8))) is natural(windows((20, 15, 15), (8, 8)))
