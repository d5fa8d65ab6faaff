"""Files are what their first bytes say: without a suffix, with a wrong one, and in a directory with other files."""

from __future__ import annotations

import shutil
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import SMALL, refused, small

from epitomes.cli.main import main
from epitomes.formats import read, suffix_of_file, write
from epitomes.formats.registry import BY_SUFFIX


@pytest.mark.parametrize("suffix", sorted(SMALL))
def test_without_a_suffix_and_with_a_wrong_one(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = small(tmp_path, suffix, rng)
    expected = read(path)
    for name in ("IM0001", "a.xyz", "a.png" if suffix != ".png" else "a.npy"):
        other = tmp_path / "other" / name
        other.parent.mkdir(exist_ok=True)
        shutil.copy(path, other)
        back = read(other)
        np.testing.assert_array_equal(back.pixels, expected.pixels)
        assert (back.name, BY_SUFFIX[back.suffix].read) == (name, BY_SUFFIX[suffix].read)
        assert suffix_of_file(other) == back.suffix
        told = [note for note in back.notes if "its suffix says" in note]
        assert len(told) == (name in ("a.png", "a.npy")) and back.notes[len(told) :] == expected.notes


def test_dicom_with_the_head_of_a_tiff_file(tmp_path: Path) -> None:
    """Files of slide scanners are both: a TIFF reader finds no image, or a small one, in them."""
    content = bytearray(cases.dicom(np.arange(64, dtype=np.int16).reshape(8, 8)))
    content[:8] = b"II*\0\x08\0\0\0"
    for name in ("IM0001", "a.tif", "a.dcm"):
        (tmp_path / name).write_bytes(bytes(content))
        np.testing.assert_array_equal(read(tmp_path / name).pixels.ravel(), np.arange(64))


def test_what_is_no_image_keeps_its_error(tmp_path: Path) -> None:
    for name, words in (("a.png", "not a PNG"), ("a.jpg", "not a JPEG"), ("a", "no suffix"), ("a.txt", "'.txt'")):
        (tmp_path / name).write_bytes(b"hello, world")
        refused(tmp_path / name, words)
        assert suffix_of_file(tmp_path / name) == (Path(name).suffix if name in ("a.png", "a.jpg") else "")
    assert suffix_of_file(tmp_path / "none") == suffix_of_file(tmp_path) == ""


@pytest.mark.parametrize("head", [b"\0\0\0\x20ftypavif", b"\0\0\0\x20ftypheic", b"\0\0\0\x18ftypmif1"])
def test_stills_in_the_container_of_mp4_are_no_video(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a").write_bytes(head + bytes(100))
    refused(tmp_path / "a", "no suffix")


# A directory


@pytest.mark.slow
def test_a_directory_is_all_of_its_images(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    for name in ("b.png", "a.tif", "c", ".hidden.png", "deeper/d.png"):
        write(tmp_path / "x.png", np.full((9, 9), 7, np.uint8), overwrite=True)
        shutil.copy(tmp_path / "x.png", folder / name)
    (folder / "notes.txt").write_text("Monday")
    (folder / "empty").write_bytes(b"")
    asked = ["denoise", str(folder), "-o", str(tmp_path / "out"), "--sigma", "5", "--preset", "fast"]
    assert main(asked) == 0
    out, err = capfd.readouterr()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.tif", "b.png", "c.png"]
    assert "2 of 5 files are no images and are skipped: empty, notes.txt" in err and "3 of 3 files denoised" in out
    assert [out.index(f"in/{name}") for name in "abc"] == sorted(out.index(f"in/{name}") for name in "abc")
    assert main(["info", str(folder / "deeper")]) == 0 and "PNG, YX 9 x 9" in capfd.readouterr().out


def test_a_directory_with_one_image_has_a_directory_of_results(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.png", np.full((9, 9), 7, np.uint8))
    asked = ["denoise", str(tmp_path / "in"), "--sigma", "5", "--preset", "fast", "-o"]
    assert main([*asked, str(tmp_path / "out.png")]) == 2 and "need a directory" in capfd.readouterr().err
    assert main([*asked, str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.png"]


def test_a_directory_without_images(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("Monday")
    assert main(["noise", str(tmp_path)]) == 3
    assert "expected images in this directory, found none" in capfd.readouterr().err
