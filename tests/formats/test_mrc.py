"""MRC: read and written as the specification of 2014 says, header and labels included."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import format_cases as cases
import numpy as np
import pytest
from format_cases import refused
from numpy.typing import NDArray

from epitomes.formats import ImageTooLargeError, read, write


def mrc(
    pixels: NDArray[Any], mode: int, *, order: str = "<", depth: int = 1, space: int = 0, more: bytes = b""
) -> bytes:
    """A file made by hand from the specification; `pixels` are sections, lines, columns."""
    header = bytearray(1024)
    sections, down, across = pixels.shape
    struct.pack_into(f"{order}4i", header, 0, across, down, sections, mode)
    struct.pack_into(f"{order}3i", header, 28, across, down, depth)
    struct.pack_into(f"{order}6f", header, 40, 2.0 * across, 2.0 * down, 3.0 * depth, 90, 90, 90)
    struct.pack_into(f"{order}3i", header, 64, 1, 2, 3)
    struct.pack_into(f"{order}2i", header, 88, space, len(more))
    header[208:212] = b"MAP "
    header[212:214] = b"\x44\x44" if order == "<" else b"\x11\x11"
    struct.pack_into(f"{order}i", header, 220, 1)
    header[224:304] = b"made by hand".ljust(80)
    return bytes(header) + more + pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("dtype", "mode"), [("int8", 0), ("int16", 1), ("float32", 2), ("uint16", 6), ("float16", 12)])
@pytest.mark.parametrize(
    ("depth", "space", "axes", "shape"),
    [(1, 0, "TYX", (4, 9, 7)), (4, 1, "ZYX", (4, 9, 7)), (4, 0, "ZYX", (4, 9, 7)), (2, 401, "TZYX", (2, 2, 9, 7))],
)
def test_read_as_the_specification_says(
    tmp_path: Path,
    rng: np.random.Generator,
    order: str,
    dtype: str,
    mode: int,
    depth: int,
    space: int,
    axes: str,
    shape: tuple[int, ...],
) -> None:
    pixels = cases.some(rng, dtype, (4, 9, 7))
    (tmp_path / "a.mrc").write_bytes(mrc(pixels, mode, order=order, depth=depth, space=space, more=b"tilts" * 7))
    picture = read(tmp_path / "a.mrc")
    assert (picture.axes, picture.pixels.shape, picture.pixels.dtype) == (axes, shape, dtype)
    np.testing.assert_array_equal(picture.pixels.reshape(4, 9, 7), pixels)
    assert dict(picture.spacing) == {"X": 2.0, "Y": 2.0} | ({"Z": 3.0} if "Z" in axes else {})
    assert set(picture.units.values()) == {"Å"}
    assert write(tmp_path / "b.mrc", picture) == ()
    old, new = ((tmp_path / f"{name}.mrc").read_bytes() for name in "ab")
    assert new[1024:] == old[1024:] and new[:76] == old[:76] and new[88:216] == old[88:216] and new[220:] == old[220:]


def test_statistics_and_labels_are_of_the_new_pixels(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = cases.some(rng, "float32", (1, 9, 7))
    (tmp_path / "a.mrc").write_bytes(mrc(pixels, 2))
    picture = read(tmp_path / "a.mrc")
    assert picture.axes == "YX"
    result = picture.pixels * 2
    result[0, 0] = np.nan  # says nothing about the others
    write(tmp_path / "b.mrc", picture.replace(result, history=["epitomes denoise a.mrc", "noise: sigma 3 µ"]))
    content = (tmp_path / "b.mrc").read_bytes()
    known = result[np.isfinite(result)]
    expected = [known.min(), known.max(), known.mean(), known.std()]
    np.testing.assert_allclose(
        [*struct.unpack("<3f", content[76:88]), *struct.unpack("<f", content[216:220])], expected, rtol=1e-5
    )
    assert struct.unpack("<i", content[220:224]) == (3,)
    labels = [content[224 + 80 * i : 304 + 80 * i].decode().strip() for i in range(3)]
    assert labels == ["made by hand", "epitomes denoise a.mrc", "noise: sigma 3 ?"]
    for _ in range(6):  # ten labels at most
        write(tmp_path / "b.mrc", read(tmp_path / "b.mrc").replace(result, history=["once", "more"]), overwrite=True)
    assert struct.unpack("<i", (tmp_path / "b.mrc").read_bytes()[220:224]) == (10,)


@pytest.mark.parametrize(("flags", "dtype"), [(0, "uint8"), (1, "int8")])
def test_bytes_of_imod(tmp_path: Path, flags: int, dtype: str, rng: np.random.Generator) -> None:
    pixels = cases.some(rng, dtype, (1, 9, 7))
    content = bytearray(mrc(pixels, 0))
    struct.pack_into("<2i", content, 152, 1146047817, flags)
    (tmp_path / "a.mrc").write_bytes(content)
    picture = read(tmp_path / "a.mrc")
    assert picture.pixels.dtype == dtype
    np.testing.assert_array_equal(picture.pixels, pixels[0])
    write(tmp_path / "b.mrc", picture)
    np.testing.assert_array_equal(read(tmp_path / "b.mrc").pixels, pixels[0])


def test_wrong_mrc(tmp_path: Path) -> None:
    whole = mrc(np.zeros((2, 9, 7), np.int16), 1)
    for content, words in (
        (whole[:-1], "cut short"),
        (whole[:500], "not an MRC file"),
        (whole[:12] + struct.pack("<i", 4) + whole[16:], "MRC mode 4"),
        (whole[:64] + bytes(12) + whole[76:], "order of its axes"),
        (whole[:92] + struct.pack("<i", -4) + whole[96:], "cut short"),
    ):
        (tmp_path / "a.mrc").write_bytes(content)
        refused(tmp_path / "a.mrc", words)
    (tmp_path / "a.mrc").write_bytes(struct.pack("<3i", 10**6, 10**6, 10**6) + whole[12:])
    refused(tmp_path / "a.mrc", "above the limit", ImageTooLargeError)
    (tmp_path / "c.mrc").write_bytes(whole)
    with pytest.raises(ValueError, match=r"uint8 values to MRC.*\.tif"):
        write(tmp_path / "b.mrc", np.zeros((9, 9), np.uint8))
    with pytest.raises(ValueError, match=r"the axes YXC.*\.tif"):
        write(tmp_path / "b.mrc", np.zeros((9, 9, 3), np.int16))
