"""The passes of the non-local method: sizes that follow the noise, estimates mixed, an epitome that adapts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from epitomes.groups.matching import Planar
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration.non_local import AdaptPass, AtomsPass, FeedbackPass, Pass, passes
from epitomes.restoration.non_local.passes import (
    Mean,
    State,
    clipped_contrast,
    fitted_patch,
    mean_squares,
    share_factor,
)


def waves(height: int, width: int, deviation: float, seed: int = 0) -> Planar:
    """A picture of this standard deviation under noise of standard deviation 1."""
    rows, columns = np.mgrid[:height, :width] / 7
    clean = np.sin(rows + np.cos(columns))
    noise = np.random.default_rng(seed).standard_normal((height, width))
    return (deviation * (clean - clean.mean()) / clean.std() + noise)[None, None].astype(np.float32)


def begin(noisy: Planar) -> State:
    return State.begin(noisy, np.float32(0.8) * noisy, natural(windows((20, 15, 15), (8, 8))))


@pytest.fixture
def state() -> State:
    """A new one for each test: a pass may overwrite the estimate in it."""
    return begin(waves(40, 44, 3.0))


def after(step: Pass, state: State) -> State:
    """The state after a pass, which gets a copy of the estimate to overwrite."""
    return step.run(replace(state, current=state.current.copy()), seed=0, threads=1)


@pytest.mark.parametrize("deviation", [1.0, 3.0, 8.0])
def test_contrast_is_that_of_the_image_without_noise(deviation: float) -> None:
    assert clipped_contrast(waves(200, 200, deviation)) == pytest.approx(deviation, rel=0.03)


def test_contrast_stays_in_its_range() -> None:
    assert clipped_contrast(waves(64, 64, 0.0)) == 0.5
    assert clipped_contrast(waves(64, 64, 50.0)) == 10.0


def test_contrast_of_colours_is_that_of_the_lightness() -> None:
    colours = np.concatenate([waves(64, 64, 2.0), 30 * waves(64, 64, 9.0)])
    assert clipped_contrast(colours) == clipped_contrast(colours[:1])


@pytest.mark.parametrize("deviation", [0.0, 1.0, 2.0, 5.0, 40.0])
@pytest.mark.parametrize("side", [6, 8, 10])
def test_patches_grow_with_the_noise(side: int, deviation: float) -> None:
    state = begin(waves(64, 64, deviation))
    exact = side * np.exp(0.2 * (np.log(2) - np.log(clipped_contrast(state.noisy))))
    assert fitted_patch(side, state)[0] == pytest.approx(exact, abs=0.5)


def test_patches_fit_into_the_image() -> None:
    narrow, wide = (fitted_patch(8, begin(waves(height, 64, 2.0))) for height in (5, 64))
    assert narrow == (5, wide[1]) and wide[0] == wide[1] > 5


def test_a_share_of_the_current_estimate_is_kept(state: State) -> None:
    fresh = after(AtomsPass(patches=(6,)), state).current
    mixed = after(AtomsPass(patches=(6,), keep=0.75), state).current
    np.testing.assert_allclose(mixed, 0.25 * fresh + 0.75 * state.current, atol=1e-5)


@pytest.mark.parametrize("kind", [AtomsPass, FeedbackPass])
def test_sizes_are_averaged(kind: type[AtomsPass], state: State) -> None:
    each = [after(kind(patches=(side,)), state).current for side in (6, 9)]
    both = after(kind(patches=(6, 9)), state).current
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2, atol=1e-5)


def test_members_of_the_feedback_differ_by_the_contrast_at_most(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds = []

    @dataclass(frozen=True, kw_only=True)
    class Watched(passes.Matching):
        def __post_init__(self) -> None:
            thresholds.append(self.threshold)

    monkeypatch.setattr(passes, "Matching", Watched)
    after(FeedbackPass(looseness=1.5), state)
    assert thresholds == [pytest.approx(1.5 * clipped_contrast(state.noisy))]


def test_more_of_the_residual_is_added_back_where_noise_is_faint() -> None:
    contrasts = np.array([0.5, 1.0, 1.99, 2.0, 2.5, 3.0, 4.5, 6.0, 8.0, 10.0])
    factors = [share_factor(float(each)) for each in contrasts]
    expected = np.interp(np.log(contrasts), np.log([0.1, 2, 3, 30]), 0.2 * np.log([0.05, 1, 1, 1]))
    expected[5:] = 0.35 * np.log(contrasts[5:] / 3)
    np.testing.assert_allclose(factors, np.minimum(np.exp(expected), 1.3), rtol=1e-12)
    assert np.all(np.diff(factors) >= 0)


@pytest.mark.parametrize("deviation", [0.7, 3.0, 5.0])
def test_feedback_by_its_formula(deviation: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """u = f + share (y - f), and the level `trust sqrt(1 - mean (y - u)^2)` over each patch."""
    state = begin(waves(40, 44, deviation))
    share = 0.3 * share_factor(clipped_contrast(state.noisy))
    seen: list[tuple[Planar, Any]] = []

    def watched(image: Planar, **given: Any) -> Planar:
        seen.append((image, given["level"]))
        return image

    monkeypatch.setattr(passes, "estimate", watched)
    after(FeedbackPass(patches=(7,), share=0.3, trust=0.6), state)
    (mixed, levels), (y, f) = seen[0], (state.noisy.astype(np.float64), state.current.astype(np.float64))
    np.testing.assert_allclose(mixed, f + share * (y - f), atol=1e-5)
    high, wide = fitted_patch(7, state)
    windows_of = np.lib.stride_tricks.sliding_window_view((y - mixed)[0, 0], (high, wide))
    expected = 0.6 * np.sqrt(np.maximum(0, 1 - np.mean(windows_of**2, axis=(2, 3))))
    assert len(levels) == 1 and (expected > 0).any()
    np.testing.assert_allclose(levels[0][0], expected, atol=1e-3)


@pytest.mark.parametrize(("height", "patch"), [(9, (3, 5)), (300, (8, 6)), (256 + 7, (8, 8)), (2 * 256, (3, 3))])
def test_mean_squares(height: int, patch: tuple[int, int], rng: np.random.Generator) -> None:
    """Slabs of 256 rows meet without a seam."""
    first, second = (rng.standard_normal((2, height, 11)).astype(np.float32) for _ in range(2))
    views = np.lib.stride_tricks.sliding_window_view((first - second).astype(np.float64) ** 2, patch, axis=(1, 2))
    np.testing.assert_allclose(mean_squares(first, second, patch), views.mean(axis=(3, 4)), rtol=1e-4)


def test_progress_of_a_mean() -> None:
    told: list[float] = []
    mean = Mean(2, told.append)
    for value in (1.0, 4.0):
        advance = mean.advance
        assert advance is not None
        advance(0.5)
        advance(1.0)
        mean.add(np.full((1, 1, 2, 2), value, np.float32))
    assert told == [0.25, 0.5, 0.75, 1.0]
    np.testing.assert_array_equal(mean.result(), 2.5)


@pytest.mark.parametrize("kind", [AtomsPass, FeedbackPass])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"patches": ()}, TypeError),
        ({"patches": 8}, TypeError),
        ({"patches": (1,)}, ValueError),
        ({"group_size": 0}, ValueError),
        ({"search_radius": -1}, ValueError),
        ({"stride": 0}, ValueError),
        ({"stride": "4"}, TypeError),
        ({"strength": -1.0}, ValueError),
    ],
)
def test_wrong_settings(kind: type[AtomsPass], wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(wrong))):
        kind(**wrong)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (AtomsPass, {"bound": -1.0}),
        (AtomsPass, {"threshold": -1.0}),
        (AtomsPass, {"selection_size": 0}),
        (AtomsPass, {"most_atoms": 0}),
        (AtomsPass, {"by_rank": "yes"}),
        (AtomsPass, {"select_on_noisy": 1}),
        (AtomsPass, {"keep": 1.0}),
        (FeedbackPass, {"looseness": -1.0}),
        (FeedbackPass, {"share": -0.1}),
        (FeedbackPass, {"trust": float("nan")}),
        (AdaptPass, {"lam": 0.0}),
        (AdaptPass, {"most_steps": 0}),
        (AdaptPass, {"batch": 0}),
    ],
)
def test_wrong_settings_of_one_kind(kind: type[Any], wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        kind(**wrong)


class TestAdapt:
    @pytest.mark.slow
    def test_the_epitome_alone_changes(self, state: State) -> None:
        adapted = AdaptPass().run(state, seed=0, threads=1)
        assert adapted.current is state.current
        assert not np.array_equal(adapted.epitome.pixels, state.epitome.pixels)

    @pytest.mark.slow
    def test_the_seed_decides(self, state: State) -> None:
        several = AdaptPass(batch=200)  # of one batch with all patches there is only one order
        one, other, third = (several.run(state, seed=seed, threads=1).epitome.pixels for seed in (5, 5, 6))
        assert one.tobytes() == other.tobytes() != third.tobytes()

    @pytest.mark.slow
    def test_it_explains_the_image_better(self, state: State) -> None:
        row = 6 * np.sin(2.2 * np.arange(64, dtype=np.float32))
        stripes = replace(state, current=np.tile(row, (1, 1, 64, 1)))
        before, adapted = state.epitome, AdaptPass().run(stripes, seed=0, threads=1).epitome
        patch = stripes.current[0, 0, :8, 8:16].ravel().astype(np.float64)
        patch -= patch.mean()

        def best(atoms: np.ndarray) -> float:
            centred = atoms - atoms.mean(axis=1, keepdims=True)
            return float(np.max(np.abs(centred @ patch) / np.linalg.norm(centred, axis=1)))

        assert best(adapted.dictionary.atoms) > 1.05 * best(before.dictionary.atoms)

    @pytest.mark.slow
    def test_small_images_take_few_steps(self, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []
        run = passes.run

        def watched(steps: Any, max_steps: int, **given: Any) -> Any:
            asked.append(max_steps)
            return run(steps, max_steps=max_steps, **given)

        monkeypatch.setattr(passes, "run", watched)
        AdaptPass().run(state, seed=0, threads=1)
        AdaptPass(batch=20).run(state, seed=0, threads=1)
        assert asked == [-(-2 * 33 * 37 // 2000), 12]
