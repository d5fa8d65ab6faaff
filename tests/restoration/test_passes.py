"""The passes of the non-local mode: sizes that follow the noise, estimates that are mixed, an epitome that adapts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from epitomes.groups.matching import Planar
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration import passes
from epitomes.restoration.passes import AdaptPass, AtomsPass, FeedbackPass, State, contrast, fitting


def waves(height: int, width: int, deviation: float, seed: int = 0) -> Planar:
    """A picture of this standard deviation under noise of standard deviation 1."""
    rows, columns = np.mgrid[:height, :width] / 7
    clean = np.sin(rows + np.cos(columns))
    noise = np.random.default_rng(seed).standard_normal((height, width))
    return (deviation * (clean - clean.mean()) / clean.std() + noise)[None, None].astype(np.float32)


@pytest.fixture(scope="module")
def state() -> State:
    noisy = waves(40, 44, 3.0)
    return State(noisy, 0.8 * noisy, natural(windows((20, 15, 15), (8, 8))))


@pytest.mark.parametrize("deviation", [1.0, 3.0, 8.0])
def test_contrast_is_that_of_the_image_without_noise(deviation: float) -> None:
    assert contrast(waves(200, 200, deviation)) == pytest.approx(deviation, rel=0.03)


def test_contrast_stays_in_its_range() -> None:
    assert contrast(waves(64, 64, 0.0)) == 0.5
    assert contrast(waves(64, 64, 50.0)) == 10.0


def test_contrast_of_colours_is_that_of_the_lightness() -> None:
    colours = np.concatenate([waves(64, 64, 2.0), 30 * waves(64, 64, 9.0)])
    assert contrast(colours) == contrast(colours[:1])


@pytest.mark.parametrize("deviation", [0.0, 1.0, 2.0, 5.0, 40.0])
@pytest.mark.parametrize("side", [6, 8, 10])
def test_patches_grow_with_the_noise(side: int, deviation: float) -> None:
    noisy = waves(64, 64, deviation)
    exact = side * np.exp(0.2 * (np.log(2) - np.log(contrast(noisy))))
    assert fitting(side, noisy)[0] == pytest.approx(exact, abs=0.5)


def test_patches_fit_into_the_image() -> None:
    assert fitting(8, waves(5, 64, 2.0)) == (5, fitting(8, waves(5, 64, 2.0))[1])


def test_a_share_of_the_current_estimate_is_kept(state: State) -> None:
    fresh = AtomsPass(patches=(6,)).run(state, 1).current
    mixed = AtomsPass(patches=(6,), keep=0.75).run(state, 1).current
    np.testing.assert_allclose(mixed, 0.25 * fresh + 0.75 * state.current, atol=1e-5)


def test_sizes_are_averaged(state: State) -> None:
    each = [FeedbackPass(patches=(side,)).run(state, 1).current for side in (6, 9)]
    both = FeedbackPass(patches=(6, 9)).run(state, 1).current
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2, atol=1e-5)


def test_members_of_the_feedback_differ_by_the_contrast_at_most(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    @dataclass(frozen=True, kw_only=True)
    class Watched(passes.Matching):
        def __post_init__(self) -> None:
            limits.append(self.limit)

    monkeypatch.setattr(passes, "Matching", Watched)
    FeedbackPass(looseness=1.5).run(state, 1)
    assert limits == [pytest.approx(1.5 * contrast(state.noisy))]


class TestAdapt:
    def test_the_epitome_alone_changes(self, state: State) -> None:
        after = AdaptPass().run(state, 1)
        assert after.current is state.current
        assert not np.array_equal(after.epitome.pixels, state.epitome.pixels)

    def test_it_explains_the_image_better(self, state: State) -> None:
        row = 6 * np.sin(2.2 * np.arange(64, dtype=np.float32))
        stripes = replace(state, current=np.tile(row, (1, 1, 64, 1)))
        before, after = state.epitome, AdaptPass().run(stripes, 1).epitome
        patch = stripes.current[0, 0, :8, 8:16].ravel().astype(np.float64)
        patch -= patch.mean()

        def best(atoms: np.ndarray) -> float:
            centred = atoms - atoms.mean(axis=1, keepdims=True)
            return float(np.max(np.abs(centred @ patch) / np.linalg.norm(centred, axis=1)))

        assert best(after.dictionary.atoms) > 1.05 * best(before.dictionary.atoms)

    def test_small_images_take_few_steps(self, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []
        run = passes.run

        def watched(steps: object, max_steps: int) -> object:
            asked.append(max_steps)
            return run(steps, max_steps=max_steps)  # type: ignore[arg-type]

        monkeypatch.setattr(passes, "run", watched)
        AdaptPass().run(state, 1)
        AdaptPass(batch=20).run(state, 1)
        assert asked == [-(-2 * 33 * 37 // 1000), 24]
