"""JPEG: grey and RGB, read as decoded, written with little loss.

Pillow's file class is used instead of `Image.open`, whose size limit warns or raises below ours.
"""

from __future__ import annotations

from io import BytesIO
from typing import BinaryIO

import numpy as np
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, unsupported
from epitomes.formats.photo import UPRIGHT, PhotoInfo, dpi_of, exif_of, require_kind, turned
from epitomes.formats.picture import Picture

_NOT_READ = {"CMYK": "CMYK colours", "YCCK": "YCCK colours"}


def read_jpeg(file: BinaryIO, most: int) -> Picture:
    """Read grey or RGB, 8 bits, turned upright."""
    try:
        opened = JpegImageFile(file)
    except SyntaxError as error:
        raise ImageFileError("this is not a JPEG image: correct its suffix, or get another copy") from error
    with opened as picture:
        require_size((picture.height, picture.width, len(picture.getbands())), most)
        if picture.mode not in ("L", "RGB"):
            raise unsupported(_NOT_READ.get(picture.mode, f"pixels of mode {picture.mode!r}"))
        exif, orientation = exif_of(picture)
        info = PhotoInfo(exif, picture.info.get("icc_profile") or b"", dpi_of(picture.info.get("dpi")))
        pixels = turned(np.array(picture), orientation)
    notes = () if orientation == 1 else (UPRIGHT,)
    return Picture(pixels, "YXC" if pixels.ndim == 3 else "YX", metadata=info, notes=notes)


def write_jpeg(picture: Picture) -> bytes:
    """Encode with quality 95 and without chroma subsampling."""
    require_kind("JPEG", picture.pixels, picture.axes, ("uint8",))
    info = picture.metadata if isinstance(picture.metadata, PhotoInfo) else PhotoInfo()
    content = BytesIO()
    Image.fromarray(picture.pixels).save(
        content,
        "JPEG",
        quality=95,
        subsampling=0,
        exif=b"Exif\x00\x00" + info.exif if info.exif else b"",
        icc_profile=info.icc or None,
        dpi=(0, 0) if info.dpi is None else info.dpi,
    )
    return content.getvalue()
