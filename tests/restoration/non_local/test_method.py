"""The non-local method: better than patch by patch, and sensible whatever image and noise level come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from restoration_cases import Doubles, Progress, colours, grey, psnr, white_noise, with_noise

from epitomes import Restored, kernels, restore
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows
from epitomes.restoration import NonLocal, Patchwise
from epitomes.restoration.method import Callback
from epitomes.restoration.non_local import AtomsPass, FeedbackPass
from epitomes.restoration.non_local.outliers import MOST_RANGE, outliers_of
from epitomes.restoration.non_local.presets import PRESETS, passes_of

SIGMA = 25.0
SHIPPED = windows((20, 15, 15), (8, 8))
PASSING = ("balanced", "best")  # presets that work by groups

SMALL = pytest.mark.xfail(strict=True, reason="on an image of few patches the feedback passes put noise back")


def denoise(
    image: ArrayLike,
    sigma: float,
    *,
    channel_axis: int | None = None,
    threads: int | None = 1,
    callback: Callback | None = None,
    **settings: Any,
) -> Restored:
    """Restore by the non-local method with these settings."""
    method = NonLocal(**settings)
    return restore(image, sigma, method=method, channel_axis=channel_axis, threads=threads, callback=callback)


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return grey("camera")


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return clean + SIGMA * white_noise(clean.shape)


@pytest.fixture(scope="module")
def restored(noisy: Doubles) -> Doubles:
    return np.asarray(denoise(noisy, SIGMA).image)


class TestQuality:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["camera", "coins"])
    def test_better_than_the_papers_method(self, name: str) -> None:
        picture = grey(name)
        image = picture + SIGMA * white_noise(picture.shape, 1)
        groups = psnr(picture, denoise(image, SIGMA).image)
        assert groups > 0.2 + psnr(picture, restore(image, SIGMA, method="paper", threads=1).image)
        assert groups > 0.2 + psnr(picture, denoise(image, SIGMA, preset="fast").image)

    def test_fast_is_the_papers_method_with_the_shipped_epitome(self, noisy: Doubles) -> None:
        fast = denoise(noisy, SIGMA, preset="fast")
        paper = restore(noisy, SIGMA, method=Patchwise(epitome=natural(SHIPPED)), threads=1)
        assert np.abs(fast.image - paper.image).mean() < 1e-3 * SIGMA  # float32, and a patch may choose another atom
        assert fast.atoms_per_patch == paper.atoms_per_patch

    @pytest.mark.slow
    def test_colours_help_each_other(self) -> None:
        picture = colours()
        image = with_noise(picture, SIGMA)
        planes = [restore(image[..., c], SIGMA, method="paper", threads=1).image for c in range(3)]
        together = psnr(picture, denoise(image, SIGMA, channel_axis=-1).image)
        assert together > 1.0 + psnr(picture, np.stack(planes, axis=-1))
        alone = [denoise(image[..., c], SIGMA).image for c in range(3)]
        assert together > 0.5 + psnr(picture, np.stack(alone, axis=-1))

    @pytest.mark.slow
    def test_one_channel_is_a_grey_image(self, noisy: Doubles, restored: Doubles) -> None:
        found = denoise(noisy[..., None], SIGMA, channel_axis=-1).image
        np.testing.assert_array_equal(found[..., 0], restored)

    @pytest.mark.parametrize("channels", [2, 4])
    def test_other_numbers_of_channels(self, channels: int, clean: Doubles) -> None:
        picture = np.stack([clean[:40, :41] + 10 * c for c in range(channels)], axis=-1)
        found = denoise(with_noise(picture, SIGMA), SIGMA, channel_axis=-1).image
        assert found.shape == picture.shape
        assert psnr(picture, found) > 26

    @pytest.mark.parametrize(("factor", "loss"), [(0.8, 3.5), (1.2, 1.5)])
    def test_a_wrong_sigma_costs_little(
        self, factor: float, loss: float, clean: Doubles, noisy: Doubles, restored: Doubles
    ) -> None:
        found = psnr(clean, denoise(noisy, factor * SIGMA).image)
        assert found > psnr(clean, restored) - loss
        assert found > psnr(clean, noisy) + 6

    @pytest.mark.slow
    @pytest.mark.parametrize("sigma", [1.0, 5.0])
    def test_little_noise(self, sigma: float, clean: Doubles) -> None:
        image = clean + sigma * white_noise(clean.shape)
        assert psnr(clean, denoise(image, sigma).image) > psnr(clean, image)

    @pytest.mark.slow
    @pytest.mark.parametrize("sigma", [1e-2, 1e-5, 1e-9])
    def test_tiny_sigma_leaves_the_image_alone(self, sigma: float, clean: Doubles) -> None:
        part = clean[:40, :40]
        image = part + sigma * white_noise(part.shape)
        found = denoise(image, sigma).image
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, image, atol=max(8 * sigma, 1e-4))

    @pytest.mark.parametrize("sigma", [1e3, 1e9, 1e100])
    def test_very_large_sigma_leaves_the_mean(self, sigma: float, clean: Doubles) -> None:
        image = clean + sigma * white_noise(clean.shape)
        found = denoise(image, sigma).image
        assert np.isfinite(found).all()
        assert np.std(found) < 0.15 * sigma
        assert abs(found.mean() - image.mean()) < 0.05 * sigma

    @pytest.mark.parametrize("preset", PASSING)
    def test_of_pure_noise_little_is_left(self, preset: str) -> None:
        image = 7.0 * white_noise((48, 50), 3)
        assert np.std(denoise(image, 7.0, preset=preset).image) < np.std(image) / 10

    @pytest.mark.slow
    @pytest.mark.parametrize("side", [1, 2, 3, 8])
    def test_checkerboards(self, side: int) -> None:
        board = 128 + 100.0 * ((np.indices((48, 48)) // side).sum(axis=0) % 2 * 2 - 1)
        image = board + SIGMA * white_noise(board.shape)
        found = denoise(image, SIGMA).image
        assert psnr(board, found) > psnr(board, image) + 3
        assert psnr(board, found) > psnr(board, denoise(image, SIGMA, preset="fast").image)


class TestImages:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
    @pytest.mark.parametrize("sigma", [1e-4, 5.0, 1e4])
    def test_a_constant_image_returns_itself(self, sigma: float, dtype: Any) -> None:
        for shape in ((20, 23), (16, 16, 3)):
            image = np.full(shape, 77, dtype)
            found = denoise(image, sigma, channel_axis=-1 if len(shape) == 3 else None).image
            assert found.dtype == dtype
            assert np.ptp(found) <= (0 if dtype in (np.uint8, np.uint16) or len(shape) == 2 else 1e-4)
            np.testing.assert_allclose(found, image, rtol=1e-6)

    @pytest.mark.parametrize(
        ("shape", "preset"),
        [
            *((shape, "balanced") for shape in ((16, 16), (8, 9), (9, 8), (8, 8), (8, 60), (61, 17))),
            ((16, 16), "best"),
            pytest.param((8, 9), "best", marks=SMALL),
        ],
    )
    def test_small_and_oblong_images(self, shape: tuple[int, int], preset: str, clean: Doubles, noisy: Doubles) -> None:
        part = tuple(slice(0, side) for side in shape)
        found = denoise(noisy[part], SIGMA, preset=preset).image
        assert found.shape == shape
        assert np.isfinite(found).all()
        assert psnr(clean[part], found) > psnr(clean[part], noisy[part]) + 4

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float16", "float32", "float64", ">u2", ">f4"])
    def test_dtype_out_is_dtype_in(self, dtype: str, noisy: Doubles) -> None:
        image = np.clip(np.rint(noisy[:32, :33]), 0, 255).astype(dtype)
        kept = image.copy()
        image.flags.writeable = False
        found = denoise(image, SIGMA).image
        assert found.dtype == image.dtype and found.shape == image.shape
        np.testing.assert_array_equal(image, kept)
        expected = denoise(image.astype(np.float64), SIGMA).image
        np.testing.assert_allclose(found.astype(np.float64), expected, atol=0.51 if found.dtype.kind in "iu" else 0.1)

    def test_the_input_is_not_changed(self, noisy: Doubles) -> None:
        for preset in PRESETS:
            image = noisy[:24, :24].astype(np.float32)
            kept = image.copy()
            denoise(image, SIGMA, preset=preset)
            np.testing.assert_array_equal(image, kept)

    def test_layouts(self, noisy: Doubles) -> None:
        part = noisy[:24, :26]
        expected = denoise(part.copy(), SIGMA).image
        for image in (np.asfortranarray(part), np.repeat(part, 2, axis=1)[:, ::2], part.tolist()):
            np.testing.assert_array_equal(denoise(image, SIGMA).image, expected)


class TestLaws:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("preset", "shape"), [("balanced", (70, 40)), ("balanced", (45, 30, 3)), ("best", (40, 20))]
    )
    def test_threads_change_no_bit(self, preset: str, shape: tuple[int, ...]) -> None:
        """More rows than one band of references has."""
        image = (np.indices(shape).sum(axis=0) % 23 * 8 + SIGMA * white_noise(shape)).astype(np.float32)
        axis = -1 if len(shape) == 3 else None
        found = [denoise(image, SIGMA, preset=preset, channel_axis=axis, threads=n).image for n in (1, 2, 3)]
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()

    @pytest.mark.parametrize("factor", [2.0, 257.0, 1e-3, 1e6])
    def test_scaling_image_and_sigma_scales_the_result(self, factor: float, noisy: Doubles) -> None:
        part = noisy[:40, :41]
        found = denoise(factor * part, factor * SIGMA).image / factor
        expected = denoise(part, SIGMA).image
        assert np.mean(np.abs(found - expected) < 1e-9) > 0.99  # ties may fall either way by rounding
        np.testing.assert_allclose(found, expected, atol=0.5)

    def test_brightness_is_free(self, noisy: Doubles) -> None:
        part = noisy[:40, :41]
        found = denoise(part + 1000, SIGMA).image - 1000
        assert np.mean(np.abs(found - denoise(part, SIGMA).image) < 1e-9) > 0.99

    def test_the_same_call_gives_the_same_bits(self, noisy: Doubles) -> None:
        one, other = (denoise(noisy[:20, :20], SIGMA, preset="best").image for _ in range(2))
        assert one.tobytes() == other.tobytes()

    def test_no_seams(self) -> None:
        """Steps between neighbouring rows, or columns, of the error are no larger at any phase of the grid or bands.

        References stand every 4 pixels, 8 lines of them in a band: a seam would return with one of these periods.
        """
        ramp = np.add.outer(np.linspace(50, 200, 260), np.linspace(-20, 20, 64))
        error = denoise(ramp + SIGMA * white_noise(ramp.shape, 2), SIGMA).image - ramp
        for steps in (np.abs(np.diff(error, axis=0)).mean(axis=1), np.abs(np.diff(error, axis=1)).mean(axis=0)):
            for period, most in ((4, 1.2), (32, 1.4)):
                whole = steps[: len(steps) // period * period].reshape(-1, period)
                assert np.median(whole, axis=0).max() < most * steps.mean()

    @pytest.mark.parametrize("preset", PASSING)
    def test_every_pass_is_told(self, preset: str, noisy: Doubles) -> None:
        progress = Progress()
        denoise(noisy[:24, :24], SIGMA, preset=preset, callback=progress)
        steps = passes_of(preset)
        told = [f"pass {number} of {len(steps)}" for number in range(1, len(steps) + 1)]
        assert [stage for stage in dict.fromkeys(progress.stages) if stage.startswith("pass")] == told


class TestFast:
    """The preset without groups takes what the others take."""

    @pytest.mark.parametrize("shape", [(24, 24, 1), (24, 24, 3)])
    def test_channels(self, shape: tuple[int, ...]) -> None:
        image = 100 + SIGMA * white_noise(shape)
        found = denoise(image, SIGMA, preset="fast", channel_axis=-1).image
        assert found.shape == shape
        assert np.std(found) < np.std(image) / 3

    def test_the_pilot_is_told(self, noisy: Doubles) -> None:
        progress = Progress()
        denoise(noisy[:24, :24], SIGMA, preset="fast", callback=progress)
        assert "coding patches" in progress.stages


class TestMatching:
    @pytest.mark.slow
    @pytest.mark.parametrize("preset", PASSING)
    def test_groups_are_found_once_for_all_channels(
        self, preset: str, noisy: Doubles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Comparing patches takes most of the time, and three channels have the groups of one."""
        counts = []
        match = kernels.match
        for channels in (1, 3):
            calls: list[int] = []
            monkeypatch.setattr(kernels, "match", lambda *given, calls=calls: calls.append(1) or match(*given))
            image = np.stack([noisy[:40, :40]] * channels, axis=-1)
            denoise(image, SIGMA, preset=preset, channel_axis=-1)
            counts.append(len(calls))
        assert counts[0] == counts[1] > 0


class TestOutliers:
    """A hot pixel, or a dead one, must not stop the others from being denoised."""

    @pytest.mark.parametrize("value", [1e8, -1e8, 1e300])
    @pytest.mark.parametrize("preset", ["fast", "balanced"])
    def test_one_hot_pixel(self, preset: str, value: float, clean: Doubles, noisy: Doubles) -> None:
        hot = noisy.copy()
        hot[30, 40] = value
        found, expected = denoise(hot, SIGMA, preset=preset), denoise(noisy, SIGMA, preset=preset).image
        assert found.image[30, 40] == value
        assert any("1 outlier" in note for note in found.notes) and not found.unchanged
        others = np.ones(noisy.shape, bool)
        others[30, 40] = False
        error, usual = (np.mean((image - clean)[others] ** 2) for image in (found.image, expected))
        assert error < 1.05 * usual

    def test_in_strong_noise(self, clean: Doubles) -> None:
        """The contrast of the image decides on scales and patch sizes: it is measured without the outliers."""
        noisy = with_noise(clean, 150.0)
        hot = noisy.copy()
        hot[30, 40] = 1e9
        others = hot == noisy
        error, usual = (
            np.mean((denoise(image, 150.0, preset="fast").image - clean)[others] ** 2) for image in (hot, noisy)
        )
        assert error < 1.05 * usual

    def test_whole_numbers_and_colours(self) -> None:
        image = np.rint(100 + 3 * white_noise((32, 33, 3))).astype(np.int32)
        image[4, 5, 1] = 2_000_000
        found = denoise(image, 3.0, channel_axis=-1)
        assert found.image.dtype == np.int32 and found.image[4, 5, 1] == 2_000_000
        assert np.std(np.delete(found.image.reshape(-1), (4 * 33 + 5) * 3 + 1)) < 1

    def test_a_channel_of_them(self) -> None:
        """No pixel of it has a good neighbour."""
        image = 100 + 3 * white_noise((16, 16, 120))
        image[..., 7] = 1e9
        found = denoise(image, 3.0, preset="fast", channel_axis=-1).image
        np.testing.assert_array_equal(found[..., 7], image[..., 7])
        assert np.std(np.delete(found, 7, axis=-1)) < 1

    def test_which_they_are(self) -> None:
        image = np.zeros((10, 10))
        image[0, 0], image[1, 1] = 0.4 * MOST_RANGE, -0.4 * MOST_RANGE
        assert outliers_of(image, 1.0) is None
        image[2, 2] = 2 * MOST_RANGE
        found = outliers_of(image, 1.0)
        assert found is not None and np.argwhere(found).tolist() == [[2, 2]]

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e12])
    def test_noise_too_faint(self, scale: float, clean: Doubles) -> None:
        """A tenth of the image is far above the rest: there is nothing that could be called an outlier."""
        image = np.where(np.arange(80) < 8, 1e7, clean) * scale
        found = denoise(image, 1e-3 * scale)
        np.testing.assert_array_equal(found.image, image)
        assert found.unchanged and "too faint" in found.notes[0] and "check sigma" in found.notes[0]


class TestErrors:
    def test_axes(self) -> None:
        with pytest.raises(ValueError, match=r"needs two spatial axes at least, got a picture of shape \(64,\)"):
            denoise(np.zeros(64), SIGMA)
        with pytest.raises(
            ValueError, match=r"at least, got a picture of shape \(64, 3\), channels last: use method='p"
        ):
            denoise(np.zeros((64, 3)), SIGMA, channel_axis=-1)

    @pytest.mark.parametrize("shape", [(7, 20), (1, 1), (3, 300)])
    def test_images_smaller_than_a_patch(self, shape: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match=r"smaller than a patch of 8 x 8: use method='paper'"):
            denoise(9 * white_noise(shape), 1.0)
        large = smooth_noise(windows((22, 22), (21, 21)))
        with pytest.raises(ValueError, match=r"smaller than a patch of 21 x 21: use an epitome with smaller patches"):
            denoise(9 * white_noise(shape), 1.0, epitome=large)

    def test_epitomes(self, noisy: Doubles) -> None:
        with pytest.raises(ValueError, match=r"two-dimensional patches, got patches of shape \(5, 5, 3\)"):
            NonLocal(epitome=smooth_noise(windows((10, 10, 3), (5, 5, 3))))
        with pytest.raises(TypeError, match="epitome must be an Epitome, got ndarray"):
            NonLocal(epitome=noisy)  # type: ignore[arg-type]
        flat = smooth_noise(windows((12, 12), (6, 6)))
        with pytest.raises(ValueError, match="atoms with contrast"):
            NonLocal(epitome=type(flat)(0 * flat.pixels, flat.phi))

    def test_settings(self) -> None:
        with pytest.raises(ValueError, match=r"preset must be one of 'fast', 'balanced', 'best', got 'slow'"):
            NonLocal(preset="slow")
        with pytest.raises(ValueError, match="residual_factor must be a finite number > 0"):
            NonLocal(residual_factor=-1.0)
        with pytest.raises(TypeError, match="multiscale must be True, False or None"):
            NonLocal(multiscale="yes")  # type: ignore[arg-type]
        for wrong in ("best", AtomsPass, 3):
            with pytest.raises(TypeError, match="passes must be objects such as AtomsPass"):
                NonLocal(passes=(wrong,))  # type: ignore[arg-type]


def test_other_passes(noisy: Doubles, restored: Doubles) -> None:
    part = noisy[:40, :40]
    method = NonLocal(passes=passes_of("balanced"))
    np.testing.assert_array_equal(
        restore(part, SIGMA, method=method, threads=1).image, denoise(part, SIGMA, preset="balanced").image
    )
    assert method.label == "non-local"
    one = denoise(part, SIGMA, passes=(FeedbackPass(),)).image
    assert not np.array_equal(one, denoise(part, SIGMA, preset="fast").image)
    np.testing.assert_array_equal(denoise(part, SIGMA, passes=()).image, denoise(part, SIGMA, preset="fast").image)


def test_another_epitome_is_used(noisy: Doubles, restored: Doubles) -> None:
    epitome = natural(windows((42, 42), (8, 8)))
    found = denoise(noisy, SIGMA, epitome=epitome)
    assert not np.array_equal(found.image, restored)
    assert found.epitome is epitome
    assert psnr(restored, found.image) > 35
