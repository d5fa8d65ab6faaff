"""Frames of a scene that stands still: denoised by what many of them share, where that is better."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from epitomes import denoise, restore
from epitomes.learn import smooth_noise
from epitomes.phi import windows
from epitomes.restoration import NonLocal, plan
from epitomes.restoration.non_local.volumes import SHARED, arranged
from epitomes.restoration.non_local.volumes.frames import (
    LEAST,
    MOST,
    PIXELS,
    may_share,
    memory_of_frames,
    n_directions,
    windows_of,
)
from epitomes.restoration.parts import settle
from epitomes.restoration.streaming import restore_frames

SIGMA = 30.0

Floats = NDArray[np.float64]


@cache
def flashing(frames: int = 64, side: int = 40) -> Floats:
    """Cells that flash and fade in tissue."""
    rng = np.random.default_rng(2)
    clip = 100 + 120 * gaussian_filter(rng.standard_normal((side, side)), 1.0)[None].repeat(frames, axis=0)
    y, x = np.mgrid[:side, :side]
    for _ in range(6):
        row, column = rng.integers(4, side - 4, 2)
        cell = (np.abs(y - row) + np.abs(x - column) < 4).astype(float)
        course = np.zeros(frames)
        for start in rng.integers(0, frames, 4):
            course[start:] += np.exp(-np.arange(frames - start) / 9)
        clip += 60 * course[:, None, None] * cell
    return clip


def noisy(clip: Floats) -> Floats:
    return clip + SIGMA * np.random.default_rng(3).standard_normal(clip.shape)


def error(estimate: Floats, clean: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(estimate, np.float64) - clean))))


class OneByOne:
    """A clip in a file: frames are read one after another, or in parts."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self._pixels, self.shape, self.dtype, self.size = pixels, pixels.shape, pixels.dtype, pixels.size

    def __len__(self) -> int:
        return len(self._pixels)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return iter(self._pixels)

    def __getitem__(self, key: Any, /) -> NDArray[np.uint8]:
        return self._pixels[key]

    def mean(self, dtype: Any = np.float64) -> Any:
        return self._pixels.mean(dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "balanced"])
def test_a_still_scene_is_seen_many_times(preset: str) -> None:
    clean = flashing()
    restored = restore(noisy(clean), SIGMA, method=NonLocal(preset=preset))
    assert restored.how == SHARED.words
    across = denoise(noisy(clean), SIGMA, method=NonLocal(preset=preset, planes="deep"))
    assert error(restored.image, clean) < 0.85 * error(across, clean)


@pytest.mark.slow
def test_a_scene_that_moves_is_not() -> None:
    rng = np.random.default_rng(4)
    scene = 100 + 300 * gaussian_filter(rng.standard_normal((32, 160)), 1.0)
    clip = np.stack([scene[:, 2 * k : 2 * k + 32] for k in range(64)])
    restored = restore(noisy(clip), SIGMA, method=NonLocal(preset="fast"))
    assert restored.how != SHARED.words
    shared = denoise(noisy(clip), SIGMA, method=NonLocal(preset="fast", planes="shared"))
    assert error(restored.image, clip) < error(shared, clip)


def test_windows() -> None:
    for shape in ((1000, 30, 40), (64, 512, 512), (65, 512, 512), (40, 2000, 2000), (300, 20, 20)):
        found = windows_of(shape)
        assert [k for window in found for k in window] == list(range(shape[0]))
        longest = max(len(window) for window in found)
        assert longest <= min(MOST, max(2, shape[1] * shape[2] // PIXELS))
        assert longest * shape[1] * shape[2] <= 2**23 or longest <= 4
    assert (
        may_share((300, 512, 512))
        and not may_share((300, 1024, 1024))
        and not may_share((LEAST - 1, 64, 64))
        and not may_share((300, 19, 19))
    )


@pytest.mark.parametrize("n", [0, 1, 5])
def test_directions_in_which_planes_vary(n: int, rng: np.random.Generator) -> None:
    scenes, courses = rng.standard_normal((n, 30 * 40)), rng.standard_normal((n, 50))
    clip = 20 * (courses.T @ scenes).reshape(50, 30, 40) + 7.0
    assert n_directions(clip + 3 * rng.standard_normal(clip.shape), 3.0) == n


def test_short_clips_are_not_tried() -> None:
    clip = noisy(flashing())[: LEAST - 1]
    assert arranged(clip, SIGMA, "auto", None, "fast", 0, 1) is not SHARED
    named = arranged(clip, SIGMA, "shared", None, "fast", 0, 1)
    assert named is SHARED


def test_threads_colours_and_dtypes() -> None:
    clip = np.stack([noisy(flashing(40, 28))] * 3, axis=-1).clip(0, 255).astype(np.uint8)
    before = clip.copy()
    method = NonLocal(preset="fast", planes="shared")
    one, three = (denoise(clip, SIGMA, channel_axis=-1, method=method, threads=n) for n in (1, 3))
    assert one.dtype == np.uint8 and one.tobytes() == three.tobytes()
    np.testing.assert_array_equal(clip, before)
    grey = denoise(clip[..., 0], SIGMA, method=method)
    assert grey.shape == clip.shape[:3] and error(grey, flashing(40, 28).clip(0, 255)) < 0.4 * SIGMA


@pytest.mark.slow
def test_frame_by_frame_it_has_the_bits_of_the_whole() -> None:
    clip = noisy(flashing()).clip(0, 255).astype(np.uint8)
    method = NonLocal(preset="fast")
    streamed = restore_frames(OneByOne(clip), SIGMA, method=method)
    assert streamed is not None and streamed.how == SHARED.words
    np.testing.assert_array_equal(np.stack(list(streamed.frames)), denoise(clip, SIGMA, method=method))


@pytest.mark.slow
def test_progress_rises() -> None:
    told: list[float] = []
    method = NonLocal(preset="fast")
    restore(noisy(flashing()), SIGMA, method=method, callback=lambda fraction, stage: told.append(fraction))
    assert told == sorted(told) and told[-1] == 1.0


def test_parts_are_refused() -> None:
    clip = noisy(flashing(40, 28))
    with pytest.raises(ValueError, match="by what many of them share reach across all"):
        settle(plan(clip, SIGMA, method=NonLocal(planes="shared")), clip)


def test_an_epitome_of_volumes_is_refused() -> None:
    epitome = smooth_noise(windows((8, 12, 12), (4, 6, 6)))
    with pytest.raises(ValueError, match="leave out epitome, or use planes='auto'"):
        NonLocal(planes="shared", epitome=epitome)


def test_plans_tell_the_memory_of_long_windows() -> None:
    clip = noisy(flashing())
    deep, shared, either = (
        plan(clip, SIGMA, method=NonLocal(planes=name)).memory for name in ("deep", "shared", "auto")
    )
    assert either == shared == deep + memory_of_frames((64, 40, 40)) - 1900 * 40 * 40
    assert memory_of_frames((64, 40, 40), 3) == 3 * memory_of_frames((64, 40, 40)) > 0
