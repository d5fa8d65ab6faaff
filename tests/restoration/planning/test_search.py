"""The search keeps to its rules and its time, and says what it did."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from restoration_cases import Progress, grey, whole_methods, with_noise

from epitomes import denoise, plan
from epitomes.restoration import NonLocal, Patchwise
from epitomes.restoration.planning import Decision, search
from epitomes.restoration.planning.candidates import Candidate, Outcome, Task
from epitomes.restoration.planning.held_out import SIDE, HeldOut
from epitomes.restoration.planning.search import MARGIN, MOST_ATOMS
from epitomes.restoration.planning.timing import TimeLimitError

CAMERA = grey("camera", 128).astype(np.float32)
SIGMA = 20.0


def noisy_of(clean: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    return with_noise(clean, sigma, seed).astype(np.float32)


def explain(found: Decision) -> str:
    return "; ".join(found.reasons)


@pytest.mark.slow
@whole_methods
def test_the_choice_is_the_library() -> None:
    noisy = noisy_of(CAMERA, SIGMA)
    before, progress = noisy.copy(), Progress()
    found = search(noisy, SIGMA, threads=1, callback=progress)
    assert isinstance(found.method, NonLocal) and found.method.label == "best"
    done = found.method.run(noisy, SIGMA, threads=1)
    np.testing.assert_array_equal(done.image, denoise(noisy, SIGMA, preset="best"))
    np.testing.assert_array_equal(noisy, before)
    assert [trial.label for trial in found.trials] == ["fast", "balanced", "best"]
    assert progress.stages == [f"compared {trial.label}" for trial in found.trials]
    gain = found.trials[1].gain
    assert gain is not None and gain > 0.05
    assert "balanced gains +" in explain(found) and "±" in explain(found)
    again = search(noisy, SIGMA, threads=2)
    assert [(one.gain, one.error) for one in again.trials] == [(one.gain, one.error) for one in found.trials]
    assert again.reasons == found.reasons


@pytest.mark.slow
@whole_methods
@pytest.mark.parametrize("channels", [3, 1])
def test_colours(channels: int) -> None:
    data = pytest.importorskip("skimage.data")
    clean = data.astronaut()[60:124, 200:266].astype(np.float32)[..., :channels]
    found = search(noisy_of(clean, SIGMA), SIGMA)
    assert isinstance(found.method, NonLocal) and len(found.trials) == 3
    assert found.method.run(clean, SIGMA, channels=True).image.shape == clean.shape


@pytest.mark.slow
@whole_methods
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_the_dtype_does_not_decide(dtype: type) -> None:
    """Dark pixels under noise are near 0: held-out noise must not wrap around to 255."""
    noisy = np.clip(np.rint(noisy_of(CAMERA / 8, 6.0)), 0, 255)
    plain, other = (plan(noisy.astype(kind), 6.0) for kind in (np.float32, dtype))
    assert [trial.label for trial in other.trials] == [trial.label for trial in plain.trials]
    for one, two in zip(plain.trials, other.trials, strict=True):
        assert (one.gain is None) == (two.gain is None)
        assert one.gain is None or two.gain == pytest.approx(one.gain, abs=1e-3)


@whole_methods
def test_noise_too_faint_takes_no_time() -> None:
    found = search(np.where(np.arange(128) < 9, np.float32(1e6), CAMERA), 1e-4)
    assert found.method.label == "fast" and found.trials == () and "too faint" in explain(found)


@pytest.mark.parametrize("shape", [(16, 16), (63, 64), (20, 40, 3)])
def test_small_images_cost_nothing(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[search.__module__], "tried", None)  # nothing is tried
    found = search(np.zeros(shape), 5.0)
    assert found.method.label == "balanced" and found.trials == () and "too small" in explain(found)


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7, 3)])
def test_images_smaller_than_a_patch(shape: tuple[int, ...]) -> None:
    found = search(np.zeros(shape), 5.0, seconds=1e-9)
    assert isinstance(found.method, Patchwise) and "smaller patches" in explain(found)


# Rules and time, with candidates whose error and time are known


class Stage:
    """A clock that stands still, and candidates that are off by a constant, on an image that needs so many atoms.

    With `cut`, all time but that for "balanced" itself has gone when it has been tried on so many tiles.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, atoms: float = 1.0, cut: int | None = None, **known: tuple[float, float]
    ) -> None:
        self.known, self.cut, self.gone, self.asked = known, cut, False, list[str]()
        module = sys.modules[search.__module__]  # its name leads to the function
        monkeypatch.setattr(module, "tried", self.tried)
        monkeypatch.setattr(module, "seconds_of", lambda method, task: known[method.label.replace(", ", "_")][1])
        monkeypatch.setattr(module, "atoms_needed", lambda *_: atoms)
        monkeypatch.setattr(module, "mean_square_error", lambda *_: known["fast"][0] ** 2)
        monkeypatch.setattr(Task, "left", property(self.left))

    def left(self, task: Task) -> float:
        if self.gone:
            return MARGIN * self.known["balanced"][1]
        return math.inf if task.limit is None else task.limit

    def tried(self, candidate: Candidate, task: Task, held: HeldOut) -> Iterator[Outcome]:
        self.asked.append(candidate.label)
        off, seconds = self.known[candidate.label.partition(",")[0]]
        for at in range(1, len(held.noisier) + 1):
            self.gone = candidate.label == "balanced" and at == self.cut
            yield Outcome(tuple(np.full_like(tile, off) for tile in held.noisier[:at]), seconds)


FLAT = noisy_of(np.zeros((3 * SIDE, 3 * SIDE)), 1.0)  # the truth is 0


def test_balanced_unless_it_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, fast=(1.0, 1), balanced=(0.9, 9))
    assert search(FLAT, 1.0).method.label == "balanced" and stage.asked == ["fast", "balanced"]
    Stage(monkeypatch, fast=(1.0, 1), balanced=(1.2, 9))
    found = search(FLAT, 1.0)
    assert found.method.label == "fast" and "over fast" in explain(found)
    assert found.trials[1].gain == pytest.approx(-20 * math.log10(1.2), abs=0.3)
    assert found.seconds == 1


def test_faint_noise_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a patch needs many atoms, nothing gains over "balanced", and trials take long."""
    stage = Stage(monkeypatch, atoms=MOST_ATOMS, fast=(1.0, 1), balanced=(0.9, 9), best=(0.8, 99))
    found = search(FLAT[:256, :256], 1.0)
    assert found.method.label == "balanced" and stage.asked == [] and found.seconds == 9
    assert "the noise is faint" in explain(found)
    assert search(FLAT[:256, :256], 1.0, seconds=5).method.label == "fast"


def test_textures_may_learn_an_epitome(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, atoms=8.0, fast=(1.0, 1), balanced=(0.9, 9), paper=(0.8, 99))
    found = search(FLAT, 1.0)
    assert isinstance(found.method, Patchwise) and found.method.recipe is not None
    assert found.method.recipe.settle(FLAT, 1.0).lam == 3.0
    assert found.method.label == "paper, lambda 3 sigma" and "paper, lambda 3 sigma gains +" in explain(found)
    stage = Stage(monkeypatch, atoms=1.0, fast=(1.0, 1), balanced=(0.9, 9), paper=(0.8, 9))  # too few to gain
    assert search(FLAT, 1.0).method.label == "balanced" and stage.asked == ["fast", "balanced"]


def test_smooth_grey_images_take_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, atoms=0.1, fast=(1.0, 1), balanced=(0.9, 9), best=(0.8, 54))
    found = search(FLAT, 1.0)
    assert found.method.label == "best" and "0.1 atoms" in explain(found) and stage.asked == ["fast", "balanced"]
    assert search(FLAT, 1.0, seconds=30).method.label == "balanced"
    assert search(np.stack([FLAT, FLAT, FLAT], -1), 1.0).method.label == "balanced"  # colours were not measured


def test_small_images_take_the_best_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, fast=(1.0, 1), balanced=(0.9, 9), best=(0.8, 54))
    assert search(FLAT[:256, :256], 1.0).method.label == "best"
    assert search(FLAT[:257, :256], 1.0).method.label == "balanced"
    found = search(np.stack([FLAT[:144, :144]] * 3, -1), 1.0)
    assert found.method.label == "best" and "it takes seconds on an image" in explain(found)
    assert "it takes seconds on a plane" in explain(search(FLAT[:256, :256], 1.0, n_planes=9))
    Stage(monkeypatch, fast=(1.0, 1), balanced=(1.2, 9))
    assert search(FLAT[:256, :256], 1.0).method.label == "fast"


@pytest.mark.parametrize(
    ("seconds", "label", "words"),
    [
        (0.2, "fast, stride 4", "about 0.1 s of the 0.2 s allowed; fast would take about 1 s"),
        (0.5, "fast, stride 2", "about 0.3 s of the 0.5 s allowed; fast would take about 1 s"),
        (2.0, "fast", "balanced would take about"),
        (30.0, "balanced", "about 9 s of the 30 s allowed; best would take about 36 s"),
        (64.0, "balanced", "about 9 s of the 64 s allowed; best would take about 60 s"),
        (200.0, "best", "about 60 s of the 200 s allowed"),
    ],
)
def test_the_time_budget(seconds: float, label: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = {"fast_stride 2": (2.0, 0.3), "fast_stride 4": (3.0, 0.1)}
    Stage(monkeypatch, fast=(1.0, 1), balanced=(0.8, 9), best=(0.7, 60), **coarse)
    found = search(FLAT, 1.0, seconds=seconds)
    assert found.method.label == label and words in explain(found)
    with pytest.raises(TimeLimitError, match=r"quickest method \(fast, stride 4\) needs about 0.1 s, and 0.05 s are"):
        search(FLAT, 1.0, seconds=0.05)


@pytest.mark.parametrize(("cut", "words"), [(None, "estimated on 9 tiles of"), (2, "estimated on 2 tiles of")])
def test_the_tiles_that_were_compared_are_counted(cut: int | None, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, cut=cut, fast=(1.0, 1), balanced=(0.9, 9), best=(0.8, 99))
    monkeypatch.setattr(sys.modules[search.__module__], "_n_tiles", lambda task: 9)
    found = search(FLAT, 1.0, seconds=40)
    assert found.method.label == "balanced" and words in explain(found)


@pytest.mark.parametrize(("limit", "n"), [(None, 4), (0.1, 1), (1.0, 3), (10.0, 7), (100.0, 16)])
def test_how_many_tiles(limit: float | None, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the area, or by a quarter of the time: a tile takes 3 times that of "fast", 13 times with "balanced"."""
    Stage(monkeypatch, fast=(1.0, 0.9), balanced=(0.9, 2), best=(0.8, 9), **{"fast_stride 2": (2.0, 0.01)})
    seen: list[int] = []
    module = sys.modules[search.__module__]
    hold_out = module.hold_out
    monkeypatch.setattr(module, "hold_out", lambda *given: seen.append(given[2]) or hold_out(*given))
    large = np.tile(FLAT, (2, 2))
    search(large, 1.0, seconds=limit)
    assert seen[-1] == n


def test_small_images_have_their_time_too() -> None:
    small = noisy_of(CAMERA[:32, :32], SIGMA)
    with pytest.raises(TimeLimitError, match="crop or shrink") as refused:
        search(small, SIGMA, seconds=1e-6)
    assert 0 < refused.value.value < 60
    found = search(small, SIGMA, seconds=600)
    assert found.method.label == "best" and found.seconds is not None
