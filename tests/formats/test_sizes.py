"""Sizes are judged before anything is unpacked: huge headers, bombs, and the limit of the caller."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import format_cases as cases
import numpy as np
import pytest
from format_cases import SMALL, refused, small
from PIL import Image

from epitomes.formats import ImageTooLargeError, read


def huge_png() -> bytes:
    return cases.raw_png(8, 0, b"", (30_000, 30_000))  # nothing behind the header


def huge_png16() -> bytes:
    return cases.raw_png(16, 2, b"", (2**31 - 1, 2**31 - 1))


def huge_jpeg() -> bytes:
    content = io.BytesIO()
    Image.new("L", (8, 8)).save(content, "JPEG")
    raw = bytearray(content.getvalue())
    at = raw.index(b"\xff\xc0")
    raw[at + 5 : at + 9] = struct.pack(">HH", 12_000, 12_000)
    return bytes(raw)


def huge_tiff(tile: bool = False) -> bytes:
    import tifffile

    content = io.BytesIO()
    tifffile.imwrite(content, np.zeros((32, 32), np.uint8), metadata=None, tile=(16, 16) if tile else None)
    content.seek(0)
    with tifffile.TiffFile(content, mode="r+b") as tiff:
        for code in (322, 323) if tile else (256, 257):
            tiff.pages[0].tags[code].overwrite(2**20)
    return content.getvalue()


def huge_npz() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pixels.npy", cases.raw_npy((2**20, 2**20)))
    return content.getvalue()


def huge_fits() -> bytes:
    cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    2"]
    cards += ["NAXIS1  =              1000000", "NAXIS2  =              1000000", "END"]
    return "".join(card.ljust(80) for card in cards).ljust(2880).encode()


def huge_fits_table() -> bytes:
    """An image after a table of a petabyte."""
    first = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "END",
    ]
    table = ["XTENSION= 'BINTABLE'", "BITPIX  =                    8", "NAXIS   =                    2"]
    table += ["NAXIS1  =             30000000", "NAXIS2  =             30000000", "PCOUNT  =                    0"]
    table += ["GCOUNT  =                    1", "TFIELDS =                    0", "END"]
    return b"".join("".join(card.ljust(80) for card in each).ljust(2880).encode() for each in (first, table))


def huge_nifti() -> bytes:
    nibabel = pytest.importorskip("nibabel", reason="nibabel is not installed")
    header = nibabel.Nifti1Header()
    header.set_data_shape((30_000, 30_000, 30_000))
    header.set_data_dtype(np.float64)
    header["magic"], header["vox_offset"] = b"n+1", 352
    return bytes(header.binaryblock) + bytes(4)


def huge_dicom() -> bytes:
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    source = Path(pydicom.__file__).parent / "data" / "test_files" / "MR_small.dcm"
    if not source.is_file():
        pytest.skip("this pydicom comes without its test pictures")
    data = pydicom.dcmread(source)
    data.Rows = data.Columns = 65_000
    content = io.BytesIO()
    data.save_as(content)
    return content.getvalue()


HUGE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "png": (".png", huge_png),
    "png 16 bits": (".png", huge_png16),
    "jpeg": (".jpg", huge_jpeg),
    "tiff": (".tif", huge_tiff),
    "tiff tile": (".tif", lambda: huge_tiff(tile=True)),
    "npy": (".npy", lambda: cases.raw_npy((2**20, 2**20))),
    "npz": (".npz", huge_npz),
    "fits": (".fits", huge_fits),
    "fits.gz": (".fits.gz", lambda: gzip.compress(huge_fits())),
    "fits table": (".fits", huge_fits_table),
    "nifti": (".nii", huge_nifti),
    "nifti.gz": (".nii.gz", lambda: gzip.compress(huge_nifti())),
    "dicom": (".dcm", huge_dicom),
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_headers_are_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    suffix, made = HUGE[name]
    cases.need(suffix)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(made())
    tracemalloc.start()
    try:
        refused(path, "above the limit", ImageTooLargeError)
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()


def test_huge_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    for name, shape, chunks in (("a", (10**6, 10**6), (64, 64)), ("b", (8, 8), (10**5, 10**5))):
        zarr.create_array(
            zarr.storage.LocalStore(tmp_path / f"{name}.zarr"), shape=shape, chunks=chunks, dtype=np.uint8
        )
        refused(tmp_path / f"{name}.zarr", "above the limit", ImageTooLargeError)


@pytest.mark.parametrize("suffix", sorted(SMALL))
def test_the_limit_is_the_callers(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = small(tmp_path, suffix, rng)
    values = read(path).pixels.size
    assert read(path, max_pixels=values).pixels.size == values
    refused(path, "above the limit", ImageTooLargeError, max_pixels=values - 1)


def test_bombs_stay_small(tmp_path: Path) -> None:
    """Headers promise little, the compressed data behind them are large: no more is unpacked than was promised."""
    import tifffile

    packer = zlib.compressobj(9)
    zeros = b"".join(packer.compress(bytes(2**20)) for _ in range(128)) + packer.flush()
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(iter([zeros]), shape=(10, 10), dtype="uint8", compression="zlib", rowsperstrip=10, metadata=None)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pixels.npy", cases.raw_npy((10, 10), body=bytes(2**27)))
    sound = bytearray(huge_nifti())
    sound[40:48] = struct.pack("<4h", 2, 10, 10, 1)
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(bytes(sound) + bytes(2**27), 1))
    tracemalloc.start()
    try:
        refused(tmp_path / "a.tif", "damaged")
        for name in ("a.npz", "a.nii.gz"):
            assert read(tmp_path / name).pixels.shape == (10, 10)
        assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    finally:
        tracemalloc.stop()
