"""Plans: printed, as plain values, run again on other images."""

from __future__ import annotations

import json
import weakref
from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, MeanOnly, grey, white_noise, with_noise

from epitomes import Noise, Plan, denoise, plan
from epitomes.layout import Layout
from epitomes.learn import smooth_noise
from epitomes.phi import windows
from epitomes.restoration import Estimate, Method, NonLocal, Patchwise, Recipe
from epitomes.restoration.non_local import AtomsPass

SIGMA = 25.0


@pytest.fixture(scope="module")
def noisy() -> Doubles:
    return with_noise(grey("camera", 48), SIGMA)


class TestWords:
    def test_printed(self, noisy: Doubles) -> None:
        text = str(plan(np.stack([noisy] * 3), SIGMA, preset="fast", spatial=2))
        for words in ("method: fast, 3 planes one by one", "noise: Gaussian, sigma 25", "memory: about"):
            assert words in text
        assert plan(noisy, SIGMA, preset="best").explain() == "best: as requested"
        small = plan(noisy, SIGMA)
        assert "because: an image of 48 x 48 pixels is too small to compare methods on" in str(small)

    @pytest.mark.parametrize(
        "method",
        [
            NonLocal(),
            NonLocal(passes=(AtomsPass(),)),
            Patchwise(),
            Patchwise(recipe=Recipe(lam_per_sigma=3.0)),
            Patchwise(epitome=smooth_noise(windows((16, 16), (6, 6)))),
            MeanOnly(),
        ],
        ids=lambda method: type(method).__name__,
    )
    def test_plain_values(self, method: Method, noisy: Doubles) -> None:
        found = plan(noisy, SIGMA, method=method)
        facts = json.loads(json.dumps(found.as_dict(), allow_nan=False))
        assert facts["label"] == method.label and facts["noise"]["sigma"] == SIGMA
        assert facts["planes"] == 1 and facts["memory"] > 0 and facts["trials"] == []
        assert facts["method"] == {"NonLocal": "nonlocal", "Patchwise": "paper"}.get(type(method).__name__, "MeanOnly")

    def test_of_images_without_noise_and_without_room(self) -> None:
        for shape in ((7, 20), (40, 40), (3, 9, 30)):
            found = plan(np.full(shape, 5.0))
            assert "no noise" in found.explain() and "no noise" in str(found)
            json.dumps(found.as_dict())

    def test_memory_follows_planes_and_channels(self, noisy: Doubles) -> None:
        one = plan(noisy, SIGMA, preset="fast").memory
        three = plan(np.stack([noisy] * 3, -1), SIGMA, channel_axis=-1, preset="fast").memory
        stack = plan(np.stack([noisy] * 9), SIGMA, spatial=2, preset="fast").memory
        assert one < three < 4 * one and one < stack < one + 9 * 8 * noisy.size


class TestAgain:
    def test_another_image_of_another_size(self, noisy: Doubles) -> None:
        found = plan(noisy, SIGMA, preset="balanced")
        other = 100 + SIGMA * white_noise((31, 44), 5)
        np.testing.assert_array_equal(found.run(other).image, denoise(other, SIGMA, preset="balanced"))
        assert found.run(other).plan is found

    def test_a_stack_and_channels(self, noisy: Doubles) -> None:
        found = plan(np.stack([noisy] * 3), SIGMA, channel_axis=0, preset="fast")
        other = 100 + SIGMA * white_noise((4, 20, 30))
        expected = denoise(other, SIGMA, channel_axis=0, preset="fast")
        np.testing.assert_array_equal(found.run(other).image, expected)

    def test_a_method_of_ones_own(self, noisy: Doubles) -> None:
        volume = np.stack([noisy, 2 * noisy])
        found = denoise(volume, SIGMA, method=MeanOnly())
        for plane, result in zip(volume, found, strict=True):
            np.testing.assert_allclose(result, plane.mean())

    def test_other_axes_are_refused(self, noisy: Doubles) -> None:
        found = plan(noisy, SIGMA, preset="fast")
        with pytest.raises(ValueError, match=r"2 axes, such as \(48, 48\), got shape \(2, 48, 48\): make another plan"):
            found.run(np.stack([noisy, noisy]))

    @pytest.mark.parametrize(
        ("image", "error", "words"),
        [
            (np.zeros((20, 20), complex), TypeError, "real numbers, got dtype complex128"),
            (np.zeros((20, 0)), ValueError, "image is empty"),
            (np.full((20, 20), np.nan), ValueError, "nothing but NaN"),
            (np.ma.masked_less(np.arange(400.0).reshape(20, 20), 9), ValueError, "9 masked values"),
            (np.zeros((20, 5)), ValueError, "20 x 5 pixels is smaller than a patch"),
        ],
    )
    def test_other_images_are_checked(self, image: Any, error: type[Exception], words: str, noisy: Doubles) -> None:
        with pytest.raises(error, match=words):
            plan(noisy, SIGMA, preset="fast").run(image)

    def test_other_arguments_are_checked(self, noisy: Doubles) -> None:
        found = plan(noisy, SIGMA, preset="fast")
        for wrong, words in (({"threads": 0}, "threads"), ({"callback": 3}, "callback"), ({"rng": -1}, "rng")):
            with pytest.raises((TypeError, ValueError), match=words):
                found.run(noisy, **wrong)  # type: ignore[arg-type]

    def test_estimates_of_planes_are_not_kept(self, noisy: Doubles) -> None:
        """A stack of a thousand images must not be in memory twice."""
        made: list[weakref.ref[Any]] = []

        class Watched(MeanOnly):
            def run(self, image: Any, sigma: float, **given: Any) -> Estimate:
                found = super().run(image, sigma, **given)
                alive = [each for each in made if each() is not None]
                assert len(alive) <= 2  # the first, and the last one
                made.append(weakref.ref(found.image))
                return found

        found = plan(np.stack([noisy] * 9), SIGMA, spatial=2, method=Watched()).run(np.stack([noisy] * 9))
        assert len(made) == 9 and found.image.shape == (9, 48, 48)


def test_by_hand(noisy: Doubles) -> None:
    made = Plan(method=NonLocal(preset="fast"), noise=Noise.gaussian(SIGMA), layout=Layout.of((1, 1)))
    np.testing.assert_array_equal(made.run(noisy).image, denoise(noisy, SIGMA, preset="fast"))
