"""choose: held-out noise tells the better way without the clean image; the choice keeps to its rules and its time."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

from epitomes import denoise, kernels
from epitomes.restoration import Choice, choose, several, trial, ways
from epitomes.restoration.trial import SIDE, gain, mean_square_error, split, tiles
from epitomes.restoration.ways import PAPER, Outcome, Task, Way, tried

whole_methods = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole images")

CAMERA = data.camera()[100:228, 180:308].astype(np.float32)
SIGMA = 20.0


def noisy_of(clean: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    return (clean + sigma * np.random.default_rng(seed).standard_normal(clean.shape)).astype(np.float32)


# Held-out noise


def test_the_two_parts_have_independent_noise() -> None:
    clean = np.zeros((SIDE, 4 * SIDE))
    halves = split(noisy_of(clean, SIGMA), SIGMA, 4, seed=0)
    u, v = np.concatenate(halves.tried).ravel(), np.concatenate(halves.judges).ravel()
    assert u.std() == pytest.approx(halves.sigma, rel=0.02) and v.std() == pytest.approx(halves.judge_sigma, rel=0.02)
    assert abs(np.corrcoef(u, v)[0, 1]) < 4 / math.sqrt(u.size)


def test_the_parts_do_not_share_simulated_noise() -> None:
    """The image's noise may have been drawn with the same seed: it must not be drawn again."""
    halves = split(noisy_of(np.zeros((SIDE, SIDE)), SIGMA, seed=0), SIGMA, 1, seed=0)
    assert halves.tried[0].std() == pytest.approx(halves.sigma, rel=0.03)


def test_gains_are_right_on_average_and_as_sure_as_they_say() -> None:
    clean = CAMERA[:SIDE, :SIDE]
    found, truth = [], []
    for seed in range(40):
        halves = split(noisy_of(clean, SIGMA, seed), SIGMA, 1, seed)
        sharp, smooth = (gaussian_filter(halves.tried[0], width) for width in (0.8, 1.4))
        errors = [float(np.mean((answer - clean) ** 2)) for answer in (sharp, smooth)]
        found.append(gain((sharp,), (smooth,), halves, errors[0]))
        truth.append(10 * math.log10(errors[0] / errors[1]))
    off = np.array([one.decibels for one in found]) - truth
    error = float(np.mean([one.error for one in found]))
    assert abs(off.mean()) < 3 * error / math.sqrt(len(off))
    assert off.std() == pytest.approx(error, rel=0.3) and error < 0.2


def test_the_error_behind_the_decibels() -> None:
    halves = split(noisy_of(CAMERA[:SIDE, :SIDE], SIGMA), SIGMA, 1, 0)
    smoothed = (gaussian_filter(halves.tried[0], 1.0),)
    found = mean_square_error(lambda image: gaussian_filter(image, 1.0), halves, smoothed, 0)
    assert found == pytest.approx(float(np.mean((smoothed[0] - CAMERA[:SIDE, :SIDE]) ** 2)), rel=0.1)


def test_clipped_noise_is_left_out() -> None:
    """Half of the image is black, and its noise was cut off at 0: only the other half may judge."""
    clean = np.where(np.arange(SIDE) < SIDE // 2, 0.0, 120.0) * np.ones((SIDE, 1))
    noisy = np.clip(noisy_of(clean, SIGMA), 0, 255)
    halves = split(noisy, SIGMA, 1, 0)
    wrong_where_black = np.where(clean == 0, 30.0, clean)
    assert gain((clean,), (wrong_where_black,), halves, 50.0).decibels == 0
    assert gain((clean,), (clean + 8,), halves, 50.0).decibels < -2


def test_tiles_are_a_fair_share() -> None:
    image = np.zeros((2 * SIDE + 5, 3 * SIDE + 9))
    for at in range(6):  # more detail from tile to tile
        row, column = divmod(at, 3)
        image[2 + row * SIDE :, 4 + column * SIDE :][:SIDE, :SIDE] = at * (np.indices((SIDE, SIDE)).sum(0) % 2)
    assert [tile.max() for tile in tiles(image, 3)] == [3, 1, 5]
    assert sorted(tile.max() for tile in tiles(image, 100)) == [0, 1, 2, 3, 4, 5]
    assert [tile.shape for tile in tiles(image[:40], 1)] == [(40, SIDE)]


# The choice


@whole_methods
def test_the_choice_is_the_library() -> None:
    noisy = noisy_of(CAMERA, SIGMA)
    before, seen = noisy.copy(), []
    choice = choose(noisy, SIGMA, threads=1, on_try=seen.append)
    assert isinstance(choice, Choice) and (choice.label, choice.method, choice.recipe) == ("best", "nonlocal", None)
    done = choice.denoise(noisy, threads=1)
    np.testing.assert_array_equal(done.image, denoise(noisy, SIGMA, preset="best").image)
    np.testing.assert_array_equal(noisy, before)
    assert done.seconds / 5 < choice.tries[2].seconds < 5 * done.seconds  # predicted, on a machine that may be busy
    assert [one.label for one in seen] == [one.label for one in choice.tries] and seen[1].gain > 0.05
    assert choice.explain().startswith("best: ") and "give or take" in choice.explain()
    assert json.loads(json.dumps(choice.as_dict()))["tries"][0]["label"] == "fast"
    again = choose(noisy, SIGMA, threads=2)
    assert [(one.gain, one.error) for one in again.tries] == [(one.gain, one.error) for one in choice.tries]
    assert again.reasons == choice.reasons


@whole_methods
@pytest.mark.parametrize("way", PAPER, ids=lambda way: way.label)
def test_epitomes_are_learned_from_all_tiles(way: Way) -> None:
    noisy = noisy_of(data.grass()[:SIDE, : 2 * SIDE], SIGMA)
    halves = split(noisy, SIGMA, 2, 0)
    *_, last = tried(way, Task(noisy, SIGMA, None, 0, 1, 0.0), halves)
    assert len(last.answers) == 2 and last.seconds > 0
    for answer, u, y in zip(last.answers, halves.tried, halves.tiles, strict=True):
        assert answer.shape == u.shape and 0.5 * SIGMA < (u - answer).std() < 1.5 * halves.sigma
        assert (answer - y).std() < halves.sigma


@whole_methods
@pytest.mark.parametrize("shape", [(64, 64, 3), (64, 66, 1)])
def test_colours(shape: tuple[int, ...]) -> None:
    clean = data.astronaut()[60:130, 200:270].astype(np.float32)[: shape[0], : shape[1], : shape[2]]
    choice = choose(noisy_of(clean, SIGMA), SIGMA)
    assert choice.method == "nonlocal" and len(choice.tries) == 3
    assert choice.denoise(clean).image.shape == shape


@whole_methods
def test_noise_too_faint_to_be_there_takes_no_time() -> None:
    assert choose(CAMERA, 1e-4).label == "fast"


@pytest.mark.parametrize("shape", [(16, 16), (63, 64), (20, 40, 3)])
def test_small_images_cost_nothing(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "denoise", None)  # nothing is tried
    choice = choose(np.zeros(shape), 5.0)
    assert choice.label == "balanced" and choice.tries == () and "too few" in choice.explain()


@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros(99), {}, "one plane at a time"),
        (np.zeros((9, 9, 9, 9)), {}, "one plane at a time"),
        (np.zeros((99, 99)), {"sigma": 0}, "sigma"),
        (np.zeros((99, 99)), {"seconds": 0}, "seconds"),
        (np.full((99, 99), np.nan), {}, "NaN"),
        (np.zeros((99, 99)), {"seed": -1}, "seed"),
    ],
)
def test_what_is_refused(image: np.ndarray, options: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        choose(image, **{"sigma": 5.0, **options})


# Rules and time, with ways whose error and time are known


class Stage:
    """A clock that stands still, and ways that are off by a constant, on an image that needs so many atoms."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, atoms: float = 1.0, **ways: tuple[float, float]) -> None:
        self.ways, self.asked = ways, []
        module = sys.modules[choose.__module__]  # its name leads to the function
        monkeypatch.setattr(module, "tried", self.tried)
        monkeypatch.setattr(module, "atoms_needed", lambda *_: atoms)
        monkeypatch.setattr(module, "mean_square_error", lambda *_: ways["fast"][0] ** 2)
        monkeypatch.setattr(Task, "left", property(lambda task: math.inf if task.limit is None else task.limit))

    def tried(self, way: Way, task: Task, halves: trial.Split) -> Iterator[Outcome]:
        self.asked.append(way.label)
        off, seconds = self.ways[way.label.partition(" ")[0]]
        for at in range(1, len(halves.tried) + 1):
            yield Outcome(tuple(np.full_like(tile, off) for tile in halves.tried[:at]), seconds)


FLAT = noisy_of(np.zeros((3 * SIDE, 3 * SIDE)), 1.0)  # the truth is 0


def test_balanced_unless_it_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, fast=(1.0, 1), balanced=(0.9, 9))
    assert choose(FLAT, 1.0).label == "balanced" and stage.asked == ["fast", "balanced"]
    Stage(monkeypatch, fast=(1.0, 1), balanced=(1.2, 9))
    choice = choose(FLAT, 1.0)
    assert choice.label == "fast" and "against fast" in choice.explain()
    assert choice.tries[1].gain == pytest.approx(-20 * math.log10(1.2), abs=0.3)


def test_textures_may_learn_an_epitome(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, atoms=8.0, fast=(1.0, 1), balanced=(0.9, 9), paper=(0.8, 99))
    choice = choose(FLAT, 1.0)
    assert choice.recipe is not None and choice.recipe.n_steps == several(FLAT, 1.0).n_steps
    assert (choice.method, choice.price, choice.recipe.lam) == (
        "paper",
        3,
        3.0,
    ) and "paper with lambda 3 sigma +" in choice.explain()
    for atoms in (1.0, 30.0):  # too few to gain, too many to learn
        stage = Stage(monkeypatch, atoms=atoms, fast=(1.0, 1), balanced=(0.9, 9), paper=(0.8, 9))
        assert choose(FLAT, 1.0).label == "balanced" and stage.asked == ["fast", "balanced"]


def test_smooth_grey_images_take_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, atoms=0.1, fast=(1.0, 1), balanced=(0.9, 9))
    choice = choose(FLAT, 1.0)
    assert choice.label == "best" and "0.1 atoms" in choice.explain() and stage.asked == ["fast", "balanced"]
    assert choose(FLAT, 1.0, seconds=30).label == "balanced"
    assert choose(np.stack([FLAT, FLAT, FLAT], -1), 1.0).label == "balanced"  # colours were not measured


def test_small_images_take_the_best_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, fast=(1.0, 1), balanced=(0.9, 9))
    assert choose(FLAT[:256, :256], 1.0).label == "best" and choose(FLAT[:257, :256], 1.0).label == "balanced"
    choice = choose(np.stack([FLAT[:144, :144]] * 3, -1), 1.0)
    assert choice.label == "best" and "it takes seconds" in choice.explain()
    Stage(monkeypatch, fast=(1.0, 1), balanced=(1.2, 9))
    assert choose(FLAT[:256, :256], 1.0).label == "fast"


@pytest.mark.parametrize(
    ("seconds", "label", "words"),
    [
        (0.5, "fast", "even fast takes about 1 s, and 0.5 s are allowed"),
        (2.0, "fast", "balanced would take about"),
        (30.0, "balanced", "about 9 s of 30 s; best would take about 54 s"),
        (200.0, "best", "about 54 s of 200 s"),
    ],
)
def test_the_time_allowed(seconds: float, label: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(monkeypatch, fast=(1.0, 1), balanced=(0.8, 9), best=(0.7, 60))
    choice = choose(FLAT, 1.0, seconds=seconds)
    assert choice.label == label and words in choice.explain() and choice.allowed == seconds


def test_small_images_have_their_time_too() -> None:
    choice = choose(noisy_of(CAMERA[:32, :32], SIGMA), SIGMA, seconds=1e-6)
    assert choice.label == "fast" and "even fast" in choice.explain()
    assert choose(noisy_of(CAMERA[:32, :32], SIGMA), SIGMA, seconds=600).label == "balanced"


@whole_methods
def test_a_choice_within_a_time_is_plain_values() -> None:
    """Predicted times come from clocks and from arithmetic: none of it may leave as a NumPy scalar."""
    choice = choose(noisy_of(CAMERA, SIGMA), SIGMA, seconds=600, threads=1)
    facts = json.loads(json.dumps(choice.as_dict()))
    assert [(one["label"], one["fits"]) for one in facts["tries"]] == [
        (way, True) for way in ("fast", "balanced", "best")
    ]
