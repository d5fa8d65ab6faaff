"""Pictures, files made by hand, and the libraries that optional formats need, for the tests of formats."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from epitomes.formats import ImageFileError, Picture, read, write

LIBRARIES = {
    ".zarr": "zarr",
    ".fits": "astropy",
    ".fits.gz": "astropy",
    ".nii": "nibabel",
    ".nii.gz": "nibabel",
    ".dcm": "pydicom",
    ".dng": "rawpy",
    ".mkv": "av",
    ".mp4": "av",
}
SHAPES = {
    "YX": (9, 7),
    "YXC": (9, 7, 3),
    "ZYX": (4, 9, 7),
    "TYX": (5, 9, 7),
    "CYX": (2, 9, 7),
    "TZYX": (2, 3, 9, 7),
    "CZYX": (2, 3, 9, 7),
    "ZYXC": (4, 9, 7, 3),
    "TYXC": (2, 9, 7, 3),
    "TCZYX": (2, 2, 3, 9, 7),
    "CTZYX": (2, 2, 3, 9, 7),
    "TZYXC": (2, 2, 9, 7, 3),
}
STEPS = {"T": 0.5, "Z": 2.5, "Y": 0.25, "X": 0.125}
UNITS = {"T": "s", "Z": "mm", "Y": "mm", "X": "mm"}


def need(suffix: str) -> None:
    """Skip, and say why, where the library of a format is not installed."""
    if (module := LIBRARIES.get(suffix)) is not None:
        pytest.importorskip(module, reason=f"{module} is not installed: {suffix} is not tested")


def some(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Random pixels over all of the range of the dtype."""
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(shape) * 1e3).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def changed(picture: Picture) -> Picture:
    """Other pixels of the same kind, as if something had been done to them."""
    return picture.replace(picture.pixels[..., ::-1].copy() if picture.axes.endswith("X") else picture.pixels[::-1])


def png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(depth: int, colour: int, body: bytes, size: tuple[int, int] = (4, 4), more: bytes = b"") -> bytes:
    """A PNG file made by hand from the specification, so that the reader is not judged by its own writer."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + more + png_chunk(b"IDAT", zlib.compress(body)) + png_chunk(b"IEND", b"")


def raw_npy(shape: object, descr: str = "|u1", body: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def raw_tiff(bits: int, samples: int, kind: int, data: bytes) -> bytes:
    """A little-endian TIFF of 4 x 4 pixels, by hand; `kind`: 1 unsigned, 2 signed, 3 float."""
    tags = [(256, 4), (257, 4), (258, bits), (259, 1), (262, 2 if samples == 3 else 1), (273, 8), (277, samples)]
    tags += [(278, 4), (279, len(data)), (339, kind)]
    shared = 8 + len(data)  # three numbers of 258 do not fit in the tag itself
    entries = b""
    for tag, value in tags:
        many = samples if tag in (258, 339) else 1
        place = struct.pack("<I", shared if tag == 258 else shared + 6) if many == 3 else struct.pack("<HH", value, 0)
        entries += struct.pack("<HHI", tag, 3, many) + place
    tail = struct.pack("<6H", *[bits] * 3, *[kind] * 3)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    return struct.pack("<2sHI", b"II", 42, shared + len(tail)) + data + tail + directory


def dng(mosaic: NDArray[np.uint16], *, black: int = 256, white: int = 16383) -> bytes:
    """A camera's raw file with an RGGB sensor."""
    import tifffile

    one, identity = (1, 1), (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1)
    tags = [
        (33421, "H", 2, (2, 2)),  # size of the cell
        (33422, "B", 4, bytes([0, 1, 1, 2])),  # its colours
        (50706, "B", 4, bytes([1, 4, 0, 0])),  # version of DNG
        (50707, "B", 4, bytes([1, 1, 0, 0])),
        (50708, "s", 0, "Test camera"),
        (50713, "H", 2, one),
        (50714, "H", 1, black),
        (50717, "H", 1, white),
        (50721, "2i", 9, identity),  # colour matrix
        (50728, "2I", 3, (1, 2, 1, 1, 2, 3)),  # white of the scene
        (50778, "H", 1, 21),
    ]
    content = io.BytesIO()
    with tifffile.TiffWriter(content) as writer:
        writer.write(mosaic, photometric=32803, metadata=None, extratags=tags, subfiletype=0)
    return content.getvalue()


def dicom(pixels: NDArray[Any], **tags: Any) -> bytes:
    """A CT image of somebody, made by pydicom; `tags` by keyword."""
    pydicom = pytest.importorskip("pydicom", reason="pydicom is not installed")
    data = pydicom.Dataset()
    data.file_meta = pydicom.dataset.FileMetaDataset()
    data.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    data.SOPClassUID = pydicom.uid.CTImageStorage
    data.SOPInstanceUID, data.SeriesInstanceUID = "1.2.3.4", "1.2.3"
    data.PatientName, data.Modality, data.ImageType = "Somebody^Known", "CT", ["ORIGINAL", "PRIMARY", "AXIAL"]
    data.Rows, data.Columns = pixels.shape[-2:]
    data.NumberOfFrames = int(np.prod(pixels.shape[:-2]))
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated = data.BitsStored = 8 * pixels.dtype.itemsize
    data.HighBit, data.PixelRepresentation = data.BitsStored - 1, int(pixels.dtype.kind == "i")
    data.PixelData = pixels.tobytes()
    for name, value in tags.items():
        setattr(data, name, value)
    content = io.BytesIO()
    pydicom.dcmwrite(content, data, enforce_file_format=True)
    return content.getvalue()


SMALL = {".png": "YXC", ".jpg": "YXC", ".tif": "YXC", ".ome.tif": "ZYX", ".npy": "YX", ".npz": "ZYX", ".btf": "YX"}
SMALL |= {".webp": "YXC", ".bmp": "YX", ".pgm": "YXC", ".jp2": "YX", ".mrc": "ZYX"}
SMALL |= {".fits": "ZYX", ".fits.gz": "ZYX", ".nii": "ZYX", ".nii.gz": "TZYX", ".mkv": "TYXC"}


def small(folder: Path, suffix: str, rng: np.random.Generator) -> Path:
    """A sound file of each format."""
    need(suffix)
    path = folder / f"a{suffix}"
    axes = SMALL[suffix]
    shape = tuple(3 if letter in "TZC" else 24 for letter in axes)
    pixels = rng.integers(0, 256, shape, dtype=np.uint16 if suffix == ".mrc" else np.uint8)
    write(path, Picture(pixels, axes, STEPS, UNITS))
    return path


def refused(path: Path, words: str, kind: type[ImageFileError] = ImageFileError, **more: Any) -> None:
    with pytest.raises(kind, match=words) as caught:
        read(path, **more)
    assert path.name in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 500
