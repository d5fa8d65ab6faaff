"""WebP, BMP, GIF, PGM and PPM, JPEG 2000, palettes and single bits: as Pillow and the specifications say."""

from __future__ import annotations

from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import refused
from PIL import Image

from epitomes.formats import ImageTooLargeError, Picture, read, write

FADED = [c // 2 for i in range(256) for c in (i, 255 - i, i // 2)]  # a palette


def drawn(mode: str) -> Image.Image:
    """A ramp of grey, of a palette, or of two values."""
    ramp = Image.fromarray(np.add.outer(np.arange(12), np.arange(10)).astype(np.uint8) * 12)
    if mode == "P":
        ramp = ramp.convert("P")
        ramp.putpalette(FADED)
        return ramp
    return ramp.convert(mode)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".gif", ".bmp"])
def test_palettes_are_read_as_rgb(tmp_path: Path, suffix: str) -> None:
    drawn("P").save(tmp_path / f"a{suffix}")
    back = read(tmp_path / f"a{suffix}")
    assert back.axes == "YXC" and back.notes == ("its palette of colours is read as RGB",)
    np.testing.assert_array_equal(back.pixels, np.asarray(drawn("P").convert("RGB")))


def test_a_palette_with_transparency(tmp_path: Path) -> None:
    drawn("P").save(tmp_path / "a.png", transparency=bytes([0, 99, *[255] * 254]))
    back = read(tmp_path / "a.png")
    assert back.axes == "YXC" and back.alpha is not None and back.alpha[0, 0] == 0 and back.alpha[5, 5] == 255
    write(tmp_path / "b.png", back)
    with Image.open(tmp_path / "b.png") as picture:
        assert picture.mode == "RGBA"


@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp", ".pbm"])
def test_single_bits_are_0_and_255(tmp_path: Path, suffix: str) -> None:
    drawn("1").save(tmp_path / f"a{suffix}")
    back = read(tmp_path / f"a{suffix}")
    assert back.pixels.dtype == np.uint8 and set(np.unique(back.pixels)) == {0, 255} and "one bit" in back.notes[0]
    np.testing.assert_array_equal(back.pixels, np.asarray(drawn("1").convert("L")))


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("suffix", [".webp", ".bmp", ".jp2", ".pgm"])
def test_pillow_reads_what_we_write_and_we_what_pillow_writes(tmp_path: Path, suffix: str, mode: str) -> None:
    expected = np.asarray(drawn(mode))
    write(tmp_path / f"a{suffix}", expected)
    with Image.open(tmp_path / f"a{suffix}") as picture:
        np.testing.assert_array_equal(np.asarray(picture.convert(mode)), expected)
    options = {".webp": {"lossless": True}, ".jp2": {"irreversible": False}}.get(suffix, {})
    drawn(mode).save(tmp_path / f"b{suffix}", **options)
    found = read(tmp_path / f"b{suffix}").pixels
    np.testing.assert_array_equal(found if found.ndim == expected.ndim else found[..., 0], expected)


def test_webp_says_that_grey_becomes_colours_and_keeps_alpha(tmp_path: Path, rng: np.random.Generator) -> None:
    assert write(tmp_path / "a.webp", np.zeros((9, 9), np.uint8)) == ("WebP stores a grey image as RGB",)
    picture = Picture(cases.some(rng, "uint8", (9, 7, 3)), alpha=cases.some(rng, "uint8", (9, 7)))
    assert write(tmp_path / "b.webp", picture) == ()
    back = read(tmp_path / "b.webp")
    np.testing.assert_array_equal(back.pixels, picture.pixels)
    np.testing.assert_array_equal(back.alpha, picture.alpha)


def test_animations_are_read_in_part(tmp_path: Path) -> None:
    for suffix in (".gif", ".webp"):
        drawn("RGB").save(tmp_path / f"a{suffix}", save_all=True, append_images=[Image.new("RGB", (10, 12), "red")])
        back = read(tmp_path / f"a{suffix}")
        assert back.pixels.shape == (12, 10, 3) and "it is animated: only the first image is read" in back.notes


# PGM and PPM


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"P5 2 2 255\n\x01\x02\x03\x04", [[1, 2], [3, 4]]),
        (b"P5\n# made by hand\n2 2\n# white\n65535\n\x01\x00\x00\x02\xff\xff\x00\x00", [[256, 2], [65535, 0]]),
        (b"P5 2 1 4095 \x0f\xff\x00\x10", [[4095, 16]]),
        (b"P2\n2 2 9\n1 2 # two\n3 9\n", [[1, 2], [3, 9]]),
        (b"P6 1 2 255\n\x01\x02\x03\x04\x05\x06", [[[1, 2, 3]], [[4, 5, 6]]]),
        (b"P6 1 1 1000\n\x00\x01\x03\xe8\x01\x00", [[[1, 1000, 256]]]),
        (b"P3 1 1 255\n7 8 9", [[[7, 8, 9]]]),
        (b"P1 3 2\n010\n1 1 0", [[255, 0, 255], [0, 0, 255]]),
        (b"P4 3 2\n\x40\xc0", [[255, 0, 255], [0, 0, 255]]),
    ],
)
def test_pnm_is_read_as_the_specification_says(tmp_path: Path, content: bytes, expected: object) -> None:
    (tmp_path / "a.ppm").write_bytes(content)
    back = read(tmp_path / "a.ppm")
    np.testing.assert_array_equal(back.pixels, np.array(expected))
    assert back.pixels.dtype == (
        "uint16" if b"65535" in content or b"4095" in content or b"1000" in content else "uint8"
    )
    write(tmp_path / "b.pgm", back)
    np.testing.assert_array_equal(read(tmp_path / "b.pgm").pixels, back.pixels)


def test_the_largest_value_stays_if_it_still_is(tmp_path: Path) -> None:
    (tmp_path / "a.pgm").write_bytes(b"P5 2 1 4095 \x0f\xff\x00\x10")
    picture = read(tmp_path / "a.pgm")
    for change, white in ((0, b"4095"), (1, b"65535")):
        write(tmp_path / "b.pgm", picture.replace(picture.pixels + np.uint16(change)), overwrite=True)
        assert (tmp_path / "b.pgm").read_bytes().split()[3] == white


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"P5 2 2 255\n\x01\x02\x03", "cut short"),
        (b"P5 2 2\n", "largest value is missing"),
        (b"P5 0 2 255\n", "which no image has"),
        (b"P5 2 2 70000\n" + bytes(16), "allowed are 1 to 65535"),
        (b"P5 1 1 9 \x0a", "values above 9"),
        (b"P2 1 1 255 256", "values above"),
        (b"P2 2 1 255 1", "cut short"),
        (b"P2 1 1 255 -1", "values above"),
        (b"P2 1 1 255 x", "damaged"),
        (b"P7\nWIDTH 1", "not a PGM"),
    ],
)
def test_wrong_pnm(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.pgm").write_bytes(content)
    refused(tmp_path / "a.pgm", words)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pgm", b"P5 100000 100000 255\n"),
        ("a.bmp", b"BM" + bytes(12) + (40).to_bytes(4, "little") + (2**14).to_bytes(4, "little") * 2 + b"\1\0\x18\0"),
        ("a.gif", b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x08"),
        ("a.jp2", b"\xff\x4f\xff\x51\0\x29\0\0" + (2**14).to_bytes(4, "big") * 2 + bytes(24) + b"\0\1\7\1\1"),
    ],
)
def test_huge_headers(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content + bytes(64))
    refused(tmp_path / name, "above the limit", ImageTooLargeError, max_pixels=2**26)


def test_a_wide_picture_does_not_fit_in_webp(tmp_path: Path) -> None:
    from epitomes.formats import ImageFileError

    with pytest.raises(ImageFileError, match=r"at most 16383.*\.png"):
        write(tmp_path / "a.webp", np.zeros((1, 16384, 3), np.uint8))
