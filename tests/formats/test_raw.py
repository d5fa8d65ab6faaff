"""Camera RAW: the four pixels of a cell are channels, a DNG file says all that a developer needs, others the mosaic."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest

from epitomes import restore
from epitomes.formats import ImageFileError, Picture, RawInfo, bayer_planes, mosaic, read, require_format, write

MATRIX = (0.9, -0.2, -0.1, -0.4, 1.3, 0.1, -0.05, 0.2, 0.7)
INFO = RawInfo("GRBG", (256.0, 250.0, 256.0, 260.0), 16383.0, (2.0, 1.0, 1.6), 6, MATRIX)


def developed(content: bytes) -> np.ndarray:
    rawpy = pytest.importorskip("rawpy", reason="rawpy is not installed")
    with rawpy.imread(io.BytesIO(content)) as raw:
        return np.asarray(raw.postprocess(use_camera_wb=True, no_auto_bright=True, output_bps=16, gamma=(1, 1)))


def test_the_values_of_the_sensor_are_four_channels(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("rawpy", reason="rawpy is not installed")
    sensor = rng.integers(200, 16000, (64, 96), dtype=np.uint16)
    (tmp_path / "a.dng").write_bytes(cases.dng(sensor))
    picture = read(tmp_path / "a.dng")
    assert (picture.axes, picture.pixels.shape, picture.pixels.dtype) == ("YXC", (32, 48, 4), np.uint16)
    assert picture.channel_axis == 2
    np.testing.assert_array_equal(picture.pixels[..., 0], sensor[::2, ::2])  # red, as the sensor gave it
    np.testing.assert_array_equal(picture.pixels[..., 3], sensor[1::2, 1::2])
    info = picture.metadata
    assert isinstance(info, RawInfo) and (info.colours, info.white) == ("RGGB", 16383.0) and info.black == (256.0,) * 4
    np.testing.assert_array_equal(mosaic(picture), sensor)
    assert "RGGB" in picture.notes[0]


def test_there_and_back(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("rawpy", reason="rawpy is not installed")
    sensor = rng.integers(200, 16000, (64, 96), dtype=np.uint16)
    assert write(tmp_path / "a.dng", Picture(bayer_planes(sensor), "YXC", metadata=INFO)) == ()
    picture = read(tmp_path / "a.dng")
    np.testing.assert_array_equal(mosaic(picture), sensor)
    info = picture.metadata
    assert isinstance(info, RawInfo)
    assert (info.colours, info.white, info.orientation) == ("GRBG", 16383.0, 6)
    assert info.black == INFO.black
    np.testing.assert_allclose(info.white_balance, INFO.white_balance, rtol=1e-4)
    matrix = next(tag[3] for tag in info.tags if tag[0] == 50721)  # numerators and denominators
    np.testing.assert_allclose(np.divide(matrix[::2], matrix[1::2]), MATRIX, atol=1e-6)
    assert write(tmp_path / "again.dng", picture) == ()
    assert (tmp_path / "again.dng").read_bytes() == (tmp_path / "a.dng").read_bytes()


def test_the_camera_passes_on(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("rawpy", reason="rawpy is not installed")
    sensor = rng.integers(200, 16000, (64, 96), dtype=np.uint16)
    (tmp_path / "a.dng").write_bytes(cases.dng(sensor))
    write(tmp_path / "b.dng", read(tmp_path / "a.dng"))
    before, after = (developed((tmp_path / name).read_bytes()) for name in ("a.dng", "b.dng"))
    np.testing.assert_array_equal(before, after)
    assert b"Test camera" in (tmp_path / "b.dng").read_bytes()


def test_developers_see_colours_and_levels() -> None:
    """A grey scene with the white of the scene comes out grey, and as bright as it is."""
    wb = {"R": 2.0, "G": 1.0, "B": 1.6}
    bright = 0.25
    cell = [black + bright * (INFO.white - black) / wb[name] for name, black in zip("GRBG", INFO.black, strict=True)]
    pixels = np.broadcast_to(np.rint(cell).astype(np.uint16), (32, 48, 4))
    from epitomes.formats.dng import write_dng

    image = developed(write_dng(Picture(pixels, "YXC", metadata=INFO)))
    assert image.shape == (96, 64, 3)  # turned upright
    middle = image[20:-20, 20:-20].reshape(-1, 3).mean(axis=0) / 65535
    np.testing.assert_allclose(middle, bright, rtol=0.02)


def test_other_formats_hold_the_mosaic(tmp_path: Path, rng: np.random.Generator) -> None:
    sensor = rng.integers(200, 16000, (64, 96), dtype=np.uint16)
    picture = Picture(bayer_planes(sensor), "YXC", metadata=INFO)
    for name in ("a.tif", "a.png", "a.npy"):
        losses = write(tmp_path / name, picture)
        assert "camera" in losses[0] and "GRBG" in losses[1]
        np.testing.assert_array_equal(read(tmp_path / name).pixels, sensor)
    require_format("clean.tif", picture)


def test_what_a_dng_file_cannot_hold(tmp_path: Path) -> None:
    planes = np.zeros((8, 8, 4), np.uint16)
    for picture, words in (
        (Picture(planes, "YXC"), "not read from camera RAW"),
        (Picture(planes.astype(np.float32), "YXC", metadata=INFO), "holds uint16"),
        (Picture(planes, "YXC", metadata=replace(INFO, colours="CMYG")), "CMYG"),
    ):
        with pytest.raises(ImageFileError, match=words):
            write(tmp_path / "a.dng", picture)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(5, 8), (4, 4, 3)])
def test_a_mosaic_has_whole_cells(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="two axes of even length"):
        bayer_planes(np.zeros(shape))
    with pytest.raises(ValueError, match="four channels"):
        mosaic(np.zeros(shape))


@pytest.mark.slow
def test_the_road_denoises_the_channels_together(rng: np.random.Generator) -> None:
    y, x = np.mgrid[0:96, 0:96] / 96
    light = 400 * (1 + np.sin(9 * x + 5 * y) ** 2)
    frame = np.rint(512 + 2 * rng.poisson(light)).astype(np.uint16)
    restored = restore(Picture(bayer_planes(frame), "YXC", metadata=INFO), preset="balanced")
    assert restored.noise.gain.any()
    before, after = (np.std(image - (512 + 2 * light)) for image in (frame, mosaic(restored.image).astype(float)))
    assert after < 0.35 * before
