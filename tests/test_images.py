"""Pictures come back from files as they were stored, or are refused in words before anything is read."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from epitomes.images import FORMATS, ImageFileError, ImageTooLargeError, encode_png, read_picture, write_picture

HELD = [
    (".png", "uint8", ()),
    (".png", "uint8", (3,)),
    (".png", "uint16", ()),
    (".tif", "uint8", ()),
    (".tif", "uint8", (3,)),
    (".tiff", "uint16", ()),
    (".tif", "int32", ()),
    (".tif", "float32", ()),
    (".npy", "uint8", (3,)),
    (".npy", "uint16", (3,)),
    (".npy", "int64", ()),
    (".npy", "float32", (5,)),
    (".npy", "float64", ()),
]


def some(rng: np.random.Generator, dtype: str, more: tuple[int, ...], shape: tuple[int, int] = (9, 7)) -> NDArray[Any]:
    """Random pixels over all of the range of the dtype."""
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal((*shape, *more)).astype(dtype) * 1e3
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, (*shape, *more), dtype=dtype, endpoint=True)


def raw_png(depth: int, colour: int, body: bytes, size: tuple[int, int] = (4, 4), more: bytes = b"") -> bytes:
    """A PNG file made by hand from the specification, so that the reader is not judged by its own writer."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("suffix", "dtype", "more"), HELD)
def test_round_trip_is_exact(
    tmp_path: Path, rng: np.random.Generator, suffix: str, dtype: str, more: tuple[int, ...]
) -> None:
    pixels = some(rng, dtype, more)
    write_picture(tmp_path / f"a{suffix}", pixels)
    back = read_picture(tmp_path / f"a{suffix}")
    assert back.pixels.dtype == pixels.dtype and back.notes == ()
    np.testing.assert_array_equal(back.pixels, pixels)
    assert not back.pixels.flags.writeable


def test_jpeg_is_near(tmp_path: Path) -> None:
    ramp = np.add.outer(np.arange(32.0), np.arange(32.0)).astype(np.uint8) * 4
    for pixels in (ramp, np.stack([ramp, ramp[::-1], ramp.T], axis=2)):
        write_picture(tmp_path / "a.JPG", pixels, overwrite=True)
        back = read_picture(tmp_path / "a.JPG").pixels
        assert back.shape == pixels.shape and np.abs(back.astype(int) - pixels).mean() < 3


def test_sixteen_bit_grey_png_is_read_as_the_specification_says(tmp_path: Path) -> None:
    values = (np.arange(16).reshape(4, 4) * 4000 + 7).astype(">u2")
    (tmp_path / "a.png").write_bytes(raw_png(16, 0, b"".join(b"\0" + row.tobytes() for row in values)))
    back = read_picture(tmp_path / "a.png").pixels
    assert back.dtype == np.uint16 and back.dtype.isnative
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(("colour", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_sixteen_bit_colour_png_is_refused_not_rounded(tmp_path: Path, colour: int, channels: int) -> None:
    (tmp_path / "a.png").write_bytes(raw_png(16, colour, 4 * (b"\0" + bytes(8 * channels))))
    with pytest.raises(ImageFileError, match=r"16 bits per colour.*\.npy"):
        read_picture(tmp_path / "a.png")


def test_tiff_whose_values_would_change_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    """Little-endian TIFF by hand: 16-bit RGB, which Pillow reads as 8 bits, and unsigned 32 bits, which it wraps."""

    def tiff(bits: int, samples: int, kind: int) -> bytes:
        data = rng.bytes(4 * 4 * samples * bits // 8)
        tags = [(256, 4), (257, 4), (258, bits), (259, 1), (262, 2 if samples == 3 else 1), (273, 8), (277, samples)]
        tags += [(278, 4), (279, len(data)), (339, kind)]
        shared = 8 + len(data)  # three numbers of 258 do not fit in the tag itself
        entries = b""
        for tag, value in tags:
            many = samples if tag in (258, 339) else 1
            place = (
                struct.pack("<I", shared if tag == 258 else shared + 6) if many == 3 else struct.pack("<HH", value, 0)
            )
            entries += struct.pack("<HHI", tag, 3, many) + place
        tail = struct.pack("<6H", *[bits] * 3, *[kind] * 3)
        directory = struct.pack("<H", len(tags)) + entries + bytes(4)
        return struct.pack("<2sHI", b"II", 42, shared + len(tail)) + data + tail + directory

    path = tmp_path / "a.tif"
    path.write_bytes(tiff(8, 3, 1))
    assert read_picture(path).pixels.shape == (4, 4, 3)  # the maker of files is right
    path.write_bytes(tiff(16, 1, 1))
    assert read_picture(path).pixels.dtype == np.uint16
    for bits, samples, kind in ((16, 3, 1), (32, 1, 1), (8, 1, 2)):
        path.write_bytes(tiff(bits, samples, kind))
        with pytest.raises(ImageFileError, match="would change"):
            read_picture(path)


def test_opaque_alpha_is_dropped_and_told_and_other_alpha_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    colours = some(rng, "uint8", (3,))
    for hidden in (False, True):
        alpha = np.full(colours.shape[:2], 255, np.uint8)
        alpha[3, 3] -= hidden
        Image.fromarray(np.dstack([colours, alpha])).save(tmp_path / "a.png")
        if hidden:
            with pytest.raises(ImageFileError, match=r"transparent.*flatten"):
                read_picture(tmp_path / "a.png")
        else:
            back = read_picture(tmp_path / "a.png")
            np.testing.assert_array_equal(back.pixels, colours)
            assert "alpha" in back.notes[0]


def test_orientation_is_applied_and_told(tmp_path: Path) -> None:
    pixels = np.zeros((8, 16), np.uint8)
    pixels[:, 8:] = 200
    exif = Image.Exif()
    exif[0x0112] = 6  # the stored right side is the shown bottom
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    back = read_picture(tmp_path / "a.png")
    np.testing.assert_array_equal(back.pixels, np.rot90(pixels, -1))
    assert "upright" in back.notes[0]


@pytest.mark.parametrize("mode", ["P", "1", "CMYK"])
def test_other_kinds_of_pixels_are_refused(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.jpg" if mode == "CMYK" else "a.png")
    Image.new(mode, (5, 5)).save(path)
    with pytest.raises(ImageFileError, match="save it as grey or RGB"):
        read_picture(path)


def test_several_pages_are_refused(tmp_path: Path) -> None:
    page = Image.new("L", (4, 4))
    page.save(tmp_path / "a.tif", save_all=True, append_images=[page])
    with pytest.raises(ImageFileError, match="2 pictures"):
        read_picture(tmp_path / "a.tif")


@pytest.mark.filterwarnings("ignore")  # Pillow's, of what it meets on the way
@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_damaged_files_are_one_error(tmp_path: Path, rng: np.random.Generator, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_picture(path, some(rng, "uint8", (), (40, 40)))
    whole = path.read_bytes()
    contents = [b"", b"hello", whole[:20], whole[: len(whole) // 2], rng.bytes(500)]
    for _ in range(40):
        broken = bytearray(whole)
        broken[int(rng.integers(0, min(len(whole), 80)))] ^= int(rng.integers(1, 256))
        contents.append(bytes(broken))
    for content in contents:
        path.write_bytes(content)
        try:
            read_picture(path, most=10_000)
        except ImageFileError as error:
            assert str(path) in str(error)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageFileError):
        read_picture(path)


def npy(shape: object, descr: str = "|u1", body: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def test_npy_is_judged_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy((2**20, 2**20)))
    with pytest.raises(ImageTooLargeError, match="above the limit"):
        read_picture(path)
    for content, words in (
        (npy((8, 8), body=bytes(63)), "cut short"),
        (npy((8, -8), body=bytes(64)), "needs the shape"),
        (npy((64,), body=bytes(64)), "needs the shape"),
        (npy((8, 8), "|O", bytes(512)), "holds object"),
        (npy((8, 8), "<c8", bytes(512)), "holds complex64"),
        (npy("__import__('os')", body=bytes(64)), "not an NPY file"),
        (b"PK\x03\x04" + bytes(60), "not an NPY file"),
    ):
        path.write_bytes(content)
        with pytest.raises(ImageFileError, match=words):
            read_picture(path)


def test_npy_of_other_layouts(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = rng.standard_normal((5, 6))
    np.save(tmp_path / "a.npy", np.asfortranarray(pixels.astype(">f4")))
    back = read_picture(tmp_path / "a.npy").pixels
    assert back.dtype == np.float32 and back.dtype.isnative and back.flags.c_contiguous
    np.testing.assert_array_equal(back, pixels.astype(np.float32))


def test_size_is_refused_before_reading(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(raw_png(8, 0, b"", (30_000, 30_000)))  # nothing behind the header
    with pytest.raises(ImageTooLargeError):
        read_picture(tmp_path / "a.png")
    write_picture(tmp_path / "b.png", np.zeros((10, 10), np.uint8))
    with pytest.raises(ImageTooLargeError, match="10 x 10"):
        read_picture(tmp_path / "b.png", most=99)
    assert read_picture(tmp_path / "b.png", most=100).pixels.shape == (10, 10)


def test_paths_that_are_no_pictures(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "none.png", "no file"),
        (tmp_path / "a.xyz", r"suffix '.xyz'.*\.png"),
        (tmp_path / "a", "no suffix"),
    ):
        with pytest.raises(ImageFileError, match=words):
            read_picture(path)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ImageFileError, match="not a regular file"):
        read_picture(tmp_path / "folder.png")


@pytest.mark.parametrize(
    ("name", "pixels", "words"),
    [
        ("a.png", np.zeros((4, 4)), "float64.*use .npy"),
        ("a.png", np.zeros((4, 4, 3), np.uint16), "uint16"),
        ("a.jpg", np.zeros((4, 4), np.uint16), "uint16"),
        ("a.tif", np.zeros((4, 4)), "float64"),
        ("a.png", np.zeros((4, 4, 1), np.uint8), "shape"),
        ("a.npy", np.zeros((4, 4), complex), "complex"),
        ("a.npy", np.zeros(4), "needs the shape"),
        ("a.gif", np.zeros((4, 4), np.uint8), "suffix"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path: Path, name: str, pixels: NDArray[Any], words: str) -> None:
    with pytest.raises(ImageFileError, match=words):
        write_picture(tmp_path / name, pixels)
    assert not list(tmp_path.iterdir())


def test_existing_files_stay_unless_told(tmp_path: Path) -> None:
    write_picture(tmp_path / "a.png", np.zeros((3, 3), np.uint8))
    with pytest.raises(FileExistsError):
        write_picture(tmp_path / "a.png", np.ones((3, 3), np.uint8))
    assert read_picture(tmp_path / "a.png").pixels.max() == 0
    write_picture(tmp_path / "a.png", np.ones((3, 3), np.uint8), overwrite=True)
    assert read_picture(tmp_path / "a.png").pixels.min() == 1


def test_encode_png_is_what_is_written(rng: np.random.Generator) -> None:
    pixels = some(rng, "uint8", (3,))
    with Image.open(io.BytesIO(encode_png(pixels))) as picture:
        np.testing.assert_array_equal(np.asarray(picture), pixels)
