"""Restored images: arrays with a history, which can be judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from restoration_cases import Doubles, colours, grey, with_noise

from epitomes import Noise, restore
from epitomes.restoration import Patchwise, Recipe, Restored

SIGMA = 25.0


@pytest.fixture(scope="module")
def noisy() -> Doubles:
    return with_noise(grey("camera", 64), SIGMA)


@pytest.fixture(scope="module")
def restored(noisy: Doubles) -> Restored:
    return restore(noisy, SIGMA, preset="balanced")


def test_it_is_an_array(noisy: Doubles, restored: Restored) -> None:
    np.testing.assert_array_equal(np.asarray(restored), restored.image)
    np.testing.assert_array_equal(np.asarray(restored, np.float32), restored.image.astype(np.float32))
    np.testing.assert_array_equal(restored[3:5, ::2], restored.image[3:5, ::2])
    assert np.mean(restored) == restored.image.mean()
    assert np.array(restored, copy=True) is not restored.image


def test_what_it_knows(noisy: Doubles, restored: Restored) -> None:
    np.testing.assert_array_equal(restored.noisy, noisy)
    assert restored.estimate is restored.image and not restored.unchanged and restored.notes == ()
    assert restored.noise is restored.plan.noise and restored.layout.shape == (64, 64)
    assert restored.epitome is not None and restored.fit is None
    assert 0 < restored.atoms_per_patch < 64 and restored.seconds > 0


def test_how_the_epitome_was_learned(noisy: Doubles) -> None:
    restored = restore(noisy[:32, :32], SIGMA, method=Patchwise(recipe=Recipe(n_steps=3)))
    assert restored.fit is not None and restored.fit.epitome is restored.epitome
    assert len(restored.as_dict()["objectives"]) == 3


class TestAudit:
    def test_of_a_good_result(self, restored: Restored) -> None:
        assert restored.audit().verdict == "pass"

    def test_of_a_wrong_sigma(self, noisy: Doubles) -> None:
        assert restore(noisy, 3 * SIGMA, preset="balanced").audit().verdict == "warn"

    @pytest.mark.parametrize("value", [np.nan, 1e6])
    def test_bad_pixels_are_left_out(self, value: float, noisy: Doubles) -> None:
        """They come back as they were, and must not be taken for what was removed."""
        bad = np.zeros(noisy.shape, bool)
        bad[20:22, 5:40] = True
        spoiled = np.where(bad, value, noisy)
        left, filled = (restore(spoiled, SIGMA, mask=bad, fill=fill, preset="balanced") for fill in (False, True))
        np.testing.assert_array_equal(left.image[bad], spoiled[bad])
        np.testing.assert_array_equal(left.estimate, filled.image)
        assert left.audit().verdict == filled.audit().verdict == "pass"

    @pytest.mark.slow
    def test_colours_volumes_and_stacks(self) -> None:
        colour = with_noise(colours(48), SIGMA)
        assert restore(colour, SIGMA, channel_axis=-1, preset="balanced").audit().verdict == "pass"
        moved = restore(np.moveaxis(colour, -1, 0), SIGMA, channel_axis=0, preset="balanced")
        assert moved.audit().verdict == "pass"
        stack = np.moveaxis(colour, -1, 0)
        for given in ({}, {"spatial": 2}):
            assert restore(stack, SIGMA, preset="balanced", **given).audit().verdict == "pass"

    def test_counted_light(self, rng: np.random.Generator) -> None:
        counts = rng.poisson(np.maximum(2.0, grey("camera", 64) / 4))
        found = restore(counts, noise=Noise.poisson_gaussian(1.0), preset="balanced")
        assert found.audit().verdict == "pass"


class TestReport:
    @pytest.mark.slow
    def test_a_page(self, restored: Restored, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        data = restored.report(path, name="camera")
        assert "camera" in path.read_text(encoding="utf-8") and data.audit is not None
        with pytest.raises(FileExistsError):
            restored.report(path)
        restored.report(path, overwrite=True)

    @pytest.mark.parametrize("value", [np.nan, 1e6])
    def test_with_bad_pixels(self, value: float, noisy: Doubles, tmp_path: Path) -> None:
        bad = np.zeros(noisy.shape, bool)
        bad[20:22, 5:40] = True
        found = restore(np.where(bad, value, noisy), SIGMA, mask=bad, preset="fast")
        data = found.report(tmp_path / "report.html")
        assert data.audit is not None and np.isfinite(data.restored).all()

    def test_of_a_volume(self, noisy: Doubles, tmp_path: Path) -> None:
        found = restore(np.stack([noisy[:40, :40]] * 3), SIGMA, preset="fast")
        data = found.report(tmp_path / "report.html")
        assert any("plane 1 of 3" in note for note in data.notes)
        np.testing.assert_array_equal(data.restored, found.image[1])
