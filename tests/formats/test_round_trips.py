"""What is written comes back: pixels to the bit, dtype, axes and spacing, for every format that can hold them."""

from __future__ import annotations

from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from PIL import Image

from epitomes.cli.main import main
from epitomes.formats import Picture, planes, read, write

WHOLE = ("uint8", "uint16", "uint32", "int8", "int16", "int32")
WIDE = (*WHOLE, "uint64", "int64", "float32", "float64")
ALL = (*WIDE, "float16")
STACKS = ("YX", "YXC", "ZYX", "TYX", "CYX", "TZYX")

HELD = [
    *(((".png"), dtype, axes) for dtype in ("uint8", "uint16") for axes in ("YX", "YXC")),
    *((".tif", dtype, axes) for dtype in ALL for axes in STACKS),
    *((".tif", "uint16", axes) for axes in ("CZYX", "ZYXC", "TYXC", "TCZYX", "TZYXC")),
    *((".ome.tif", dtype, axes) for dtype in (*WHOLE, "float32", "float64") for axes in STACKS),
    *((".ome.tif", "uint16", axes) for axes in ("CZYX", "ZYXC", "TYXC", "TCZYX", "TZYXC")),
    *((".btf", dtype, axes) for dtype in ("uint16", "float32") for axes in ("YX", "YXC", "TZYX")),
    *((".npz", dtype, axes) for dtype in ALL for axes in ("YX", "TYXC")),
    *((".npz", "float32", axes) for axes in cases.SHAPES),
    *((".npy", dtype, axes) for dtype in ALL for axes in ("YX", "YXC")),
    *((".fits", dtype, axes) for dtype in WIDE for axes in ("YX", "YXC", "ZYX", "TYX")),
    *((".fits", "int16", axes) for axes in ("CYX", "TZYX", "TCZYX")),
    *((".fits.gz", dtype, "ZYX") for dtype in ("uint16", "float32")),
    *((".nii", dtype, axes) for dtype in WIDE for axes in ("YX", "ZYX", "TYX", "TZYX")),
    *((".nii", "float32", axes) for axes in ("CYX", "CZYX", "CTZYX")),
    *((".nii", "uint8", axes) for axes in ("YXC", "ZYXC", "TYXC")),  # voxels of three colours
    *((".nii.gz", dtype, "TZYX") for dtype in ("int16", "float32")),
    *((".zarr", dtype, "YX") for dtype in ALL),
    *((".ome.zarr", "uint16", axes) for axes in ("YXC", "ZYX", "TYX", "CYX", "TZYX", "TCZYX", "TZYXC")),
    *((".mkv", dtype, axes) for dtype in ("uint8", "uint16") for axes in ("TYX", "TYXC")),
    *((suffix, dtype, axes) for suffix in (".pgm", ".jp2") for dtype in ("uint8", "uint16") for axes in ("YX", "YXC")),
    *((".bmp", "uint8", axes) for axes in ("YX", "YXC")),
    (".webp", "uint8", "YXC"),
    *((".mrc", dtype, axes) for dtype in ("int8", "int16", "uint16", "float16", "float32") for axes in ("YX", "ZYX")),
    *((".mrc", "float32", axes) for axes in ("TYX", "TZYX")),
]
KEPT = {".png": "", ".npy": "", ".mkv": "T", ".mrc": "ZYX"} | dict.fromkeys((".pgm", ".jp2", ".bmp", ".webp"), "")
ANGSTROMS = 1e7  # in a millimetre: the unit of MRC


def test_there_are_enough_combinations() -> None:
    assert len(set(HELD)) >= 160


@pytest.mark.parametrize(
    ("suffix", "dtype", "axes"), [pytest.param(*each, id="-".join(each)) for each in sorted(set(HELD))]
)
def test_round_trip(tmp_path: Path, rng: np.random.Generator, suffix: str, dtype: str, axes: str) -> None:
    cases.need(suffix.removeprefix(".ome") if "zarr" in suffix else suffix)
    pixels = cases.some(rng, dtype, cases.SHAPES[axes])
    path = tmp_path / f"a{suffix}"
    write(path, Picture(pixels, axes, cases.STEPS, cases.UNITS))
    back = read(path)
    kept = KEPT.get(suffix, "TZYX")  # axes whose spacing a format keeps, if not all
    scale, unit = (ANGSTROMS, "Å") if suffix == ".mrc" else (1.0, "mm")
    for _ in range(2):  # the second time, with what the first file said
        assert (back.axes, back.pixels.dtype, back.notes) == (axes, pixels.dtype, ())
        np.testing.assert_array_equal(back.pixels, pixels)
        assert not back.pixels.flags.writeable and back.pixels.flags.c_contiguous and back.pixels.dtype.isnative
        assert dict(back.spacing) == pytest.approx({a: cases.STEPS[a] * scale for a in axes if a in kept}, rel=1e-6)
        assert dict(back.units) == {a: "s" if a == "T" else unit for a in axes if a in kept}
        assert back.name == path.name
        assert write(path, back, overwrite=True) == ()
        back = read(path)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".btf", ".ome.tif"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("axes", ["YX", "YXC"])
def test_alpha_goes_along(tmp_path: Path, rng: np.random.Generator, suffix: str, dtype: str, axes: str) -> None:
    alpha = cases.some(rng, dtype, (9, 7))
    picture = Picture(cases.some(rng, dtype, cases.SHAPES[axes]), axes, alpha=alpha)
    write(tmp_path / f"a{suffix}", picture)
    back = read(tmp_path / f"a{suffix}")
    assert back.axes == axes and back.alpha is not None and "alpha" in back.notes[0]
    np.testing.assert_array_equal(back.pixels, picture.pixels)
    np.testing.assert_array_equal(back.alpha, alpha)
    assert [plane.pixels.shape for plane in planes(back)] == [picture.pixels.shape]


@pytest.mark.parametrize("suffix", [".tif", ".ome.tif", ".npy", ".npz", ".fits", ".fits.gz", ".nii", ".mrc", ".zarr"])
def test_missing_values_pass_and_are_counted(
    tmp_path: Path, suffix: str, rng: np.random.Generator, capfd: pytest.CaptureFixture[str]
) -> None:
    cases.need(suffix)
    pixels = cases.some(rng, "float32", (9, 7))
    pixels[2, 3:5], pixels[4, 4] = np.nan, np.inf
    write(tmp_path / f"a{suffix}", pixels)
    np.testing.assert_array_equal(read(tmp_path / f"a{suffix}").pixels, pixels)
    assert main(["info", str(tmp_path / f"a{suffix}")]) == 0
    assert "missing: 3 of 63 values are NaN or infinite" in capfd.readouterr().out


def test_jpeg_is_near(tmp_path: Path) -> None:
    ramp = np.add.outer(np.arange(32.0), np.arange(32.0)).astype(np.uint8) * 4
    for pixels in (ramp, np.stack([ramp, ramp[::-1], ramp.T], axis=2)):
        write(tmp_path / "a.JPG", pixels, overwrite=True)
        back = read(tmp_path / "a.JPG")
        assert back.axes == ("YX" if pixels.ndim == 2 else "YXC")
        assert back.pixels.shape == pixels.shape and np.abs(back.pixels.astype(int) - pixels).mean() < 3


@pytest.mark.parametrize(("colour", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_sixteen_bit_png_is_read_as_the_specification_says(
    tmp_path: Path, rng: np.random.Generator, colour: int, channels: int
) -> None:
    values = cases.some(rng, "uint16", (4, 4, channels))
    body = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    (tmp_path / "a.png").write_bytes(cases.raw_png(16, colour, body))
    back = read(tmp_path / "a.png")
    assert back.pixels.dtype == np.uint16
    solid = channels - (colour >= 4)
    np.testing.assert_array_equal(back.pixels, values[..., 0] if solid == 1 else values[..., :3])
    if colour >= 4:
        np.testing.assert_array_equal(back.alpha, values[..., -1])


def test_written_sixteen_bit_png_has_sixteen_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    write(tmp_path / "a.png", cases.some(rng, "uint16", (9, 7, 3)))
    assert (tmp_path / "a.png").read_bytes()[24:26] == b"\x10\x02"  # depth 16, RGB


@pytest.mark.parametrize(("bits", "samples", "kind", "dtype"), [(8, 3, 1, "u1"), (16, 3, 1, "<u2"), (32, 1, 1, "<u4")])
def test_tiff_is_read_as_the_specification_says(
    tmp_path: Path, rng: np.random.Generator, bits: int, samples: int, kind: int, dtype: str
) -> None:
    data = rng.bytes(4 * 4 * samples * bits // 8)
    (tmp_path / "a.tif").write_bytes(cases.raw_tiff(bits, samples, kind, data))
    expected = np.frombuffer(data, dtype).reshape((4, 4, 3) if samples == 3 else (4, 4))
    back = read(tmp_path / "a.tif")
    assert back.axes == ("YXC" if samples == 3 else "YX")
    np.testing.assert_array_equal(back.pixels, expected)


def test_other_programs_read_our_tiff_and_png(tmp_path: Path, rng: np.random.Generator) -> None:
    grey, colours = cases.some(rng, "uint16", (9, 7)), cases.some(rng, "uint8", (9, 7, 3))
    for suffix, pixels in ((".png", grey), (".tif", grey), (".png", colours), (".tif", colours), (".ome.tif", colours)):
        write(tmp_path / f"a{suffix}", pixels, overwrite=True)
        with Image.open(tmp_path / f"a{suffix}") as picture:
            np.testing.assert_array_equal(np.asarray(picture), pixels)


def test_big_tiff_has_wide_addresses_and_stays_big(tmp_path: Path) -> None:
    write(tmp_path / "a.btf", np.zeros((5, 5), np.uint8))
    assert (tmp_path / "a.btf").read_bytes()[:4] == b"II+\0"
    write(tmp_path / "b.tif", read(tmp_path / "a.btf"))
    assert (tmp_path / "b.tif").read_bytes()[:4] == b"II+\0"
    write(tmp_path / "c.tif", np.zeros((5, 5), np.uint8))
    assert (tmp_path / "c.tif").read_bytes()[:4] == b"II*\0"


def test_npy_of_other_layouts(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.standard_normal((5, 6))
    np.save(tmp_path / "a.npy", np.asfortranarray(pixels.astype(">f4")))
    back = read(tmp_path / "a.npy").pixels
    assert back.dtype == np.float32 and back.dtype.isnative and back.flags.c_contiguous
    np.testing.assert_array_equal(back, pixels.astype(np.float32))


def test_npz_with_one_array_of_any_name(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.standard_normal((20, 6, 7))
    np.savez_compressed(tmp_path / "a.npz", depth=pixels)
    back = read(tmp_path / "a.npz")
    assert back.axes == "ZYX"
    np.testing.assert_array_equal(back.pixels, pixels)
