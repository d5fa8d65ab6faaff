"""`inpaint`: scattered pixels, lines and holes; what is kept, what is refused, and which bits come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from epitomes import demo, inpaint, kernels
from epitomes.formats import Picture
from epitomes.restoration.inpainting.smooth import smooth_fill
from epitomes.validation import psnr

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole images")


@pytest.fixture
def clean() -> np.ndarray:
    """A piece of the shipped photograph with edges in it, 64 x 64."""
    return demo.shipped_picture()[120:184, 130:194].astype(np.float64)


def scattered(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.random(shape) < share)


class TestQuality:
    @pytest.mark.slow
    @pytest.mark.parametrize(("share", "gain"), [(0.1, 1.0), (0.5, 1.0), (0.8, 1.0)])
    def test_scattered_pixels(self, share: float, gain: float, clean: np.ndarray, rng: np.random.Generator) -> None:
        """Better than the smooth surface through the known pixels, and the better the preset the better."""
        mask = scattered(clean.shape, share, rng)
        smooth = psnr(clean, smooth_fill(np.where(mask, 0.0, clean), mask))
        balanced = psnr(clean, inpaint(clean, mask))
        assert balanced > smooth + gain

    @pytest.mark.slow
    def test_presets(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.5, rng)
        fast, balanced = (psnr(clean, inpaint(clean, mask, preset=preset)) for preset in ("fast", "balanced"))
        assert balanced > fast > psnr(clean, smooth_fill(np.where(mask, 0.0, clean), mask))

    @pytest.mark.slow
    def test_dead_lines(self, clean: np.ndarray) -> None:
        mask = np.zeros(clean.shape, np.bool_)
        mask[20], mask[:, 30:32] = True, True
        got = inpaint(np.where(mask, 0, clean), mask)
        middle = (clean[19] + clean[21]) / 2
        assert np.abs(got[20] - clean[20])[~mask[19]].mean() < np.abs(middle - clean[20])[~mask[19]].mean() + 1

    @pytest.mark.slow
    def test_a_texture_continues_in_a_hole(self, rng: np.random.Generator) -> None:
        """A pattern with a period comes back; a smooth surface would be flat."""
        y, x = np.indices((72, 72))
        stripes = 100 + 60 * np.sin(2 * np.pi * (x + y) / 9) + 20 * np.sin(2 * np.pi * y / 6)
        mask = np.zeros(stripes.shape, np.bool_)
        mask[24:44, 26:48] = True
        got = inpaint(np.where(mask, 0, stripes), mask)
        assert np.abs(got - stripes)[mask].mean() < 8 < 0.4 * np.abs(stripes - stripes.mean())[mask].mean()

    @pytest.mark.slow
    def test_noise_is_removed_too(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.4, rng)
        noisy = clean + rng.normal(0, 15, clean.shape)
        told, found = (inpaint(noisy, mask, sigma=sigma) for sigma in (15.0, None))
        assert psnr(clean, told) > psnr(clean, inpaint(noisy, mask)) + 2
        assert psnr(clean, found) > psnr(clean, told) - 0.8

    def test_smooth_surfaces_stay(self) -> None:
        y, x = np.indices((40, 50))
        plane = 3.0 * x - 2.0 * y + 1e4
        mask = scattered(plane.shape, 0.6, np.random.default_rng(0))
        np.testing.assert_allclose(inpaint(plane, mask), plane, atol=8)


class TestKept:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.float64])
    def test_known_pixels_dtype_and_input(self, dtype: Any, clean: np.ndarray, rng: np.random.Generator) -> None:
        image = clean.astype(dtype) * (1 if np.dtype(dtype).itemsize == 1 else 100)
        mask = scattered(image.shape, 0.3, rng)
        before = image.copy()
        got = inpaint(image, mask, preset="fast")
        assert got.dtype == dtype and got.shape == image.shape
        np.testing.assert_array_equal(got[~mask], image[~mask])
        np.testing.assert_array_equal(image, before)
        assert got[mask].min() >= image[~mask].min() and got[mask].max() <= image[~mask].max()

    def test_missing_values_do_not_matter(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.3, rng)
        one, other = (
            inpaint(np.where(mask, value, clean), mask, preset="fast", sigma=sigma)
            for value, sigma in ((0.0, 0.0), (1e9, 0.0))
        )
        np.testing.assert_array_equal(one, other)

    @pytest.mark.slow
    def test_nan_are_missing(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.3, rng)
        expected = inpaint(clean, mask, preset="fast")
        holes = np.where(mask, np.nan, clean)
        np.testing.assert_array_equal(inpaint(holes, preset="fast"), expected)
        some = mask & (np.indices(mask.shape)[0] < 20)
        np.testing.assert_array_equal(inpaint(np.where(some, np.nan, clean), mask, preset="fast"), expected)

    def test_nothing_missing(self, clean: np.ndarray) -> None:
        got = inpaint(clean)
        np.testing.assert_array_equal(got, clean)
        assert got is not clean

    @pytest.mark.slow
    def test_threads_change_no_bit(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.3, rng)
        mask[10:24, 10:24] = True
        one, three = (inpaint(clean, mask, threads=threads) for threads in (1, 3))
        np.testing.assert_array_equal(one, three)

    @pytest.mark.slow
    def test_any_unit_of_brightness(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        mask = scattered(clean.shape, 0.3, rng)
        one = inpaint(clean, mask)
        other = inpaint(clean / 255 - 7, mask)
        np.testing.assert_allclose(255 * (other + 7), one, atol=0.5)


class TestAxes:
    @pytest.mark.slow
    def test_colours(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        image = np.stack([clean, gaussian_filter(clean, 1), 255 - clean], axis=-1)
        mask = scattered(clean.shape, 0.4, rng)
        got = inpaint(image, mask, channel_axis=-1, preset="fast")
        first = inpaint(np.moveaxis(image, -1, 0), mask, channel_axis=0, preset="fast")
        np.testing.assert_array_equal(np.moveaxis(first, 0, -1), got)
        assert psnr(image, got) > 25

    @pytest.mark.slow
    def test_channels_with_masks_of_their_own(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        image = np.stack([clean, 255 - clean], axis=-1)
        mask = scattered(image.shape, 0.4, rng)
        got = inpaint(image, mask, channel_axis=-1, preset="fast")
        for c in range(2):
            np.testing.assert_array_equal(got[..., c], inpaint(image[..., c], mask[..., c], preset="fast"))

    @pytest.mark.slow
    def test_stacks_and_pictures(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        stack = np.stack([clean, clean[::-1]])
        mask = scattered(clean.shape, 0.3, rng)
        got = inpaint(stack, mask, spatial=2, preset="fast")
        np.testing.assert_array_equal(got[1], inpaint(stack[1], mask, preset="fast"))
        np.testing.assert_array_equal(inpaint(Picture(clean, "YX"), mask, preset="fast"), got[0])

    def test_images_smaller_than_a_patch(self) -> None:
        image = np.add.outer(np.arange(5.0), np.arange(6.0))
        mask = np.zeros(image.shape, np.bool_)
        mask[2, 3] = True
        np.testing.assert_allclose(inpaint(image, mask), image, atol=0.5)

    @pytest.mark.slow
    def test_progress(self, clean: np.ndarray, rng: np.random.Generator) -> None:
        told: list[tuple[float, str]] = []
        inpaint(clean, scattered(clean.shape, 0.3, rng), callback=lambda *words: told.append(words))
        fractions = [fraction for fraction, _ in told]
        assert fractions == sorted(fractions) and fractions[0] > 0 and fractions[-1] <= 1
        assert all(stage for _, stage in told)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        (
            {"mask": np.zeros((3, 4), bool)},
            ValueError,
            r"mask has shape \(3, 4\), the image \(16, 16\): the mask needs",
        ),
        ({"mask": np.ones((16, 16), bool)}, ValueError, "mask covers a whole plane"),
        ({"mask": np.zeros((16, 16))}, TypeError, "mask must hold booleans or integers"),
        ({"image": np.full((16, 16), np.nan)}, ValueError, "every pixel of an image or of one of its channels is"),
        ({"image": np.full((16, 16), np.inf)}, ValueError, "image holds 256 NaN or infinite"),
        ({"image": np.zeros((0, 4))}, ValueError, "image is empty"),
        ({"image": np.zeros(16)}, ValueError, "got a signal"),
        ({"image": "a.png"}, TypeError, "read files with epitomes.read first"),
        ({"sigma": -1.0}, ValueError, "sigma must be a finite number >= 0"),
        ({"preset": "auto"}, ValueError, "preset must be"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(changed: dict[str, Any], error: type[Exception], text: str) -> None:
    given = {"image": np.zeros((16, 16))} | changed
    with pytest.raises(error, match=text):
        inpaint(given.pop("image"), **given)
