"""JPEG: never coarser than it was read, and with all that the file says beside its pixels."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import changed
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile, get_sampling

from epitomes.formats import read, write

XMP = b'<x:xmpmeta><rdf:Description tiff:Orientation="6" dc:creator="me"/></x:xmpmeta>'
XMP_MARK = b"http://ns.adobe.com/xap/1.0/\0"


def photograph(path: Path, rng: np.random.Generator, mode: str, **options: object) -> None:
    smooth = np.add.outer(np.arange(40.0), np.arange(48.0))[..., None] + rng.normal(0, 20, (40, 48, 3))
    pixels = np.clip(smooth + 60, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).convert(mode).save(path, "JPEG", **options)


def steps(path: Path) -> tuple[list[list[int]], int]:
    with JpegImageFile(path) as picture:
        return [picture.quantization[layer[3]] for layer in picture.layer], get_sampling(picture)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("quality", [30, 75, 97, 100])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("orientation", [1, 6])
def test_written_not_coarser(
    tmp_path: Path, rng: np.random.Generator, mode: str, quality: int, subsampling: int, orientation: int
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    photograph(tmp_path / "a.jpg", rng, mode, quality=quality, subsampling=subsampling, exif=exif)
    write(tmp_path / "b.jpg", changed(read(tmp_path / "a.jpg")))
    (before, thinned), (after, now) = steps(tmp_path / "a.jpg"), steps(tmp_path / "b.jpg")
    for old, new in zip(before, after, strict=True):
        table = np.reshape(old, (8, 8))
        assert (np.reshape(new, (8, 8)) <= (table.T if orientation == 6 else table)).all()
    assert now <= thinned
    picture = read(tmp_path / "a.jpg")
    write(tmp_path / "c.jpg", picture)
    if quality >= 97 and orientation == 1 and not subsampling:  # the same tables: next to nothing changes
        assert np.abs(read(tmp_path / "c.jpg").pixels.astype(int) - picture.pixels).mean() < 0.3


def test_colours_with_a_table_each_have_the_finer_one(tmp_path: Path, rng: np.random.Generator) -> None:
    photograph(tmp_path / "a.jpg", rng, "RGB", qtables=[[9] * 64, [7] * 64], subsampling=0)
    content = bytearray((tmp_path / "a.jpg").read_bytes())
    at = content.index(b"\xff\xc0")
    table = b"\xff\xdb\0\x43\x02" + bytes([2]) * 64
    content[at + 18] = 2  # the second colour has a table of its own
    (tmp_path / "a.jpg").write_bytes(bytes(content[:at]) + table + bytes(content[at:]))
    assert [each[0] for each in steps(tmp_path / "a.jpg")[0]] == [9, 7, 2]
    write(tmp_path / "b.jpg", read(tmp_path / "a.jpg"))
    assert [max(each) for each in steps(tmp_path / "b.jpg")[0]][1:] == [2, 2]


def segment(code: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, code, len(data) + 2) + data


def segments(path: Path) -> list[tuple[str, bytes]]:
    with JpegImageFile(path) as picture:
        return [(name, bytes(data)) for name, data in picture.applist]


def test_xmp_comments_and_other_segments_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "A camera", 6
    photograph(tmp_path / "a.jpg", rng, "RGB", exif=exif, icc_profile=b"profile" * 20000, quality=90)
    kept = [(0xED, b"Photoshop 3.0\0" + bytes(50)), (0xFE, b"a comment"), (0xEC, b"Ducky"), (0xEB, b"JP\0\0signed")]
    dropped = [(0xE2, b"MPF\0II*\0" + bytes(20)), (0xE0, b"JFXX\0\x10")]
    content = (tmp_path / "a.jpg").read_bytes()
    more = b"".join(segment(*each) for each in [(0xE1, XMP_MARK + XMP), *kept, *dropped])
    (tmp_path / "a.jpg").write_bytes(content[:2] + more + content[2:])
    write(tmp_path / "b.jpg", changed(read(tmp_path / "a.jpg")))
    found = segments(tmp_path / "b.jpg")
    for code, data in kept:
        assert found.count(("COM" if code == 0xFE else f"APP{code - 0xE0}", data)) == 1
    assert not any(data.startswith((b"MPF", b"JFXX")) for _, data in found)
    assert ("APP1", XMP_MARK + XMP.replace(b'"6"', b'"1"')) in found  # upright now, as EXIF says
    assert [name for name, _ in found][:2] == ["APP0", "APP1"] and found[1][1].startswith(b"Exif")
    with Image.open(tmp_path / "b.jpg") as picture:
        assert picture.getexif()[0x010F] == "A camera" and picture.info["icc_profile"] == b"profile" * 20000
        np.asarray(picture)
    before = (tmp_path / "b.jpg").read_bytes()
    write(tmp_path / "b.jpg", read(tmp_path / "b.jpg"), overwrite=True)
    assert segments(tmp_path / "b.jpg") == found and len((tmp_path / "b.jpg").read_bytes()) < 1.1 * len(before)


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_xmp_passes_between_formats(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    photograph(tmp_path / "a.jpg", rng, "RGB", xmp=XMP, quality=90)
    assert write(tmp_path / f"b{suffix}", read(tmp_path / "a.jpg")) == ()
    assert write(tmp_path / "c.jpg", read(tmp_path / f"b{suffix}")) == ()
    with Image.open(tmp_path / f"b{suffix}") as there, Image.open(tmp_path / "c.jpg") as back:
        for picture in (there, back):
            assert b'dc:creator="me"' in picture.info["xmp"]
    assert write(tmp_path / "d.bmp", read(tmp_path / "c.jpg")) == ("BMP does not keep XMP",)


def test_a_new_picture_has_quality_95_and_all_colours(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = cases.some(rng, "uint8", (16, 16, 3))
    write(tmp_path / "a.jpg", pixels)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG", quality=95, subsampling=0)
    (tmp_path / "b.jpg").write_bytes(content.getvalue())
    assert steps(tmp_path / "a.jpg") == steps(tmp_path / "b.jpg")
