"""Size limits: the default follows the memory, headers are checked first, and bombs stay small."""

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

from epitomes.formats import ImageTooLargeError, _limits, default_max_pixels, read

# The default


def system(root: Path, cgroup: str, files: dict[str, str]) -> Path:
    """A directory that looks like / of a Linux system."""
    for name, content in {"proc/self/cgroup": cgroup, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("", {}, 8 * 2**30),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "max\n"}, 8 * 2**30),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "1073741824\n"}, 2**30),
        ("0::/a/b\n", {"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "4096\n"}, 4096),
        ("5:cpu:/\n4:memory:/docker/1\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "2048\n"}, 2048),
        ("4:memory:/d\n", {"sys/fs/cgroup/memory/d/memory.limit_in_bytes": "9223372036854771712\n"}, 8 * 2**30),
        ("5:cpu:/d\n", {"sys/fs/cgroup/memory/d/memory.limit_in_bytes": "1024\n"}, 8 * 2**30),
        ("nonsense\n:\n", {"sys/fs/cgroup/memory.max": "many\n"}, 8 * 2**30),
    ],
)
def test_memory_is_the_lowest_limit(
    tmp_path: Path, cgroup: str, files: dict[str, str], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_limits, "_physical_memory", lambda: 8 * 2**30)
    assert _limits.total_memory(system(tmp_path, cgroup, files)) == expected


def test_the_memory_of_this_machine() -> None:
    memory = _limits.total_memory()
    assert memory is not None and 2**26 < memory < 2**60
    assert default_max_pixels() == max(2**27, memory // 32)


@pytest.mark.parametrize(("memory", "expected"), [(None, 2**28), (8 * 2**30, 2**28), (2**30, 2**27), (0, 2**27)])
def test_the_default_is_a_quarter_of_the_memory(
    memory: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_limits, "total_memory", lambda: memory)
    assert default_max_pixels() == expected


def test_a_system_that_does_not_tell_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(f"unrecognized configuration name {name}")

    monkeypatch.setattr(_limits.os, "sysconf", unknown)
    assert _limits.total_memory(tmp_path) is None
    monkeypatch.setattr(_limits.os, "sysconf", lambda name: -1)
    assert _limits.total_memory(tmp_path) is None


def test_24_megapixels_in_colour_are_read_on_any_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4000, 6000, 3), np.uint8))
    for memory in (8 * 10**9, 10**9):
        monkeypatch.setattr(_limits, "total_memory", lambda memory=memory: memory)
        assert read(tmp_path / "a.npy").pixels.shape == (4000, 6000, 3)
    with pytest.raises(ImageTooLargeError, match="above the limit of 67108864: crop it, or raise max_pixels") as caught:
        read(tmp_path / "a.npy", max_pixels=2**26)
    assert caught.value.needed == 4000 * 6000 * 3


def test_a_limit_must_be_a_whole_number() -> None:
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="max_pixels must be at least 1"):
            read("a.png", max_pixels=wrong)
    with pytest.raises(TypeError, match="max_pixels must be a whole number"):
        read("a.png", max_pixels=1e6)  # type: ignore[arg-type]


# Headers and bombs


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
        refused(path, "above the limit", ImageTooLargeError, max_pixels=2**26)
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


@pytest.mark.slow
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


SHORT: dict[str, tuple[str, Callable[[], bytes]]] = {  # their headers announce 400 MB, and nothing follows
    "npy": (".npy", lambda: cases.raw_npy((10_000, 5_000), "<f8")),
    "fits": (".fits", lambda: huge_fits().replace(b"1000000", b"  10000").replace(b"  16", b" -64")),
    "fits.gz": (".fits.gz", lambda: gzip.compress(SHORT["fits"][1]())),
    "nifti": (".nii", lambda: huge_nifti()[:40] + struct.pack("<4h", 3, 500, 500, 200) + huge_nifti()[48:]),
    "nifti.gz": (".nii.gz", lambda: gzip.compress(SHORT["nifti"][1]())),
}


@pytest.mark.parametrize("name", SHORT)
def test_files_without_the_data_they_announce_stay_small(tmp_path: Path, name: str) -> None:
    """Below the limit, too, memory grows with the bytes that are there."""
    suffix, made = SHORT[name]
    cases.need(suffix)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(made())
    read_once = path.with_name(f"b{suffix}")
    read_once.write_bytes(b"")
    refused(read_once, ".")  # imports the library
    tracemalloc.start()
    try:
        refused(path, "cut short", max_pixels=10**9)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
