"""The road: what goes in is what comes out, less its noise; what was asked for is done, or refused."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from restoration_cases import Doubles, Progress, colours, grey, psnr, whole_methods, with_noise

from epitomes import Noise, denoise, kernels, plan, restore
from epitomes.formats import Picture
from epitomes.learn import smooth_noise
from epitomes.noise import kernel_spectrum
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise, Recipe, TimeLimitError, as_method
from epitomes.restoration.non_local import passes

SIGMA = 25.0
METHODS: dict[str, Any] = {
    "fast": NonLocal(preset="fast"),
    "balanced": NonLocal(),
    "best": NonLocal(preset="best"),
    "strong noise": NonLocal(preset="fast", multiscale=True),
    "paper": Patchwise(recipe=Recipe(n_steps=2, batch=500)),
    "paper, given": Patchwise(epitome=smooth_noise(windows((16, 16), (6, 6)))),
    "paper, strong noise": Patchwise(recipe=Recipe(n_steps=2, batch=500), multiscale=True),
}


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return grey("camera", 40)


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return with_noise(clean, SIGMA)


class TestResults:
    def test_denoise_is_the_image_of_restore(self, noisy: Doubles) -> None:
        image = denoise(noisy, SIGMA, preset="fast")
        assert type(image) is np.ndarray
        np.testing.assert_array_equal(image, restore(noisy, SIGMA, preset="fast").image)

    def test_the_noise_is_estimated(self, clean: Doubles, noisy: Doubles) -> None:
        restored = restore(noisy, preset="fast")
        assert restored.noise.estimated and restored.noise.level == pytest.approx(SIGMA, rel=0.25)
        np.testing.assert_array_equal(restored.image, denoise(noisy, noise=restored.noise, preset="fast"))
        assert psnr(clean, restored.image) > psnr(clean, noisy) + 4

    @pytest.mark.slow
    def test_methods_by_name_and_by_object(self, noisy: Doubles) -> None:
        """The names stand for the objects with their usual settings."""
        for named, method in (
            ({"method": "nonlocal"}, NonLocal()),
            ({"preset": "fast"}, NonLocal(preset="fast")),
            ({"method": "nonlocal", "preset": "fast"}, NonLocal(preset="fast")),
            ({"method": "paper"}, Patchwise()),
        ):
            np.testing.assert_array_equal(denoise(noisy, SIGMA, **named), denoise(noisy, SIGMA, method=method))
        epitome = smooth_noise(windows((16, 16), (6, 6)))
        for named, kind in (({}, NonLocal), ({"method": "paper"}, Patchwise)):
            expected = denoise(noisy, SIGMA, method=kind(epitome=epitome))
            np.testing.assert_array_equal(denoise(noisy, SIGMA, epitome=epitome, **named), expected)

    @pytest.mark.slow
    @whole_methods
    def test_without_a_method_one_is_chosen(self) -> None:
        noisy = with_noise(grey("camera", 100), SIGMA)
        restored = restore(noisy, SIGMA)
        assert [trial.label for trial in restored.plan.trials][:2] == ["fast", "balanced"]
        np.testing.assert_array_equal(restored.image, denoise(noisy, SIGMA, method=restored.plan.method))

    def test_as_method(self) -> None:
        assert as_method(None) is None and as_method(None, time=3.0) is None
        method = NonLocal()
        assert as_method(method) is method


class TestVolumes:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["balanced", "paper"])
    def test_a_volume_is_its_planes(self, name: str) -> None:
        """Not an image with many channels: 5 planes of 40 x 48, each denoised by itself if that is asked for."""
        volume = with_noise(np.stack([grey("camera", 48)[at : at + 40] for at in range(5)]), SIGMA)
        assert volume.shape == (5, 40, 48)
        method = METHODS[name]
        single = replace(method, planes="single") if isinstance(method, NonLocal) else method
        restored = restore(volume, SIGMA, method=single)
        assert restored.plan.planes == 5
        for plane, found in zip(volume, restored.image, strict=True):
            np.testing.assert_array_equal(found, denoise(plane, SIGMA, method=method))

    def test_with_the_noise_estimated_over_all_planes(self) -> None:
        volume = with_noise(np.stack([grey("camera", 48)] * 3), SIGMA)
        restored = restore(volume, preset="fast")
        assert restored.noise.level == pytest.approx(SIGMA, rel=0.2)
        np.testing.assert_array_equal(restored.image, denoise(volume, noise=restored.noise, preset="fast"))

    @pytest.mark.slow
    @whole_methods
    def test_one_method_is_chosen_for_all_planes(self) -> None:
        flat, busy = np.full((70, 70), 100.0), grey("camera", 70)
        found = plan(with_noise(np.stack([flat, busy, flat]), SIGMA), SIGMA, spatial=2)
        assert "chosen on the plane with the most structure, of 3" in found.explain()
        alone = plan(with_noise(np.stack([flat, busy, flat]), SIGMA)[1], SIGMA)
        assert found.method.label == alone.method.label
        assert [trial.gain for trial in found.trials] == [trial.gain for trial in alone.trials]

    def test_planes_together_by_patches_of_three_axes(self) -> None:
        volume = with_noise(np.full((9, 12, 12), 50.0), SIGMA)
        epitome = smooth_noise(windows((6, 6, 6), (4, 4, 4)))
        restored = restore(volume, SIGMA, method=Patchwise(epitome=epitome))
        assert restored.plan.planes == 1 and np.std(restored.image) < SIGMA / 3

    def test_a_stack_of_volumes_and_of_colour_images(self) -> None:
        stack = with_noise(np.full((2, 3, 16, 17), 50.0), SIGMA)
        volumes = denoise(stack, SIGMA, spatial=3, preset="fast")
        for one, found in zip(stack, volumes, strict=True):
            np.testing.assert_array_equal(found, denoise(one, SIGMA, preset="fast"))
        images = denoise(stack, SIGMA, spatial=2, preset="fast")
        np.testing.assert_array_equal(images[1, 2], denoise(stack[1, 2], SIGMA, preset="fast"))
        colour = denoise(stack, SIGMA, spatial=2, channel_axis=1, preset="fast")
        for one, found in zip(stack, colour, strict=True):
            np.testing.assert_array_equal(found, denoise(one, SIGMA, channel_axis=0, preset="fast"))


class TestNoise:
    def test_the_same_level_in_other_forms(self, noisy: Doubles) -> None:
        expected = denoise(noisy, SIGMA, preset="balanced")
        np.testing.assert_array_equal(denoise(noisy, noise=Noise.gaussian(SIGMA), preset="balanced"), expected)
        constant = denoise(noisy, noise=Noise.map(np.full(noisy.shape, SIGMA)), preset="balanced")
        np.testing.assert_array_equal(constant, expected)
        nearly = np.full(noisy.shape, SIGMA)
        nearly[0, 0] *= 1 + 1e-9
        np.testing.assert_allclose(denoise(noisy, noise=Noise.map(nearly), preset="balanced"), expected, atol=1e-3)
        white = Noise.from_spectrum(np.full(noisy.shape, SIGMA**2))
        np.testing.assert_allclose(denoise(noisy, noise=white, preset="balanced"), expected, atol=1e-3)

    def test_levels_per_channel(self) -> None:
        """As channels that were scaled to one level by hand."""
        levels = np.array([15.0, 20.0, 30.0])
        noisy = with_noise(colours(40) / levels, 1.0) * levels
        found = denoise(noisy, noise=Noise.gaussian(levels), channel_axis=-1, preset="balanced")
        by_hand = levels * denoise(noisy / levels, 1.0, channel_axis=-1, preset="balanced")
        assert np.mean(np.abs(found - by_hand) < 1e-3) > 0.99  # ties may fall either way by rounding

    def test_levels_per_picture_of_a_stack(self, noisy: Doubles) -> None:
        stack = np.stack([noisy, 2 * noisy])
        levels = Noise.map(np.reshape([SIGMA, 2 * SIGMA], (2, 1, 1)))
        found = denoise(stack, noise=levels, spatial=2, preset="fast")
        for at, factor in enumerate((1, 2)):
            np.testing.assert_array_equal(found[at], denoise(stack[at], factor * SIGMA, preset="fast"))

    def test_counted_light(self, rng: np.random.Generator) -> None:
        clean = np.maximum(1.0, grey("camera", 64) / 8)
        counts = rng.poisson(clean).astype(np.uint16)
        found = denoise(counts, noise=Noise.poisson_gaussian(1.0), preset="balanced")
        assert found.dtype == np.uint16
        assert np.mean((found - clean) ** 2) < 0.3 * np.mean((counts - clean) ** 2)

    def test_correlated_noise(self) -> None:
        clean = grey("camera", 64)
        spectrum = kernel_spectrum([[0.2, 0.6, 0.2]], clean.shape, sigma=40.0)
        noisy = clean + np.fft.ifft2(np.sqrt(spectrum) * np.fft.fft2(with_noise(0 * clean, 1.0))).real
        known = Noise.from_spectrum(spectrum)
        white = denoise(noisy, known.level, preset="balanced")
        assert psnr(clean, denoise(noisy, noise=known, preset="balanced")) > psnr(clean, white) + 0.5


class TestNotes:
    """An image that stays as it is says so: `denoise` warns, `restore` notes."""

    def test_no_noise_was_found(self) -> None:
        image = np.full((40, 40), 7.0)
        with pytest.warns(UserWarning, match="no noise was found.*pass sigma"):
            np.testing.assert_array_equal(denoise(image), image)
        restored = restore(image)
        assert restored.unchanged and restored.epitome is None and "no noise" in restored.plan.explain()

    @pytest.mark.parametrize("masked", [False, True])
    def test_the_noise_is_too_faint(self, masked: bool, clean: Doubles) -> None:
        image = np.where(np.arange(40) < 9, 1e9, clean)
        mask = np.zeros(image.shape, bool)
        mask[3, 3] = masked
        with pytest.warns(UserWarning, match="too faint.*check sigma"):
            np.testing.assert_array_equal(denoise(image, 1e-3, mask=mask, preset="fast"), image)

    def test_one_hot_pixel_is_no_reason_to_stop(self, clean: Doubles, noisy: Doubles) -> None:
        hot = noisy.copy()
        hot[9, 9] = 1e8
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = denoise(hot, SIGMA, preset="balanced")
        assert found[9, 9] == 1e8
        assert np.mean(np.delete(found - clean, 9, axis=0) ** 2) < np.mean(np.delete(noisy - clean, 9, axis=0) ** 2) / 3

    def test_an_empty_picture_of_a_stack(self, noisy: Doubles) -> None:
        stack = np.stack([noisy, np.full(noisy.shape, 9.0)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = denoise(stack, spatial=2, preset="fast")
        np.testing.assert_array_equal(found[1], stack[1])
        assert not np.array_equal(found[0], stack[0])


class TestRandom:
    @pytest.mark.slow
    def test_the_seed_reaches_the_adaptation_of_best(self) -> None:
        noisy = with_noise(grey("camera", 64), SIGMA)
        one, other, third = (restore(noisy, SIGMA, preset="best", rng=rng) for rng in (1, 1, 2))
        assert one.epitome is not None and other.epitome is not None and third.epitome is not None
        assert one.epitome.pixels.tobytes() == other.epitome.pixels.tobytes() != third.epitome.pixels.tobytes()
        assert one.image.tobytes() == other.image.tobytes() != third.image.tobytes()

    def test_the_seed_reaches_the_learning_of_the_papers_method(self, noisy: Doubles) -> None:
        one, other, third = (denoise(noisy, SIGMA, method=METHODS["paper"], rng=rng).tobytes() for rng in (1, 1, 2))
        assert one == other != third

    @pytest.mark.slow
    @whole_methods
    def test_the_seed_reaches_the_trials(self) -> None:
        noisy = with_noise(grey("camera", 70), SIGMA)
        one, other, third = ([trial.gain for trial in plan(noisy, SIGMA, rng=rng).trials] for rng in (1, 1, 2))
        assert one == other != third

    def test_generators(self, noisy: Doubles) -> None:
        one, other = (
            denoise(noisy, SIGMA, method=METHODS["paper"], rng=np.random.default_rng(5)).tobytes() for _ in range(2)
        )
        assert one == other
        shared = np.random.default_rng(5)
        first, second = (denoise(noisy, SIGMA, method=METHODS["paper"], rng=shared).tobytes() for _ in range(2))
        assert first == one != second
        assert denoise(noisy, SIGMA, method=METHODS["paper"], rng=None).shape == noisy.shape


class TestProgress:
    @pytest.mark.parametrize("name", METHODS)
    @pytest.mark.parametrize("blind", [False, True])
    def test_from_nothing_to_all(self, name: str, blind: bool, noisy: Doubles) -> None:
        progress = Progress()
        restore(noisy[:32, :32], None if blind else SIGMA, method=METHODS[name], callback=progress)
        assert progress.fractions[0] == 0 and progress.fractions[-1] == 1
        assert np.all(np.diff(progress.fractions) >= 0)
        assert all(type(stage) is str and stage for stage in progress.stages)
        assert ("estimating the noise" in progress.stages) is blind

    @whole_methods
    @pytest.mark.parametrize("shape", [(70, 70), (3, 24, 24), (2, 24, 24, 3)])
    def test_choosing_planes_and_stacks(self, shape: tuple[int, ...]) -> None:
        progress = Progress()
        axis = -1 if shape[-1] == 3 else None
        restore(with_noise(np.full(shape, 50.0), SIGMA), spatial=2, channel_axis=axis, callback=progress)
        assert progress.fractions[0] == 0 and progress.fractions[-1] == 1
        assert np.all(np.diff(progress.fractions) >= 0)

    def test_a_plan_and_its_run(self, noisy: Doubles) -> None:
        planning, running = Progress(), Progress()
        plan(noisy, preset="fast", callback=planning).run(noisy, callback=running)
        assert 0 == planning.fractions[0] <= planning.fractions[-1] <= 1
        assert running.fractions[0] == 0 and running.fractions[-1] == 1

    def test_it_changes_no_bit(self, noisy: Doubles) -> None:
        quiet, told = (denoise(noisy, SIGMA, preset="balanced", callback=each) for each in (None, Progress()))
        assert quiet.tobytes() == told.tobytes()


class TestTime:
    """Candidates with known times, and a clock that stands still."""

    @pytest.fixture(autouse=True)
    def known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from epitomes.restoration.planning import search
        from epitomes.restoration.planning.candidates import Outcome, Task

        module = sys.modules[search.__module__]
        speed = {"fast": (1.0, 10.0), "balanced": (0.8, 30.0)}

        def tried(candidate: Any, task: Task, held: Any) -> Any:
            off, seconds = speed.get(candidate.label, (2.0, 50.0))
            for at in range(1, len(held.noisier) + 1):
                estimates = tuple(tile + np.float32(off * task.sigma) for tile in held.noisier[:at])
                yield Outcome(estimates, seconds * task.n_planes)

        seconds = {"fast": 10.0, "balanced": 30.0, "best": 200.0, "fast, stride 2": 4.0}
        monkeypatch.setattr(module, "tried", tried)
        monkeypatch.setattr(module, "seconds_of", lambda method, task: seconds[method.label] * task.n_planes)
        monkeypatch.setattr(module, "mean_square_error", lambda *_: SIGMA**2)
        monkeypatch.setattr(Task, "left", property(lambda task: task.limit))

    @pytest.mark.parametrize(("time", "label"), [(5.0, "fast, stride 2"), (20.0, "fast"), (500.0, "best")])
    def test_a_budget_chooses(self, time: float, label: str) -> None:
        found = plan(with_noise(np.full((200, 200), 90.0), SIGMA), SIGMA, time=time)
        assert found.method.label == label and found.time == time
        assert found.seconds is not None and "s allowed" in found.explain()

    def test_it_is_for_all_planes(self) -> None:
        """What fits for one plane does not fit for eight of them, and predictions are for all."""
        volume = with_noise(np.full((8, 100, 100), 90.0), SIGMA)
        one, all_of_them = (plan(image, SIGMA, spatial=2, time=150.0) for image in (volume[0], volume))
        assert (one.method.label, all_of_them.method.label) == ("balanced", "fast")
        assert one.seconds == pytest.approx(30) and all_of_them.seconds == pytest.approx(80)
        assert "about 80 s of the 150 s allowed" in all_of_them.explain()

    def test_no_time_at_all(self, noisy: Doubles, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        for image, sigma in ((noisy, None), (noisy, SIGMA), (np.stack([noisy] * 3), SIGMA)):
            with pytest.raises(TimeLimitError, match=r"1e-09 s are allowed: allow .* s, or crop or shrink the image"):
                denoise(image, sigma, time=1e-9)
        tiny = plan(noisy[:7], SIGMA, time=1e-9)
        assert isinstance(tiny.method, Patchwise)


class TestPictures:
    def test_the_axes_say_what_arguments_say(self) -> None:
        stack = np.rint(with_noise(np.full((3, 20, 21), 90.0), 9.0)).astype(np.uint8)
        for axes, given in (("TYX", {}), ("ZYX", {}), ("CYX", {"channel_axis": 0})):
            found = restore(Picture(stack, axes), 9.0, preset="fast")
            np.testing.assert_array_equal(found.image, denoise(stack, 9.0, preset="fast", **given))
        colour = np.moveaxis(stack, 0, -1)
        found = restore(Picture(colour, "YXC"), 9.0, preset="fast")
        np.testing.assert_array_equal(found.image, denoise(colour, 9.0, preset="fast", channel_axis=-1))

    def test_which_then_are_refused(self) -> None:
        with pytest.raises(ValueError, match="known from the axes YX of the picture: leave them out"):
            denoise(Picture(np.zeros((20, 20))), 5.0, spatial=2)


@pytest.mark.slow
def test_plans_are_plain_values() -> None:
    """Of restored images, too: nothing but what JSON knows."""
    noisy = with_noise(np.full((70, 70), 90.0), SIGMA)
    for given in ({"time": 600.0}, {}, {"method": METHODS["paper"]}, {"method": METHODS["paper, given"]}):
        restored = restore(noisy, **given)  # type: ignore[arg-type]
        facts = json.loads(json.dumps(restored.as_dict(), allow_nan=False))
        assert facts["plan"]["label"] == restored.plan.method.label and facts["shape"] == [70, 70]
        assert len(facts["objectives"]) == (2 if given.get("method") is METHODS["paper"] else 0)


def test_the_road_is_short(noisy: Doubles, monkeypatch: pytest.MonkeyPatch) -> None:
    """restore, Plan.run, NonLocal.run, Pass.run, estimate; on a thread, three more to the kernel."""

    def frames() -> int:
        names = [frame.filename for frame in traceback.extract_stack()]
        return sum(f"{os.sep}epitomes{os.sep}" in name for name in names)

    before, after = list[int](), list[int]()
    estimate, match = passes.estimate, kernels.match
    monkeypatch.setattr(passes, "estimate", lambda *given, **more: before.append(frames()) or estimate(*given, **more))
    monkeypatch.setattr(kernels, "match", lambda *given: after.append(frames()) or match(*given))
    restore(noisy, SIGMA, preset="balanced")
    assert max(before) + 1 <= 5 and max(after) + 1 <= 3
