"""`read` and `write`: names, stdin and stdout, missing libraries, atomic writes, what a format cannot hold."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import format_cases as cases
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from epitomes import formats
from epitomes.formats import (
    ImageFileError,
    ImageTooLargeError,
    MissingExtraError,
    Picture,
    as_picture,
    encode_png,
    read,
    require_format,
    write,
)
from epitomes.formats.folders import write_folder
from epitomes.formats.registry import FORMATS, sniffed, suffix_of

# Names


def test_suffixes_are_known_once_and_in_full() -> None:
    names = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(names) == len(set(names))
    for name, suffix in (
        ("a.ome.tif", ".ome.tif"),
        ("A.OME.TIFF", ".ome.tiff"),
        ("a.b.nii.gz", ".nii.gz"),
        ("a.tar.gz", ".gz"),
        (".png", ""),
        ("x.ome.zarr", ".ome.zarr"),
    ):
        assert suffix_of(Path(name)) == suffix


def test_formats_that_are_not_written_say_what_to_use(tmp_path: Path) -> None:
    for name, words in (("a.gif", r"\.png"), ("a.nef", r"\.tif"), ("a.avi", r"\.mkv.*\.mp4"), ("a.xyz", "suffix")):
        with pytest.raises(ImageFileError, match=words):
            require_format(tmp_path / name)
        with pytest.raises(ImageFileError, match=words):
            write(tmp_path / name, np.zeros((4, 4), np.uint8))
    require_format(tmp_path / "a.ome.zarr")
    require_format("-")
    assert formats.is_folder_format("a.ome.zarr") and not formats.is_folder_format("a.tif")


@pytest.mark.parametrize("suffix", [".fits", ".nii", ".dcm", ".dng", ".mkv", ".zarr"])
def test_a_missing_library_names_its_extra(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {".fits": "fits", ".nii": "nifti", ".dcm": "dicom", ".dng": "raw", ".mkv": "video", ".zarr": "zarr"}[suffix]
    for name in ("astropy.io.fits", "nibabel", "pydicom", "rawpy", "av", "zarr"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / f"a{suffix}"
    path.mkdir() if suffix == ".zarr" else path.write_bytes(b"nothing known")
    with pytest.raises(MissingExtraError, match=rf'a\{suffix}: .*pip install "epitomes\[{extra}\]"'):
        read(path)
    if suffix not in (".dcm", ".dng"):
        with pytest.raises(MissingExtraError, match=rf"epitomes\[{extra}\]"):
            write(tmp_path / f"b{suffix}", Picture(np.zeros((2, 4, 4), np.uint8), "TYX"))
        assert not (tmp_path / f"b{suffix}").exists()


def test_extras_of_the_errors_are_in_pyproject() -> None:
    import tomllib

    root = Path(__file__).resolve().parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"fits", "nifti", "dicom", "raw", "video", "zarr", "formats"} <= set(extras)
    named = set()
    for path in (root / "src" / "epitomes" / "formats").glob("*.py"):
        named |= {part.split('"')[0] for part in path.read_text().split('extra="')[1:]}
    assert named == {"fits", "nifti", "dicom", "raw", "video", "zarr"}


# stdin and stdout


class Pipe:
    """Stands for sys.stdin or sys.stdout."""

    def __init__(self, content: bytes = b"") -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".npy", ".npz", ".fits", ".nii", ".mkv"])
def test_stdin_is_known_by_its_first_bytes(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    cases.need(suffix)
    axes = "TYX" if suffix == ".mkv" else "YX"
    write(tmp_path / f"a{suffix}", Picture(cases.some(rng, "uint8", cases.SHAPES[axes]), axes))
    content = (tmp_path / f"a{suffix}").read_bytes()
    monkeypatch.setattr(sys, "stdin", Pipe(content))
    picture = read("-")
    np.testing.assert_array_equal(picture.pixels, read(tmp_path / f"a{suffix}").pixels)
    assert picture.name == f"stdin{suffix}" and sniffed(content[:512]) == suffix
    out = Pipe()
    monkeypatch.setattr(sys, "stdout", out)
    write(Path("-"), picture)
    monkeypatch.setattr(sys, "stdin", Pipe(out.buffer.getvalue()))
    again = read(Path("-"))
    assert again.name == picture.name and again.pixels.shape == picture.pixels.shape
    if suffix != ".jpg":
        np.testing.assert_array_equal(again.pixels, picture.pixels)


def test_stdin_that_is_no_picture_or_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, kind, words in (
        (b"", ImageFileError, "got no bytes"),
        (b"hello", ImageFileError, "format is unknown"),
        (b"\x89PNG\r\n\x1a\nrest", ImageFileError, "stdin: this is not a PNG"),
        (cases.raw_npy((2**20, 2**20)), ImageTooLargeError, "stdin: .*above the limit"),
        (bytes(2**24 + 900), ImageTooLargeError, "more bytes than"),
    ):
        monkeypatch.setattr(sys, "stdin", Pipe(content))
        with pytest.raises(kind, match=words):
            read("-", max_pixels=100)


def test_a_new_picture_on_stdout_is_tiff(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Pipe()
    monkeypatch.setattr(sys, "stdout", out)
    write("-", np.zeros((4, 4), np.uint8))
    assert out.buffer.getvalue()[:4] == b"II*\0"
    raw = Picture(np.zeros((4, 4), np.uint8), name="scan.nef")
    write("-", raw)
    with pytest.raises(ImageFileError, match=r"^-: cannot write float64"):
        write("-", Picture(np.zeros((4, 4)), name="a.png"))


def test_through_a_real_pipe(tmp_path: Path, rng: np.random.Generator) -> None:
    pixels = cases.some(rng, "uint16", (9, 7, 3))
    write(tmp_path / "a.png", pixels)
    code = "from epitomes.formats import read, write; p = read('-'); write('-', p.replace(p.pixels[::-1]))"
    with (tmp_path / "a.png").open("rb") as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
    (tmp_path / "b.png").write_bytes(done.stdout)
    np.testing.assert_array_equal(read(tmp_path / "b.png").pixels, pixels[::-1])


# Writing


@pytest.mark.parametrize(
    ("name", "picture", "words"),
    [
        ("a.png", np.zeros((4, 4)), "float64 values to PNG"),
        ("a.jpg", np.zeros((4, 4), np.uint16), "uint16"),
        ("a.png", np.zeros((4, 4, 1), np.uint8), "4 x 4 x 1"),
        ("a.png", np.zeros((4, 4, 4), np.uint8), "3 colours"),
        ("a.png", Picture(np.zeros((9, 8, 7), np.uint8), "ZYX"), r"one plane.*\.tif"),
        ("a.npy", np.zeros((4, 4), complex), "complex"),
        ("a.npy", np.zeros(4), "2 to 5 axes"),
        ("a.gif", np.zeros((4, 4), np.uint8), "suffix"),
        ("a.ome.tif", np.zeros((4, 4), np.int64), "int64 values to OME-TIFF"),
        ("a.fits", np.zeros((4, 4), np.float16), "float16 values to FITS"),
        ("a.nii", np.zeros((4, 4), np.float16), "float16 values to NIfTI"),
        ("a.mkv", np.zeros((4, 4), np.uint8), "frames"),
        ("a.mkv", Picture(np.zeros((3, 4, 4)), "TYX"), "float64"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    tmp_path: Path, name: str, picture: Picture | NDArray[Any], words: str
) -> None:
    cases.need(Path(name).suffix)
    with pytest.raises(ImageFileError, match=words) as caught:
        write(tmp_path / name, picture)
    assert not list(tmp_path.iterdir())
    if found := re.search(r"use the suffix (\.[\w.]+)$", str(caught.value)):  # which can hold it
        write(tmp_path / f"a{found[1]}", picture)
        np.testing.assert_array_equal(read(tmp_path / f"a{found[1]}").pixels, as_picture(picture).pixels)
    assert found or "cannot write" not in str(caught.value)


def test_losses_are_told(tmp_path: Path) -> None:
    alpha = np.full((4, 4), 9, np.uint8)
    picture = Picture(np.zeros((4, 4), np.uint8), "YX", {"X": 0.5, "Y": 0.5}, {"X": "mm", "Y": "mm"}, alpha=alpha)
    assert write(tmp_path / "a.jpg", picture) == (
        "JPEG does not keep the alpha channel",
        "JPEG does not keep the spacing along XY",
    )
    assert write(tmp_path / "a.tif", picture) == ()
    wide = dataclasses.replace(picture, pixels=np.zeros((4, 4), np.float32))
    assert write(tmp_path / "b.tif", wide) == ("TIFF does not keep the alpha channel",)  # of another dtype
    stack = Picture(np.zeros((20, 8, 7)), "TYX")
    assert "TYX" in write(tmp_path / "a.npy", stack)[0]
    assert read(tmp_path / "a.npy", axes="TYX").axes == "TYX"
    with pytest.raises(ImageFileError, match=r"a\.npy: axes 'YX' name 2"):
        read(tmp_path / "a.npy", axes="YX")


def test_existing_files_stay_unless_told(tmp_path: Path) -> None:
    write(tmp_path / "a.png", np.zeros((3, 3), np.uint8))
    with pytest.raises(FileExistsError):
        write(tmp_path / "a.png", np.ones((3, 3), np.uint8))
    assert read(tmp_path / "a.png").pixels.max() == 0
    write(tmp_path / "a.png", np.ones((3, 3), np.uint8), overwrite=True)
    assert read(tmp_path / "a.png").pixels.min() == 1
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.slow
def test_existing_zarr_stays_unless_told_and_other_folders_always(tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="zarr is not installed")
    write(tmp_path / "a.zarr", np.zeros((3, 3), np.uint8))
    with pytest.raises(FileExistsError):
        write(tmp_path / "a.zarr", np.ones((3, 3), np.uint8))
    write(tmp_path / "a.zarr", np.ones((3, 3), np.uint8), overwrite=True)
    assert read(tmp_path / "a.zarr").pixels.min() == 1
    (tmp_path / "b.zarr").mkdir()
    (tmp_path / "b.zarr" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not an image of this format"):
        write(tmp_path / "b.zarr", np.ones((3, 3), np.uint8), overwrite=True)
    (tmp_path / "c.zarr").symlink_to(tmp_path / "a.zarr")
    with pytest.raises(FileExistsError, match="not an image of this format"):
        write(tmp_path / "c.zarr", np.ones((3, 3), np.uint8), overwrite=True)
    with pytest.raises(FileNotFoundError, match="create it first"):
        write(tmp_path / "no" / "a.zarr", np.ones((3, 3), np.uint8))
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.zarr", "c.zarr"]


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_is_whole_or_as_it_was(tmp_path: Path, there: bool) -> None:
    goal = tmp_path / "a.zarr"
    if there:
        goal.mkdir()
        (goal / "mark").write_text("old")

    def fails(folder: Path) -> None:
        folder.mkdir()
        (folder / "mark").write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(goal, fails, overwrite=True, marks=("mark",))
    assert os.listdir(tmp_path) == (["a.zarr"] if there else [])
    assert not there or (goal / "mark").read_text() == "old"


def test_encode_png_is_what_is_written(rng: np.random.Generator) -> None:
    pixels = cases.some(rng, "uint8", (9, 7, 3))
    with Image.open(io.BytesIO(encode_png(pixels))) as picture:
        np.testing.assert_array_equal(np.asarray(picture), pixels)


def test_importing_formats_waits_for_no_optional_library() -> None:
    heavy = "{'tifffile', 'imagecodecs', 'astropy', 'nibabel', 'pydicom', 'rawpy', 'av', 'zarr'}"
    code = f"import epitomes.formats, sys; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# The command line


def test_denoise_carries_metadata_and_pipes(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from epitomes import demo, kernels
    from epitomes.cli.main import main
    from epitomes.model_file import save

    if kernels.isa == "reference":
        pytest.skip("the reference is too slow for whole commands")
    save(tmp_path / "m.epitome", demo.shipped_epitome())
    pixels = demo.shipped_picture()[40:72, 80:112].astype(np.uint16)
    write(tmp_path / "a.ome.tif", Picture(pixels, "YX", {"X": 0.25, "Y": 0.25}, {"X": "um", "Y": "um"}))
    asked = ["--sigma", "10", "--model", str(tmp_path / "m.epitome")]
    assert main(["denoise", str(tmp_path / "a.ome.tif"), "-o", str(tmp_path / "b.ome.tif"), *asked]) == 0
    back = read(tmp_path / "b.ome.tif")
    assert dict(back.spacing) == {"X": 0.25, "Y": 0.25} and back.pixels.dtype == np.uint16
    capfdbinary.readouterr()
    assert main(["denoise", str(tmp_path / "a.ome.tif"), "-o", "-", *asked]) == 0
    out, err = capfdbinary.readouterr()
    (tmp_path / "c.tif").write_bytes(out)
    np.testing.assert_array_equal(read(tmp_path / "c.tif").pixels, back.pixels)
    assert b" -> -: Gaussian, sigma 10, " in err


def test_formats_are_asked_before_the_work() -> None:
    """`require_format` refuses a picture that `write` would refuse, and nothing else."""
    volume, image = Picture(np.zeros((3, 8, 9), np.uint8), "ZYX"), Picture(np.zeros((8, 9), np.uint8))
    for name in ("a.png", "a.jpg"):
        require_format(name)
        require_format(name, image)
        with pytest.raises(ImageFileError, match="cannot write the axes ZYX"):
            require_format(name, volume)
    for name in ("a.tif", "a.npy", "a.zarr", "-"):
        require_format(name, volume)
