"""DICOM, read with pydicom: pixels, spacing, and the data set for a derived image (`dicom_write.py`).

The errors of pydicom quote the file, which may name a patient, so they are not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

from epitomes.formats._limits import require_size
from epitomes.formats.dicom_pixels import decoded
from epitomes.formats.errors import ImageFileError, library, unsupported
from epitomes.formats.picture import Picture, Pixels, scale_note

MAGIC, MAGIC_AT = b"DICM", 128

_DEFLATED = "1.2.840.10008.1.2.1.99"
_PIXEL_DATA = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
_OFFSETS = ("ExtendedOffsetTable", "ExtendedOffsetTableLengths")  # of compressed frames


@dataclass(frozen=True, eq=False)
class DicomInfo:
    """Metadata that passes from DICOM to DICOM."""

    title: ClassVar[str] = "the DICOM header"

    data: Any = field(repr=False)  # the data set of pydicom, without pixels: it may name a patient
    shape: tuple[int, ...]
    dtype: str
    bits: int  # that are stored


def is_dicom(head: bytes) -> bool:
    """Return whether a file starts so; its preamble may be that of a TIFF file."""
    return head[MAGIC_AT : MAGIC_AT + 4] == MAGIC


def read_dicom(file: BinaryIO, most: int) -> Picture:
    """Read one image, or the frames of one file: along T if the file gives their times, otherwise along Z."""
    pydicom = library("pydicom", extra="dicom", what="DICOM")
    try:
        if _transfer_syntax(pydicom, file) == _DEFLATED:  # pydicom would decompress all of it, whatever its size
            raise unsupported("one deflated stream", "save it with compressed or uncompressed pixels")
        file.seek(0)
        data = pydicom.dcmread(file)
        if not any(name in data for name in _PIXEL_DATA):
            raise ImageFileError("this DICOM file holds no pixels: choose another file")
        if str(data.get("PhotometricInterpretation", "")) == "PALETTE COLOR":
            raise unsupported("a colour palette")
        frames, samples = int(data.get("NumberOfFrames") or 1), int(data.get("SamplesPerPixel") or 1)
        require_size((frames, int(data.Rows), int(data.Columns), samples), most)
    except ImageFileError:
        raise
    except Exception as error:
        found = f"this is not a DICOM file, or it is damaged ({type(error).__name__})"
        raise ImageFileError(f"{found}: get another copy") from None
    pixels = decoded(pydicom, data, frames)
    for name in (*_PIXEL_DATA, *_OFFSETS):
        if name in data:
            del data[name]
    return _described(pixels, data, samples)


def _transfer_syntax(pydicom: Any, file: BinaryIO) -> str:
    """Read the transfer syntax from the first group of the file."""
    reader = pydicom.filereader
    reader.read_preamble(file, force=False)
    meta = reader.read_dataset(file, False, True, stop_when=lambda tag, *_: tag >> 16 != 2)
    return str(meta.get("TransferSyntaxUID", ""))


def _described(pixels: Pixels, data: Any, samples: int) -> Picture:
    timed = any(data.get(name) for name in ("FrameTime", "FrameTimeVector", "CineRate", "RecommendedDisplayFrameRate"))
    several = pixels.ndim == 2 + (samples > 1) + 1
    axes = ("T" if timed else "Z") * several + "YX" + "C" * (samples > 1)
    spacing, units = _spacing(data, timed)
    slope, intercept = _number(data, "RescaleSlope", 1.0), _number(data, "RescaleIntercept", 0.0)
    notes = [] if (slope, intercept) == (1.0, 0.0) else [scale_note(slope, intercept)]
    if str(data.get("PhotometricInterpretation", "")) == "MONOCHROME1":
        notes.append("small values are bright (MONOCHROME1); they are read as stored")
    info = DicomInfo(data, pixels.shape, pixels.dtype.name, int(data.get("BitsStored") or 0))
    return Picture(pixels, axes, spacing, units, metadata=info, notes=tuple(notes))


def _spacing(data: Any, timed: bool) -> tuple[dict[str, float], dict[str, str]]:
    rows = data.get("PixelSpacing") or data.get("ImagerPixelSpacing") or ()
    found = dict(zip("YX", (float(each) for each in rows), strict=False))
    if timed:
        if (every := _number(data, "FrameTime", 0.0)) > 0:
            found["T"] = every  # milliseconds
    else:
        found["Z"] = _number(data, "SpacingBetweenSlices", 0.0) or _number(data, "SliceThickness", 0.0)
    known = {letter: step for letter, step in found.items() if 0 < step < float("inf")}
    return known, {letter: "ms" if letter == "T" else "mm" for letter in known}


def _number(data: Any, name: str, default: float) -> float:
    try:
        return float(data.get(name, default))
    except (TypeError, ValueError):
        return default
