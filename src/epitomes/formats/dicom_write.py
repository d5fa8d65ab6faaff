"""DICOM, written with pydicom: the data set of the source file with other pixels, as a derived image.

The result has an identifier of its own, refers to its source, and is stored without compression. Everything else is
kept. A picture from another format has no patient and no study, so it is not written as DICOM.
"""

from __future__ import annotations

import copy
import hashlib
import uuid
from io import BytesIO
from typing import Any

import numpy as np

from epitomes.formats.dicom import DicomInfo
from epitomes.formats.errors import ImageFileError, cannot_hold, library
from epitomes.formats.picture import Picture, Pixels

_LITTLE_ENDIAN = "1.2.840.10008.1.2.1"
_FLOATS = {"float32": "FloatPixelData", "float64": "DoubleFloatPixelData"}
_MOST_WORDS = 1024  # signs of a description


def write_dicom(picture: Picture) -> bytes:
    """Encode as a derived image of the source file. Values outside of the bits that it stores are clipped."""
    pydicom = library("pydicom", extra="dicom", what="DICOM")
    info = picture.metadata
    if not isinstance(info, DicomInfo) or info.shape != picture.pixels.shape:
        raise ImageFileError("DICOM needs the header of a DICOM image of the same size: use the suffix .nii or .tif")
    if picture.pixels.dtype.name != info.dtype:
        raise cannot_hold(f"{picture.pixels.dtype} values", "this DICOM file", info.dtype, ".tif")
    if int(info.data.BitsAllocated) < 8:
        raise cannot_hold("a denoised image", "this DICOM file", "single bits", ".tif")
    try:
        data = copy.deepcopy(info.data)
        for _ in data.iterall():  # decodes all values, which may be written in another byte order
            pass
        _set_pixels(pydicom, data, _clipped(picture.pixels, data))
        _derive(pydicom, data, picture)
        content = BytesIO()
        pydicom.dcmwrite(content, data, implicit_vr=False, little_endian=True, enforce_file_format=True)
    except Exception as error:  # whose words may quote the file
        found = f"its header cannot be written again ({type(error).__name__})"
        raise ImageFileError(f"{found}: use the suffix .nii or .tif") from None
    return content.getvalue()


def lost_by_dicom(picture: Picture) -> tuple[str, ...]:
    """Say how many values the bits of the source file cannot hold."""
    info = picture.metadata
    if not isinstance(info, DicomInfo) or picture.pixels.dtype.name != info.dtype:
        return ()
    changed = int(np.count_nonzero(_clipped(picture.pixels, info.data) != picture.pixels)) if info.bits else 0
    return (f"{changed} values were clipped, because the file stores {info.bits} bits",) if changed else ()


def _clipped(pixels: Pixels, data: Any) -> Pixels:
    if pixels.dtype.kind == "f":
        return pixels
    bits, signed = int(data.BitsStored), pixels.dtype.kind == "i"
    return pixels.clip(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)


def _set_pixels(pydicom: Any, data: Any, pixels: Pixels) -> None:
    if pixels.dtype.name in _FLOATS:
        setattr(data, _FLOATS[pixels.dtype.name], pixels.astype(pixels.dtype.newbyteorder("<")).tobytes())
        return
    stored = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    kind = "OB" if pixels.dtype.itemsize == 1 else "OW"
    data[0x7FE00010] = pydicom.DataElement(0x7FE00010, kind, stored + b"\0" * (len(stored) % 2))
    data.BitsAllocated = 8 * pixels.dtype.itemsize
    data.HighBit = data.BitsStored - 1
    if int(data.get("SamplesPerPixel") or 1) == 3:
        data.PhotometricInterpretation, data.PlanarConfiguration = "RGB", 0
    for name, value in (("SmallestImagePixelValue", pixels.min()), ("LargestImagePixelValue", pixels.max())):
        if name in data:
            data[name] = pydicom.DataElement(data[name].tag, "SS" if pixels.dtype.kind == "i" else "US", int(value))


def _derive(pydicom: Any, data: Any, picture: Picture) -> None:
    """Make it an image of its own. Its identifier follows from source, history and pixels, as its bytes do."""
    source = pydicom.Dataset()
    source.ReferencedSOPClassUID, source.ReferencedSOPInstanceUID = data.SOPClassUID, data.SOPInstanceUID
    words = "\0".join([str(data.SOPInstanceUID), *picture.history])
    digest = hashlib.sha256(words.encode() + np.ascontiguousarray(picture.pixels).tobytes()).digest()
    data.SOPInstanceUID = f"2.25.{uuid.UUID(bytes=digest[:16], version=5).int}"
    data.SourceImageSequence = [*data.get("SourceImageSequence", ()), source]
    data.ImageType = ["DERIVED", *(list(data.get("ImageType") or ()) or ["", "PRIMARY"])[1:]]
    if picture.history:
        data.DerivationDescription = "; ".join(picture.history).encode("ascii", "replace").decode()[:_MOST_WORDS]
    data.file_meta.TransferSyntaxUID = pydicom.uid.UID(_LITTLE_ENDIAN)
    data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID
    data.preamble = bytes(128)  # another file may have started there
