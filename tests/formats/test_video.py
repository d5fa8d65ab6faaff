"""Video: bits as stored, MP4 that looks the same, and sound and times that pass."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from epitomes.formats import Picture, read, write

av: Any = pytest.importorskip("av", reason="av is not installed")


def filmed(rng: np.random.Generator, shape: tuple[int, ...], bits: int = 8) -> np.ndarray:
    """Frames of a moving ramp with a little noise."""
    t, y, x = np.meshgrid(*(np.arange(n) for n in shape[:3]), indexing="ij")
    ramp = (20 + 2.0 * x + 1.5 * y + 4 * t) / 256 * 2**bits
    frames = ramp[..., None] * [1.0, 0.8, 0.6][: shape[3]] if len(shape) == 4 else ramp
    noisy = frames + rng.normal(0, 2, shape)
    return np.clip(np.rint(noisy), 0, 2**bits - 1).astype(np.uint8 if bits == 8 else np.uint16)


def stored(path: Path, frames: np.ndarray, layout: str, kept: str) -> None:
    """Write frames losslessly in a layout of FFmpeg."""
    with av.open(path, "w") as video:
        stream = video.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], kept
        for i, frame in enumerate(frames):
            shown = av.VideoFrame.from_ndarray(frame, format=layout).reformat(format=kept)
            shown.pts, shown.time_base = i, Fraction(1, 25)
            video.mux(stream.encode(shown))
        video.mux(stream.encode(None))


@pytest.mark.parametrize("bits", [10, 12])
@pytest.mark.parametrize("colours", [False, True])
def test_bits_are_kept(tmp_path: Path, rng: np.random.Generator, bits: int, colours: bool) -> None:
    frames = rng.integers(0, 2**bits, (3, 24, 32, 3) if colours else (3, 24, 32), dtype=np.uint16)
    layout = f"{'gbrp' if colours else 'gray'}{bits}le"
    stored(tmp_path / "a.mkv", frames, layout, layout)
    picture = read(tmp_path / "a.mkv")
    assert picture.notes == () and picture.pixels.dtype == np.uint16
    np.testing.assert_array_equal(picture.pixels, frames)
    assert write(tmp_path / "b.mkv", picture) == ()
    with av.open(tmp_path / "b.mkv") as video:
        assert video.streams.video[0].pix_fmt == layout
    np.testing.assert_array_equal(read(tmp_path / "b.mkv").pixels, frames)
    brighter = np.minimum(frames.astype(int) + 5, 2**16 - 1).astype(np.uint16)
    lost = int((brighter >= 2**bits).sum())
    losses = write(tmp_path / "b.mkv", picture.replace(brighter), overwrite=True)
    assert losses == (f"{lost} values were clipped, because the file stores {bits} bits",)
    np.testing.assert_array_equal(read(tmp_path / "b.mkv").pixels, np.minimum(brighter, 2**bits - 1))


def test_ten_bits_of_a_camera_are_rgb_with_ten_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    frames = filmed(rng, (3, 32, 48, 3), bits=10)
    stored(tmp_path / "a.mkv", frames, "gbrp10le", "yuv422p10le")
    picture = read(tmp_path / "a.mkv")
    assert picture.pixels.max() < 1024 and "yuv422p10le and read as RGB with 10 bits" in picture.notes[0]
    assert np.abs(picture.pixels.astype(int) - frames).mean() < 4
    losses = write(tmp_path / "b.mp4", picture)
    assert len(losses) == 1 and "H.264" in losses[0]
    with av.open(tmp_path / "b.mp4") as video:
        assert video.streams.video[0].pix_fmt == "yuv422p10le"
    assert np.abs(read(tmp_path / "b.mp4").pixels.astype(int) - picture.pixels).mean() < 4


@pytest.mark.parametrize("size", [(32, 48), (33, 47)])
@pytest.mark.parametrize("colours", [False, True])
def test_mp4_looks_the_same(tmp_path: Path, rng: np.random.Generator, size: tuple[int, int], colours: bool) -> None:
    frames = filmed(rng, (6, *size, 3) if colours else (6, *size))
    picture = Picture(frames, "TYXC" if colours else "TYX", {"T": 0.05}, {"T": "s"})
    losses = write(tmp_path / "a.mp4", picture)
    assert losses[0] == "MP4 is written as H.264, which looks the same but is not exact: .mkv is lossless"
    assert losses[1:] == (() if colours else ("MP4 stores grey frames as colours",))
    back = read(tmp_path / "a.mp4")
    assert back.pixels.shape == (6, *size, 3) and back.spacing["T"] == pytest.approx(0.05)
    expected = frames if colours else frames[..., None]
    error = back.pixels.astype(float) - expected
    assert np.sqrt((error**2).mean()) < 2.5 and np.abs(error.mean(axis=(0, 1, 2))).max() < 0.4  # no tint
    with av.open(tmp_path / "a.mp4") as video:
        assert video.streams.video[0].codec_context.name == "h264"


def film_with_sound(path: Path, rng: np.random.Generator, codec: str, rate: int = 44_100) -> None:
    """A film of 0.4 s whose frames are not evenly spaced, with a tone."""
    with av.open(path, "w") as film:
        film.metadata["title"] = "a film"
        frames = film.add_stream("mpeg4", rate=25)
        frames.height, frames.width, frames.pix_fmt = 32, 48, "yuv420p"
        frames.codec_context.time_base = Fraction(1, 1000)
        sound = film.add_stream(codec, rate=rate)
        for pts, frame in zip((0, 40, 80, 200, 240, 400), filmed(rng, (6, 32, 48, 3)), strict=True):
            shown = av.VideoFrame.from_ndarray(frame, format="rgb24")
            shown.pts, shown.time_base = pts, Fraction(1, 1000)
            film.mux(frames.encode(shown))
        kind = sound.codec_context.format.name
        tone = np.sin(np.arange(int(0.4 * rate)) * 0.05)[None]
        wave = tone.astype(np.float32) if kind.startswith("flt") else (tone * 9000).astype(np.int16)
        given = av.AudioFrame.from_ndarray(wave, format=kind, layout="mono")
        given.sample_rate, given.pts, given.time_base = rate, 0, Fraction(1, rate)
        for packet in (*sound.encode(given), *sound.encode(None), *frames.encode(None)):
            film.mux(packet)


def heard(path: Path) -> list[tuple[float, bytes]]:
    with av.open(path) as video:
        stream = video.streams.audio[0]
        return [(float(each.pts * each.time_base), bytes(each)) for each in video.demux(stream) if each.dts is not None]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_sound_and_times_pass_undecoded(tmp_path: Path, rng: np.random.Generator, suffix: str) -> None:
    film_with_sound(tmp_path / "a.mp4", rng, "aac")
    picture = read(tmp_path / "a.mp4")
    assert not any("sound" in note for note in picture.notes)
    losses = write(tmp_path / f"b{suffix}", picture)
    assert not any("sound" in loss for loss in losses)
    before, after = heard(tmp_path / "a.mp4"), heard(tmp_path / f"b{suffix}")
    assert [data for _, data in after] == [data for _, data in before] and len(before) > 10
    shift = after[0][0] - before[0][0]  # Matroska has no times below 0, and moves all streams together
    assert shift == 0 or suffix == ".mkv"
    np.testing.assert_allclose([time - shift for time, _ in after], [time for time, _ in before], atol=1.1e-3)
    again = read(tmp_path / f"b{suffix}")
    times = [time - again.metadata.times[0] for time in again.metadata.times]
    assert times == pytest.approx([0, 0.04, 0.08, 0.2, 0.24, 0.4], abs=1e-3)
    assert again.metadata.times[0] == pytest.approx(shift, abs=1e-3)
    assert dict(again.metadata.tags)["title"] == "a film"
    assert again.metadata.codecs == ("aac",)


def test_sound_that_mp4_cannot_hold_is_told(tmp_path: Path, rng: np.random.Generator) -> None:
    film_with_sound(tmp_path / "a.mkv", rng, "pcm_s16le")
    picture = read(tmp_path / "a.mkv")
    assert "MP4 cannot hold sound of the kind pcm_s16le" in write(tmp_path / "b.mp4", picture)
    assert write(tmp_path / "b.mkv", picture) == ()
    assert [data for _, data in heard(tmp_path / "b.mkv")] == [data for _, data in heard(tmp_path / "a.mkv")]
    with av.open(tmp_path / "b.mp4") as video:
        assert not video.streams.audio


def test_one_of_several_videos(tmp_path: Path, rng: np.random.Generator) -> None:
    frames = [filmed(rng, (3, 24, 32)), filmed(rng, (3, 20, 16))]
    with av.open(tmp_path / "a.mkv", "w") as video:
        streams = [video.add_stream("ffv1", rate=25) for _ in frames]
        for stream, film in zip(streams, frames, strict=True):
            stream.height, stream.width, stream.pix_fmt = *film.shape[1:], "gray"
        for i in range(3):
            for stream, film in zip(streams, frames, strict=True):
                shown = av.VideoFrame.from_ndarray(film[i], format="gray")
                shown.pts, shown.time_base = i, Fraction(1, 25)
                video.mux(stream.encode(shown))
        for stream in streams:
            video.mux(stream.encode(None))
    for i, film in enumerate(frames):
        np.testing.assert_array_equal(read(tmp_path / "a.mkv", series=i).pixels, film)
    assert [each.shape for each in read(tmp_path / "a.mkv").series] == [(24, 32), (20, 16)]
