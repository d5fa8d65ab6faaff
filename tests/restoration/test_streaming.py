"""Clips from file to file: the bits of the whole clip, with a few frames in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epitomes import demo, kernels, restore
from epitomes.formats import Picture, read, write
from epitomes.restoration import NonLocal
from epitomes.restoration.non_local.volumes.arrangement import PLANES
from epitomes.restoration.streaming import restore_frames

pytestmark = pytest.mark.skipif(kernels.isa == "reference", reason="the reference is too slow for whole clips")

SIGMA = 20.0


@pytest.fixture(scope="module")
def clip() -> np.ndarray:
    """Twenty frames of 48 x 40 pixels of a photograph that passes by, with noise."""
    photo = demo.shipped_picture()
    frames = np.stack([photo[100:148, 100 + 2 * k : 140 + 2 * k] for k in range(20)])
    noisy = frames + np.random.default_rng(0).normal(0, SIGMA, frames.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


class OneByOne:
    """A clip that counts how many of its frames are held outside."""

    def __init__(self, pixels: np.ndarray) -> None:
        self._pixels, self.shape, self.dtype, self.size = pixels, pixels.shape, pixels.dtype, pixels.size

    def __len__(self) -> int:
        return len(self._pixels)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._pixels)

    def __getitem__(self, key: Any, /) -> np.ndarray:
        part = self._pixels[key]
        assert part.ndim < self._pixels.ndim or len(part) <= PLANES < len(self)  # no slice holds the whole clip
        return part

    def mean(self, dtype: Any = np.float64) -> Any:
        return self._pixels.mean(dtype=dtype)


@pytest.mark.slow
@pytest.mark.parametrize("planes", ["auto", "aligned", "flat"])
def test_the_bits_of_the_whole_clip(clip: np.ndarray, planes: str) -> None:
    method = NonLocal(preset="fast", planes=planes)
    found = restore_frames(OneByOne(clip), SIGMA, method=method)
    assert found is not None
    expected = restore(clip, SIGMA, method=method)
    np.testing.assert_array_equal(np.stack(list(found.frames)), expected.image)
    assert found.how == expected.how


@pytest.mark.slow
def test_colours_and_an_estimated_level(clip: np.ndarray) -> None:
    colours = np.stack([clip, clip[:, ::-1], 255 - clip], axis=-1)
    found = restore_frames(OneByOne(colours), preset="fast")
    expected = restore(colours, preset="fast", channel_axis=-1)
    assert found is not None and found.plan.noise.level == expected.noise.level
    np.testing.assert_array_equal(np.stack(list(found.frames)), expected.image)


@pytest.mark.slow
def test_what_needs_the_whole_clip(clip: np.ndarray) -> None:
    assert restore_frames(clip, SIGMA, method="paper") is None
    assert restore_frames(clip, SIGMA, method=NonLocal(planes="single")) is None
    unrelated = np.random.default_rng(1).permuted(clip.reshape(len(clip), -1), axis=1).reshape(clip.shape)
    smooth = np.stack([np.roll(demo.shipped_picture()[40 * k : 40 * k + 48, 100:140], 7 * k) for k in range(5)])
    assert restore_frames(unrelated, 1e-4, preset="fast") is None  # fainter than float32 holds
    assert restore_frames(smooth.astype(np.uint8), 5.0, preset="fast") is None  # planes have nothing in common


class TestFiles:
    @pytest.fixture
    def file(self, clip: np.ndarray, tmp_path: Path) -> Path:
        pytest.importorskip("av")
        write(tmp_path / "clip.mkv", Picture(clip, "TYX", {"T": 0.04}, {"T": "s"}))
        return tmp_path / "clip.mkv"

    def test_frames_are_read_when_they_are_asked_for(self, file: Path, clip: np.ndarray) -> None:
        from epitomes.formats.video_frames import VideoFrames

        frames = VideoFrames(file)
        assert frames.shape == clip.shape and frames.dtype == clip.dtype and len(frames) == 20
        assert frames.mean(dtype=np.float64) == clip.mean(dtype=np.float64)
        np.testing.assert_array_equal(np.stack(list(frames)), clip)
        for key in (3, -1, slice(2, 5), (slice(4, 6), slice(3, 9), slice(None, 5)), slice(7, 7), 0):
            np.testing.assert_array_equal(frames[key], clip[key])
        assert frames.head.metadata == read(file).metadata

    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
    def test_the_file_of_the_whole_clip(
        self, file: Path, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
    ) -> None:
        from epitomes.cli import denoise_clip
        from epitomes.cli.main import main

        told = []
        for name, long in (("whole", 2**40), ("streamed", 0)):
            monkeypatch.setattr(denoise_clip, "LONG", long)
            goal = tmp_path / f"{name}{suffix}"
            assert main(["denoise", str(file), "-o", str(goal), "--sigma", "20", "--preset", "fast"]) == 0
            told.append(capfd.readouterr().out)
        whole, streamed = (tmp_path / f"{name}{suffix}" for name in ("whole", "streamed"))
        one, other = read(whole), read(streamed)
        assert one.metadata == other.metadata
        most = 0 if suffix == ".mkv" else 2  # H.264 does not give the same bytes every time
        assert np.abs(one.pixels.astype(int) - other.pixels).mean() <= most
        assert "20 frames one after another" not in told[0] and "20 frames one after another" in told[1]

    def test_a_damaged_file_leaves_nothing(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from epitomes.cli import denoise_clip
        from epitomes.cli.main import main

        monkeypatch.setattr(denoise_clip, "LONG", 0)
        (tmp_path / "cut.mkv").write_bytes(file.read_bytes()[:-900])
        assert main(["denoise", str(tmp_path / "cut.mkv"), "-o", str(tmp_path / "a.mkv"), "--sigma", "20"]) == 3
        assert not [each for each in tmp_path.iterdir() if each.name.startswith(("a", ".a"))]
