"""Pixels of DICOM files: by pydicom and, for the kinds of JPEG that it cannot decode alone, by imagecodecs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from epitomes.formats.errors import ImageFileError, library
from epitomes.formats.picture import Pixels

_CODECS = {  # transfer syntax -> name in imagecodecs
    "1.2.840.10008.1.2.4.50": "jpeg8",  # baseline
    "1.2.840.10008.1.2.4.51": "jpeg8",  # extended, 12 bits
    "1.2.840.10008.1.2.4.57": "jpegsof3",  # lossless
    "1.2.840.10008.1.2.4.70": "jpegsof3",
    "1.2.840.10008.1.2.4.80": "jpegls",
    "1.2.840.10008.1.2.4.81": "jpegls",
    "1.2.840.10008.1.2.4.90": "jpeg2k",
    "1.2.840.10008.1.2.4.91": "jpeg2k",
}


def decoded(pydicom: Any, data: Any, frames: int) -> Pixels:
    """Return all frames, colours as RGB. The errors of the decoders quote the file, so they are not repeated."""
    syntax = data.file_meta.TransferSyntaxUID
    name = _CODECS.get(str(syntax))
    try:
        try:
            return np.asarray(pydicom.pixels.pixel_array(data))
        except Exception:
            if name is None:
                raise
            codecs = library("imagecodecs", extra=None, what=str(syntax.name))
            return _frames(pydicom, data, frames, getattr(codecs, f"{name}_decode"))
    except Exception as error:
        raise ImageFileError(
            f"its pixels cannot be decoded ({type(error).__name__}; stored as {syntax.name}): "
            "get another copy, or save it without compression"
        ) from None


def _frames(pydicom: Any, data: Any, frames: int, decode: Callable[[bytes], Pixels]) -> Pixels:
    parts = pydicom.encaps.generate_frames(data.PixelData, number_of_frames=frames)
    shape = (int(data.Rows), int(data.Columns))
    stack = [_signed(np.asarray(decode(part)), data) for part in parts]
    if len(stack) != frames or any(each.shape[:2] != shape for each in stack):
        raise ValueError("frames are missing, or have another size")
    pixels = np.stack(stack) if frames > 1 else stack[0]
    if str(data.PhotometricInterpretation).startswith("YBR_FULL"):
        return np.asarray(pydicom.pixels.convert_color_space(pixels, "YBR_FULL", "RGB"))
    return pixels


def _signed(pixels: Pixels, data: Any) -> Pixels:
    """Give values the type that the header tells: codecs know how many bits there are, but not always their sign."""
    bits = int(data.BitsAllocated)
    if not data.PixelRepresentation or pixels.dtype.kind == "i":
        return pixels.astype(f"{pixels.dtype.kind}{bits // 8}")
    unused = bits - int(data.BitsStored)
    return (pixels.astype(f"u{bits // 8}") << unused).view(f"i{bits // 8}") >> unused
