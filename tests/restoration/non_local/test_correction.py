"""The last passes: a second estimate beside the first, and corrections by learned maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epitomes.groups import Collaborative, Matching, estimate
from epitomes.groups.matching import Planar
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.regression import ROUNDS, natural_regressions
from epitomes.restoration import NonLocal, denoise
from epitomes.restoration.non_local import AtomsPass, FeedbackPass, Pass, RegressionPass, WienerPass
from epitomes.restoration.non_local.correction import for_filtered
from epitomes.restoration.non_local.passes import State
from epitomes.restoration.non_local.presets import passes_of
from epitomes.validation import psnr


def drawn(shape: tuple[int, int] = (96, 104)) -> np.ndarray:
    """Waves, a disc and a bar."""
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    image = 128 + 40 * np.sin(x / 5 + np.cos(y / 9))
    image[(y - 40) ** 2 + (x - 60) ** 2 < 400] = 60
    image[70:76] = 220
    return image


def begin(noisy: Planar) -> State:
    current = np.float32(0.8) * noisy
    return State.begin(noisy, current, natural(windows((20, 15, 15), (8, 8))))


@pytest.fixture
def state(rng: np.random.Generator) -> State:
    noisy = (np.stack([drawn((40, 44)) / 20] * 2)[:, None] + rng.standard_normal((2, 1, 40, 44))).astype(np.float32)
    return begin(noisy - noisy.mean())


def after(step: Pass, state: State, threads: int = 1) -> State:
    return step.run(replace(state, current=state.current.copy()), seed=0, threads=threads)


def test_the_second_estimate_leaves_the_first(state: State) -> None:
    """It is that of collaborative filtering, guided by the first."""
    found = after(WienerPass(patch=6, group_size=8, search_radius=5, stride=3), state)
    matching = Matching(patch=(1, 6, 6), group_size=8, search_radius=(0, 5, 5), stride=(1, 3, 3))
    first = state.current[:1]
    each = estimate(
        state.noisy[:1],
        guide=first,
        match_on=state.current,
        matching=matching,
        shrinker=Collaborative(patch=(6, 6)),
        level=1.0,
    )
    assert np.array_equal(found.current, state.current)
    assert found.second is not None
    np.testing.assert_allclose(found.second[:1], each, atol=1e-6)


def test_corrections_are_those_of_the_rounds(state: State) -> None:
    second = np.float32(0.9) * state.current
    found = after(RegressionPass(stride=3), replace(state, second=second))
    for c in range(2):
        expected = state.current[c, 0]
        for regression in natural_regressions():
            expected = regression.correct(expected, [second[c, 0], state.noisy[c, 0]], stride=3)
        assert np.array_equal(found.current[c, 0], expected)
    assert found.second is None


def test_without_a_second_estimate_the_first_counts_twice(state: State) -> None:
    one = after(RegressionPass(rounds=1), state).current
    two = after(RegressionPass(rounds=1), replace(state, second=state.current.copy())).current
    assert np.array_equal(one, two) and not np.array_equal(one, after(RegressionPass(), state).current)


@pytest.mark.parametrize("step", [WienerPass(), RegressionPass()], ids=["second", "correction"])
def test_progress_rises_to_one_and_threads_change_no_bit(step: Pass, state: State) -> None:
    told: list[float] = []
    one = step.run(replace(state, current=state.current.copy()), seed=0, threads=1, advance=told.append)
    many = after(step, state, threads=3)
    assert told == sorted(told) and told[-1] == pytest.approx(1)
    assert np.array_equal(one.current, many.current)


@pytest.mark.parametrize("shape", [(6, 30), (3, 40), (7, 7)])
def test_small_images(shape: tuple[int, int], rng: np.random.Generator) -> None:
    small = begin(rng.standard_normal((1, 1, *shape)).astype(np.float32))
    found = after(RegressionPass(), after(WienerPass(), small))
    assert found.current.shape == (1, 1, *shape) and np.isfinite(found.current).all()


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [5.0, 10.0, 25.0, 50.0])
def test_drawn_images_gain(sigma: float) -> None:
    """No disc was learned from."""
    clean = drawn()
    noisy = clean + np.random.default_rng(3).normal(0, sigma, clean.shape)
    passes = passes_of("balanced")
    without = tuple(step for step in passes if not isinstance(step, (WienerPass, RegressionPass)))
    after, before = (psnr(clean, denoise(noisy, sigma, method=NonLocal(passes=p))) for p in (passes, without))
    assert len(without) == len(passes) - 2 and after > before


@pytest.mark.slow
def test_perfect_stripes_are_not_spoiled() -> None:
    """Groups estimate them to 52 dB. Corrections that are not limited would cost 4 dB."""
    y, x = np.mgrid[:160, :160]
    clean = 128 + 60 * np.sign(np.sin(0.7 * x + 0.3 * y))
    noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    passes = passes_of("balanced")
    after, before = (psnr(clean, denoise(noisy, 5.0, method=NonLocal(passes=p))) for p in (passes, passes[:-2]))
    assert before - 2 < after


def test_filtered_images_go_on_without_corrections() -> None:
    first, atoms, *_ = passes = passes_of("balanced")
    assert for_filtered(passes) == (atoms, passes[2])
    assert isinstance(first, AtomsPass) and isinstance(passes[2], FeedbackPass)


@pytest.mark.parametrize(
    ("kind", "settings", "match"),
    [
        (WienerPass, {"patch": 1}, "patch"),
        (WienerPass, {"group_size": 0}, "group_size"),
        (WienerPass, {"search_radius": -1}, "search_radius"),
        (WienerPass, {"stride": 0}, "stride"),
        (RegressionPass, {"rounds": ROUNDS + 1}, "rounds must be"),
        (RegressionPass, {"rounds": 0}, "rounds"),
        (RegressionPass, {"stride": 0}, "stride"),
    ],
)
def test_settings_that_no_image_can_have(kind: type, settings: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        kind(**settings)
