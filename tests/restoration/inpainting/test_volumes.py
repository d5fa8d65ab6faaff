"""`inpaint` of volumes and clips: scattered voxels, lines and holes across planes, and frames that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift

from epitomes import demo, inpaint, kernels
from epitomes.formats import Picture
from epitomes.restoration.inpainting.flow import find_flow, moved
from epitomes.restoration.inpainting.volume import bridge, foretell
from epitomes.validation import psnr

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole volumes")


def still(planes: int = 6, side: int = 32) -> np.ndarray:
    """A smooth volume: planes have much in common."""
    rng = np.random.default_rng(1)
    return 100 + 400 * gaussian_filter(rng.standard_normal((planes, side, side)), 2.5)


def moving(planes: int = 7, side: int = 48) -> np.ndarray:
    """A photograph that passes by, by 1.5 pixels per frame."""
    photo = demo.shipped_picture().astype(np.float64)[100:200, 100:200]
    frames = [shift(photo, (0.0, -1.5 * k), order=3, mode="nearest") for k in range(planes)]
    return np.stack(frames)[:, 20 : 20 + side, 20 : 20 + side]


def every_third(clip: np.ndarray) -> np.ndarray:
    missing = np.zeros(clip.shape, np.bool_)
    missing[2:-1:3] = True
    return missing


class TestScattered:
    def test_groups_across_planes_are_better_than_planes(self, rng: np.random.Generator) -> None:
        volume = still()
        mask = rng.random(volume.shape) < 0.7
        whole, planes = inpaint(volume, mask), inpaint(volume, mask, spatial=2)
        assert psnr(volume, whole) > psnr(volume, planes) + 3
        np.testing.assert_array_equal(whole[~mask], volume[~mask])

    def test_which_planes_foretell_each_other(self, rng: np.random.Generator) -> None:
        unknown = rng.random((6, 32, 32)) < 0.8
        assert foretell(still(), unknown)
        assert not foretell(np.stack([still(6, 32)[0], 300 - still(9, 32)[4]] * 3), unknown)

    @pytest.mark.slow
    def test_dead_lines_through_all_frames_of_a_clip(self) -> None:
        clip = moving()
        mask = np.zeros(clip.shape[1:], np.bool_)
        mask[:, 20:23] = True  # as wide as the motion of two frames
        whole, planes = inpaint(clip, mask), inpaint(clip, mask, spatial=2)
        assert psnr(clip, whole) > psnr(clip, planes)

    @pytest.mark.slow
    def test_a_hole_in_one_plane_is_filled_from_the_others(self) -> None:
        clip = moving()
        mask = np.zeros(clip.shape, np.bool_)
        mask[3, 10:34, 12:36] = True
        whole, planes = (inpaint(clip, mask, preset="fast", spatial=spatial) for spatial in (3, 2))
        assert psnr(clip, whole) > psnr(clip, planes) + 3

    @pytest.mark.slow
    def test_noise_is_removed_too(self, rng: np.random.Generator) -> None:
        volume = still(8, 40)
        mask = rng.random(volume.shape) < 0.4
        noisy = volume + rng.normal(0, 15, volume.shape)
        told, found = (inpaint(noisy, mask, sigma=sigma) for sigma in (15.0, None))
        assert psnr(volume, told) > psnr(volume, inpaint(noisy, mask)) + 2
        assert psnr(volume, found) > psnr(volume, told) - 1.5


class TestFrames:
    @pytest.mark.parametrize("preset", ["fast", "balanced"])
    def test_better_than_the_mean_of_the_neighbours(self, preset: str) -> None:
        clip = moving()
        missing = every_third(clip)
        got = inpaint(np.where(missing, np.nan, clip), preset=preset)
        mean = (clip[1] + clip[3]) / 2
        assert psnr(clip[2], got[2]) > psnr(clip[2], mean) + 3
        np.testing.assert_array_equal(got[~missing], clip[~missing])

    def test_the_first_and_the_last_frame(self) -> None:
        clip = moving(4)
        clip[[0, -1]] = np.nan
        got = inpaint(clip, preset="fast")
        assert np.isfinite(got).all()
        np.testing.assert_allclose(got[0], clip[1], atol=1)

    def test_several_in_a_row(self) -> None:
        clip = moving()
        missing = np.zeros(clip.shape, np.bool_)
        missing[2:5] = True
        got = inpaint(np.where(missing, 0, clip), missing, preset="fast")
        for k in (2, 3, 4):  # in order, between frames 1 and 5
            mean = clip[1] + (k - 1) / 4 * (clip[5] - clip[1])
            assert psnr(clip[k], got[k]) > psnr(clip[k], mean) + 2

    def test_frames_of_still_scenes_stay(self) -> None:
        clip = np.stack([moving(1)[0]] * 4)
        missing = every_third(clip)
        np.testing.assert_allclose(inpaint(clip, missing, preset="fast"), clip, atol=1e-3)

    def test_motion_to_parts_of_a_pixel(self) -> None:
        photo = demo.shipped_picture().astype(np.float64)[100:164, 100:164]
        one, other = (shift(photo, (0.4 * sign, -1.3 * sign), order=3, mode="nearest") for sign in (-1, 1))
        flow = find_flow(one, other)[:, 10:-10, 10:-10]
        assert np.abs(flow[0] - 0.4).mean() < 0.1 and np.abs(flow[1] + 1.3).mean() < 0.15
        np.testing.assert_allclose(moved(photo, np.zeros((2, 64, 64))), photo, atol=1e-8)


class TestKept:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
    def test_dtype_and_input(self, dtype: Any) -> None:
        clip = np.clip(moving(5, 32), 0, 255).astype(dtype)
        mask = every_third(clip)
        before = clip.copy()
        got = inpaint(clip, mask, preset="fast")
        assert got.dtype == dtype and got.shape == clip.shape
        np.testing.assert_array_equal(clip, before)
        np.testing.assert_array_equal(got[~mask], clip[~mask])

    @pytest.mark.slow
    def test_threads_change_no_bit(self, rng: np.random.Generator) -> None:
        clip = moving(5, 32)
        mask = rng.random(clip.shape) < 0.4
        mask[2] = True
        one, three = (inpaint(clip, mask, threads=threads) for threads in (1, 3))
        np.testing.assert_array_equal(one, three)

    @pytest.mark.slow
    def test_colours_stacks_and_pictures(self, rng: np.random.Generator) -> None:
        clip = moving(5, 32)
        colours = np.stack([clip, 255 - clip, gaussian_filter(clip, (0, 1, 1))], axis=-1)
        mask = rng.random(clip.shape) < 0.4
        mask[2] = True
        got = inpaint(colours, mask, channel_axis=-1, preset="fast")
        assert psnr(colours, got) > 25
        first = inpaint(np.moveaxis(colours, -1, 0), mask, channel_axis=0, preset="fast")
        np.testing.assert_array_equal(np.moveaxis(first, 0, -1), got)
        np.testing.assert_array_equal(inpaint(Picture(colours, "TYXC"), mask, preset="fast"), got)
        stack = inpaint(np.stack([clip, clip[::-1]]), mask, spatial=3, preset="fast")
        np.testing.assert_array_equal(stack[0], inpaint(clip, mask, preset="fast"))

    def test_nothing_missing(self) -> None:
        clip = moving(3, 16)
        np.testing.assert_array_equal(inpaint(clip), clip)

    @pytest.mark.parametrize("shape", [(1, 20, 20), (2, 6, 5), (3, 20, 3)])
    def test_small_volumes(self, shape: tuple[int, int, int]) -> None:
        volume = np.add.outer(np.zeros(shape[0]), np.add.outer(np.arange(shape[1]), np.arange(shape[2])))
        mask = np.zeros(shape, np.bool_)
        mask[0, 2, 1] = True
        np.testing.assert_allclose(inpaint(volume, mask), volume, atol=1.0)


def test_holes_that_no_plane_knows_are_left() -> None:
    current = np.zeros((1, 3, 16, 16), np.float32)
    holes = np.zeros((3, 16, 16), np.bool_)
    holes[:, 2:14, 2:14] = True
    np.testing.assert_array_equal(bridge(current, holes), holes)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"mask": np.ones((3, 16, 16), bool)}, "every pixel of a volume or of one of its channels is missing: leave"),
        ({"image": np.full((3, 16, 16), np.nan)}, "every pixel of a volume"),
        ({"mask": np.zeros((3, 16, 4), bool)}, r"mask has shape \(3, 16, 4\), the image \(3, 16, 16\): the mask needs"),
        ({"image": np.zeros((0, 16, 16))}, "image is empty"),
        ({"image": np.zeros((3, 16, 0))}, "image is empty"),
        ({"mask": np.ones((3, 16, 16), bool), "spatial": 2}, "mask covers a whole plane"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], text: str) -> None:
    given = {"image": np.zeros((3, 16, 16))} | changed
    with pytest.raises(ValueError, match=text):
        inpaint(given.pop("image"), **given)
