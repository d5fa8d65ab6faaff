"""Wrong inputs: each is one clear line, before anything of the size it promises is allocated, and has its exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import format_cases as cases
import numpy as np
import pytest
from format_cases import SMALL, refused, small
from PIL import Image

from epitomes.cli.main import main
from epitomes.formats import ImageFileError, ImageTooLargeError, read, write

# Paths


def test_paths_that_are_no_pictures(tmp_path: Path) -> None:
    for name, words in (
        ("none.png", "there is no file"),
        ("none.zarr", "there is no file"),
    ):
        refused(tmp_path / name, words)
    for name, words in (("a.xyz", r"suffix '.xyz'.*\.png"), ("a", "no suffix"), (".png", "no suffix")):
        (tmp_path / name).write_bytes(b"nothing that is known")
        refused(tmp_path / name, words)
    (tmp_path / "folder.png").mkdir()
    refused(tmp_path / "folder.png", "not a regular file")
    (tmp_path / "file.zarr").write_bytes(b"")
    refused(tmp_path / "file.zarr", "expected a directory.*got a file")
    os.mkfifo(tmp_path / "pipe.png")
    refused(tmp_path / "pipe.png", "not a regular file")


@pytest.mark.parametrize(
    "name", ["http://localhost:9/a.png", "https://a/b.tif", "ftp://a/b.npy", "file:///a.fits", "s3://bucket/a.zarr"]
)
def test_addresses_are_not_opened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def never(*_: object) -> None:
        raise AssertionError("somebody tried to call out")

    monkeypatch.setattr(socket.socket, "connect", never)
    with pytest.raises(ImageFileError, match="is a URL, but only local files"):
        read(name)


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.png", np.zeros((4, 4), np.uint8))

    def denied(self: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)  # whoever runs the tests may be allowed to read everything
    refused(tmp_path / "a.png", "cannot be read: Permission denied")


# Kinds of pixels


@pytest.mark.parametrize(
    ("mode", "name", "words"),
    [
        ("CMYK", "a.jpg", "CMYK.*convert it to RGB first, for example"),
        ("CMYK", "a.tif", "CMYK.*convert it to RGB first, for example"),
        ("LAB", "a.tif", r"L\*a\*b"),
    ],
)
def test_kinds_that_are_not_read(tmp_path: Path, mode: str, name: str, words: str) -> None:
    Image.new(mode, (5, 5)).save(tmp_path / name)
    refused(tmp_path / name, words)


def test_a_colour_that_stands_for_transparent(tmp_path: Path) -> None:
    more = cases.png_chunk(b"tRNS", bytes(6))
    (tmp_path / "a.png").write_bytes(cases.raw_png(8, 2, 4 * (b"\0" + bytes(12)), more=more))
    refused(tmp_path / "a.png", "transparent.*flatten")


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "bool", "object", "longdouble", "<U3", "datetime64[s]"])
def test_values_that_are_no_real_numbers(tmp_path: Path, dtype: str) -> None:
    array = np.zeros((4, 4), np.dtype(dtype))
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=array)
    words = "integers or floats of at most 64 bits|Object arrays"
    refused(tmp_path / "a.npy", words)
    refused(tmp_path / "a.npz", words)
    with pytest.raises(ImageFileError, match="integers or floats"):
        write(tmp_path / "b.npy", array)


def test_complex_tiff_nifti_and_zarr(tmp_path: Path) -> None:
    import tifffile

    array = np.zeros((4, 4), np.complex64)
    tifffile.imwrite(tmp_path / "a.tif", array, photometric="minisblack")
    refused(tmp_path / "a.tif", "complex64")
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), tmp_path / "a.nii")
    refused(tmp_path / "a.nii", "complex64")
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    zarr.create_array(zarr.storage.LocalStore(tmp_path / "a.zarr"), data=array)
    refused(tmp_path / "a.zarr", "complex64")


def test_compression_that_is_not_read(tmp_path: Path) -> None:
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", np.zeros((32, 32), np.uint8), compression="jpegxl")
    refused(tmp_path / "a.tif", "JPEGXL.*Deflate")


# Damage


@pytest.mark.parametrize("suffix", sorted(SMALL))
def test_truncated_and_garbage(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = small(tmp_path, suffix, rng)
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[:20], whole[: len(whole) // 2], rng.bytes(500)):
        path.write_bytes(content)
        refused(path, ".")


@pytest.mark.parametrize("suffix", sorted(SMALL))
def test_flipped_bytes_are_one_error_or_a_picture(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = small(tmp_path, suffix, rng)
    whole = path.read_bytes()
    for _ in range(40):
        broken = bytearray(whole)
        for _ in range(2):
            broken[int(rng.integers(0, min(len(whole), 600)))] = int(rng.integers(0, 256))
        path.write_bytes(bytes(broken))
        try:
            read(path, max_pixels=100_000)
        except ImageFileError as error:
            assert path.name in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("suffix", [".nii.gz", ".fits.gz"])
def test_a_flipped_bit_in_a_packed_file_never_changes_pixels(
    tmp_path: Path, suffix: str, rng: np.random.Generator
) -> None:
    path = small(tmp_path, suffix, rng)
    whole, pixels = path.read_bytes(), read(path).pixels
    for at in range(10, len(whole), 97):
        broken = bytearray(whole)
        broken[at] ^= 0x10
        path.write_bytes(bytes(broken))
        try:
            np.testing.assert_array_equal(read(path).pixels, pixels)
        except ImageFileError:
            continue


def test_npy_is_judged_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for content, words in (
        (cases.raw_npy((8, 8), body=bytes(63)), "cut short"),
        (cases.raw_npy((8, -8), body=bytes(64)), "which no image has"),
        (cases.raw_npy((64,), body=bytes(64)), "needs 2 to 5 axes"),
        (cases.raw_npy((1,) * 6, body=bytes(1)), "needs 2 to 5 axes"),
        (cases.raw_npy((8, 8), "|O", bytes(512)), "holds object"),
        (cases.raw_npy("__import__('os')", body=bytes(64)), "not an NPY file"),
        (b"PK\x03\x04" + bytes(60), "not an NP[YZ] file"),
    ):
        path.write_bytes(content)
        refused(path, words)


def test_npz_with_several_arrays_or_strange_words(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", left=np.zeros((4, 4)), right=np.zeros((4, 4)))
    refused(tmp_path / "a.npz", "left, right.*'pixels'")
    np.savez(tmp_path / "b.npz", pixels=np.zeros((4, 4)), axes="QQ")
    refused(tmp_path / "b.npz", "letters out of TZCYX")
    np.savez(tmp_path / "c.npz", pixels=np.zeros((4, 4)), axes="YX", spacing=np.array([None, 1], object))
    refused(tmp_path / "c.npz", "object")


# Files that lead elsewhere


def test_ome_xml_is_not_followed(tmp_path: Path) -> None:
    """A crafted file names a neighbour: tifffile would read its pixels."""
    import tifffile

    tifffile.imwrite(tmp_path / "secret.tif", np.full((8, 8), 77, np.uint8))
    inner = tmp_path / "in"
    inner.mkdir()
    xml = (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:a">'
        '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="8" SizeY="8" SizeC="1" '
        'SizeZ="2" SizeT="1"><TiffData IFD="0" FirstZ="0" PlaneCount="1"/><TiffData IFD="0" FirstZ="1" PlaneCount="1">'
        '<UUID FileName="../secret.tif">urn:uuid:b</UUID></TiffData></Pixels></Image></OME>'
    )
    tifffile.imwrite(inner / "a.ome.tif", np.zeros((8, 8), np.uint8), description=xml, metadata=None)
    assert (tifffile.imread(inner / "a.ome.tif") == 77).any()  # the file does what it is meant to do
    picture = read(inner / "a.ome.tif")
    assert not picture.pixels.any() and picture.pixels.shape == (8, 8) and "other files" in picture.notes[0]


def test_entities_in_ome_xml_are_refused(tmp_path: Path) -> None:
    import tifffile

    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    xml = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{laughs}]><OME>&l9;</OME>'
    tifffile.imwrite(tmp_path / "a.ome.tif", np.zeros((8, 8), np.uint8), description=xml, metadata=None)
    refused(tmp_path / "a.ome.tif", "entities")


def test_zarr_does_not_lead_out_of_its_folder(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("zarr", reason="zarr is not installed")
    for name in ("a", "b"):
        write(tmp_path / f"{name}.zarr", rng.integers(0, 256, (8, 8), dtype=np.uint8))
    chunk = next(path for path in (tmp_path / "b.zarr" / "0" / "c").rglob("*") if path.is_file())
    secret = tmp_path / "secret"
    chunk.rename(secret)
    chunk.symlink_to(secret)
    refused(tmp_path / "b.zarr", "a symbolic link")
    marks = tmp_path / "a.zarr" / "zarr.json"
    described = json.loads(marks.read_text())
    described["attributes"]["ome"]["multiscales"][0]["datasets"][0]["path"] = "../b.zarr/0"
    marks.write_text(json.dumps(described))
    refused(tmp_path / "a.zarr", "damaged")


@pytest.mark.parametrize(
    "change",
    [
        lambda ome: ome.pop("multiscales"),
        lambda ome: ome.update(multiscales=[]),
        lambda ome: ome.update(multiscales=[{}]),
        lambda ome: ome["multiscales"][0].update(axes="qqqq"),
        lambda ome: ome["multiscales"][0].update(axes=[1, 2]),
        lambda ome: ome["multiscales"][0]["datasets"][0].update(path="no"),
        lambda ome: ome["multiscales"][0]["datasets"][0].update(coordinateTransformations=[3]),
    ],
)
def test_strange_zarr_attributes_are_one_error(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    pytest.importorskip("zarr", reason="zarr is not installed")
    write(tmp_path / "a.zarr", np.zeros((8, 8), np.uint8))
    marks = tmp_path / "a.zarr" / "zarr.json"
    described = json.loads(marks.read_text())
    change(described["attributes"]["ome"])
    marks.write_text(json.dumps(described))
    refused(tmp_path / "a.zarr", "damaged|holds no OME-Zarr image|letters|axes")


@pytest.mark.parametrize(
    "content", ["#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "ffconcat version 1.0\nfile /etc/passwd\n"]
)
def test_lists_of_other_videos_are_no_video(tmp_path: Path, content: str) -> None:
    pytest.importorskip("av", reason="av is not installed")
    (tmp_path / "a.mp4").write_text(content)
    refused(tmp_path / "a.mp4", "not a Matroska, MP4")


def test_deflated_dicom_and_no_patient_in_errors(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    folder = Path(pydicom.__file__).parent / "data" / "test_files"
    if not (folder / "image_dfl.dcm").is_file():
        pytest.skip("this pydicom comes without its test pictures")
    refused(folder / "image_dfl.dcm", "deflated")
    refused(folder / "MR_truncated.dcm", "cannot be decoded")
    data = pydicom.dcmread(folder / "MR_small.dcm")
    data.PatientName = "Somebody^Known"
    data.PixelSpacing = ["1", "2"]
    data.save_as(tmp_path / "a.dcm")
    (tmp_path / "a.dcm").write_bytes((tmp_path / "a.dcm").read_bytes()[:-300])
    with pytest.raises(ImageFileError) as caught:
        read(tmp_path / "a.dcm")
    assert "Somebody" not in str(caught.value)


def test_raw_that_is_none(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("rawpy", reason="rawpy is not installed")
    (tmp_path / "a.dng").write_bytes(rng.bytes(5000))
    refused(tmp_path / "a.dng", "damaged")
    (tmp_path / "b.dng").write_bytes(cases.dng(rng.integers(0, 9, (64, 64), dtype=np.uint16)))
    refused(tmp_path / "b.dng", "above the limit", ImageTooLargeError, max_pixels=4095)


# The command line


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("none.png", None, 3, "there is no file"),
        ("folder.png", "folder", 3, "expected images in this directory"),
        ("a.xyz", b"x", 3, "suffix"),
        ("a.png", b"not a picture", 3, "not a PNG"),
        ("a.npy", cases.raw_npy((8, 8), "<c8", bytes(512)), 3, "complex64"),
        ("a.npy", cases.raw_npy((2**20, 2**20)), 4, "--max-pixels"),
        ("huge.png", cases.raw_png(8, 0, b"", (2**30, 2**30)), 4, "--max-pixels"),
        ("a.npy", cases.raw_npy((8, 8), body=bytes(60)), 3, "cut short"),
    ],
)
def test_exit_codes(
    tmp_path: Path, name: str, content: bytes | str | None, code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.mkdir()
    assert main(["denoise", str(path), "-o", str(tmp_path / "out.png"), "--sigma", "10"]) == code
    out, err = capfd.readouterr()
    assert out == "" and words in err and not (tmp_path / "out.png").exists()
    error, *hint = err.splitlines()
    assert error.startswith("error: ") and len(hint) == (code == 4) and all("--max-pixels" in line for line in hint)


@pytest.mark.parametrize(("mode", "name", "words"), [("LAB", "a.tif", "L*a*b"), ("CMYK", "a.jpg", "CMYK")])
def test_exit_codes_of_kinds(
    tmp_path: Path, mode: str, name: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Image.new(mode, (20, 20)).save(tmp_path / name)
    assert main(["denoise", str(tmp_path / name), "-o", str(tmp_path / "out.png"), "--sigma", "10"]) == 3
    err = capfd.readouterr().err
    assert words in err and len(err.splitlines()) == 1
