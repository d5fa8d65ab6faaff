"""JPEG: grey and RGB, read as decoded, written with little loss."""

from __future__ import annotations

from io import BytesIO
from typing import BinaryIO

import numpy as np
from PIL import Image, UnidentifiedImageError

from epitomes.formats.errors import ImageFileError, ImageTooLargeError, require_size
from epitomes.formats.photo import UPRIGHT, PhotoInfo, dpi_of, exif_of, require_kind, turned
from epitomes.formats.picture import Picture

_NOT_READ = {"CMYK": "colours for print (CMYK)", "YCCK": "colours for print (YCCK)"}


def read_jpeg(file: BinaryIO, most: int) -> Picture:
    """Grey or RGB, 8 bits, turned upright."""
    try:
        with Image.open(file, formats=("JPEG",)) as picture:
            require_size((picture.height, picture.width, len(picture.getbands())), most)
            if picture.mode not in ("L", "RGB"):
                kind = _NOT_READ.get(picture.mode, f"pixels of the kind {picture.mode!r}")
                raise ImageFileError(f"it is stored as {kind}, which is not read: save it as grey or RGB")
            exif, orientation = exif_of(picture)
            info = PhotoInfo(exif, picture.info.get("icc_profile") or b"", dpi_of(picture.info.get("dpi")))
            pixels = turned(np.array(picture), orientation)
    except UnidentifiedImageError as error:
        raise ImageFileError("this is not a JPEG picture that can be read, whatever its suffix says") from error
    except Image.DecompressionBombError as error:
        raise ImageTooLargeError(f"Pillow refuses pictures of this size ({error}): save it as .tif") from error
    notes = () if orientation == 1 else (UPRIGHT,)
    return Picture(pixels, "YXC" if pixels.ndim == 3 else "YX", metadata=info, notes=notes)


def write_jpeg(picture: Picture) -> bytes:
    """The file, at a quality of 95 with colours at full size: little loss, none of it by halving colours."""
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
