"""Bad pixels are not used: whatever they hold, the others come out the same."""

from __future__ import annotations

import numpy as np
import pytest
from restoration_cases import Doubles, grey, psnr, whole_methods, with_noise

from epitomes import denoise, restore
from epitomes.filling import _mirrored
from epitomes.layout import Layout
from epitomes.noise import find_impulses
from epitomes.restoration.masks import as_mask, filled

SIGMA = 25.0


@pytest.fixture(scope="module")
def clean() -> Doubles:
    return grey("camera", 48)


@pytest.fixture(scope="module")
def noisy(clean: Doubles) -> Doubles:
    return with_noise(clean, SIGMA)


@pytest.fixture(scope="module")
def scratch(clean: Doubles) -> np.ndarray:
    """A scratch, a hole, and a corner."""
    bad = np.zeros(clean.shape, bool)
    bad[20:22, 5:40] = bad[30:36, 10:15] = bad[:3, :3] = True
    return bad


class TestShapes:
    def test_one_for_everything(self) -> None:
        layout = Layout.of((2, 5, 6, 7, 3), channel_axis=-1, spatial=3)
        plane = np.zeros((6, 7), bool)
        plane[1, 2] = True
        whole = np.zeros(layout.shape, bool)
        whole[:, :, 1, 2, :] = True
        for shape in ((6, 7), (5, 6, 7), (2, 5, 6, 7)):
            np.testing.assert_array_equal(as_mask(np.broadcast_to(plane, shape), layout), whole)
        np.testing.assert_array_equal(as_mask(whole, layout), whole)

    @pytest.mark.parametrize("axis", [0, 1, 2, 3])
    def test_channels_anywhere(self, axis: int, rng: np.random.Generator) -> None:
        mask = rng.random((4, 6, 7)) < 0.2
        shape = [4, 6, 7]
        shape.insert(axis, 3)
        found = as_mask(mask, Layout.of(tuple(shape), channel_axis=axis, spatial=2))
        np.testing.assert_array_equal(np.moveaxis(found, axis, -1), np.repeat(mask[..., None], 3, axis=-1))

    def test_a_mask_of_one_channel_is_given_with_all(self) -> None:
        mask = np.zeros((6, 7, 3), np.uint8)
        mask[2, 3, 1] = 255
        found = as_mask(mask, Layout.of((6, 7, 3), channel_axis=-1))
        assert np.argwhere(found).tolist() == [[2, 3, 1]] and found.dtype == bool

    def test_wrong_ones(self) -> None:
        layout = Layout.of((5, 6, 7, 3), channel_axis=-1, spatial=2)
        with pytest.raises(ValueError, match=r"\(7, 6\), the image \(5, 6, 7, 3\): .* \(5, 6, 7\) or \(6, 7\)"):
            as_mask(np.zeros((7, 6), bool), layout)
        with pytest.raises(TypeError, match="got dtype float64"):
            as_mask(np.zeros((6, 7)), layout)
        whole = np.zeros(layout.shape, bool)
        whole[3, :, :, 2] = True
        with pytest.raises(ValueError, match="covers a whole plane of the image"):
            as_mask(whole, layout)


class TestFilled:
    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -5.0])
    def test_nothing_of_them_is_left(self, value: float, noisy: Doubles, scratch: np.ndarray) -> None:
        layout = Layout.of(noisy.shape)
        spoiled = np.where(scratch, value, noisy)
        found = filled(spoiled, scratch, layout)
        np.testing.assert_array_equal(found[~scratch], noisy[~scratch])
        np.testing.assert_array_equal(found, filled(noisy, scratch, layout))
        assert set(found[scratch]) <= set(noisy[~scratch])  # pixels of the image, with their noise

    def test_a_mirror_stands_at_the_edge(self) -> None:
        row = np.array([[1.0, 2, 3, 0, 0, 6, 7, 8]])
        found = filled(row, np.array([[0, 0, 0, 1, 1, 0, 0, 0]], bool), Layout.of(row.shape))
        np.testing.assert_array_equal(found, [[1, 2, 3, 2, 7, 6, 7, 8]])

    def test_a_pixel_among_good_ones_gets_their_median(self) -> None:
        image = np.array([[1.0, 2, 3, 4], [5, 0, 0, 8], [9, 10, 11, 12], [13, 14, 15, 16]])
        bad = image == 0
        found = filled(image, bad, Layout.of(image.shape))
        assert found[1, 1] == 5  # of 1, 2, 3, 5, 9, 10, 11
        assert found[1, 2] == 8  # of 2, 3, 4, 8, 10, 11, 12
        np.testing.assert_array_equal(found[~bad], image[~bad])

    def test_medians_of_an_even_number_are_not_biased(self, rng: np.random.Generator) -> None:
        image, bad = rng.standard_normal((300, 300)), np.zeros((300, 300), bool)
        bad[2:-2:3, 2:-2:3] = True  # eight good neighbours each
        assert filled(image, bad, Layout.of(image.shape))[bad].mean() == pytest.approx(0, abs=0.02)

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
    def test_dense_impulses(self, dtype: type, clean: Doubles, rng: np.random.Generator) -> None:
        """One pixel in five: the mirror, two steps away, is off by nearly twice as much."""
        bad = rng.random(clean.shape) < 0.2
        spoiled = np.where(bad, np.where(rng.random(clean.shape) < 0.5, 0, 255), clean).astype(dtype)
        found = filled(spoiled, bad, Layout.of(clean.shape))
        mirrored = _mirrored(spoiled, bad)
        assert found.dtype == dtype and psnr(clean[bad], found[bad]) > psnr(clean[bad], mirrored) + 3

    def test_each_channel_has_its_own_pixels(self, rng: np.random.Generator) -> None:
        image = rng.random((9, 9, 2)) + np.array([0, 10])
        bad = np.zeros(image.shape, bool)
        bad[4, 4, 1] = True
        found = filled(image, bad, Layout.of(image.shape, channel_axis=-1))
        np.testing.assert_array_equal(found[..., 0], image[..., 0])
        assert found[4, 4, 1] > 9

    def test_signals_and_integers(self) -> None:
        signal = np.array([5, 6, 999, 8, 9], np.uint16)
        found = filled(signal, signal == 999, Layout.of(signal.shape))
        assert found.dtype == np.uint16 and found[2] in (5, 9)

    def test_the_image_is_not_changed(self, noisy: Doubles, scratch: np.ndarray) -> None:
        kept = noisy.copy()
        filled(noisy, scratch, Layout.of(noisy.shape))
        np.testing.assert_array_equal(noisy, kept)


@pytest.mark.parametrize("method", ["fast", "balanced", "paper"])
class TestDenoise:
    @pytest.mark.parametrize("value", [np.nan, -np.inf, 1e300, 0.0])
    def test_what_they_hold_does_not_matter(
        self, method: str, value: float, noisy: Doubles, scratch: np.ndarray
    ) -> None:
        given = {"method": "paper"} if method == "paper" else {"preset": method}
        spoiled = np.where(scratch, value, noisy)
        kept = spoiled.copy()
        left, filled_in, plain = (
            denoise(image, SIGMA, mask=scratch, fill=fill, **given)  # type: ignore[arg-type]
            for image, fill in ((spoiled, False), (spoiled, True), (noisy, True))
        )
        np.testing.assert_array_equal(left[scratch], spoiled[scratch])
        np.testing.assert_array_equal(left[~scratch], filled_in[~scratch])
        np.testing.assert_array_equal(filled_in, plain)
        np.testing.assert_array_equal(spoiled, kept)


def test_filled_pixels_are_estimates(clean: Doubles, noisy: Doubles, scratch: np.ndarray) -> None:
    spoiled = np.where(scratch, 255.0, noisy)
    found = denoise(spoiled, SIGMA, mask=scratch, fill=True, preset="balanced")
    assert psnr(clean[scratch], found[scratch]) > psnr(clean[scratch], spoiled[scratch]) + 5
    outside = ~scratch
    assert psnr(clean[outside], found[outside]) > psnr(clean[outside], noisy[outside]) + 5


def test_impulses_are_found_and_filled() -> None:
    """Salt and pepper costs little once it is found."""
    clean = 0.6 * grey("camera", 128) + 60  # away from 0 and 255, where impulses hide
    noisy = with_noise(clean, 15.0)
    drawn = np.random.default_rng(5).random(clean.shape)
    spoiled = np.where(drawn < 0.015, 0.0, np.where(drawn < 0.03, 255.0, noisy))
    found = denoise(spoiled, 15.0, mask=find_impulses(spoiled).mask, fill=True, preset="fast")
    assert psnr(clean, found) > psnr(clean, denoise(noisy, 15.0, preset="fast")) - 0.7
    assert psnr(clean, denoise(spoiled, 15.0, preset="fast")) < psnr(clean, found) - 3


def test_the_noise_is_estimated_without_them(noisy: Doubles) -> None:
    """Every ninth column is dead: zeros would look like texture, smooth ones like less noise."""
    bad = np.zeros(noisy.shape, bool)
    bad[:, ::9] = True
    found = restore(np.where(bad, 0.0, noisy), mask=bad, preset="fast")
    assert found.noise.level == pytest.approx(restore(noisy, preset="fast").noise.level, rel=0.3)


@pytest.mark.slow
@whole_methods
def test_methods_are_compared_without_them(rng: np.random.Generator) -> None:
    noisy = with_noise(grey("camera", 70), SIGMA)
    bad = rng.random(noisy.shape) < 0.01
    found = restore(np.where(bad, np.nan, noisy), SIGMA, mask=bad)
    assert len(found.plan.trials) >= 2 and np.isnan(found.image[bad]).all() and np.isfinite(found.image[~bad]).all()
    assert np.isfinite(found.estimate).all() and np.isfinite(found.noisy).all() and not found.unchanged
