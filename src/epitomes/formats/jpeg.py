"""JPEG: grey and RGB, read as decoded, written not coarser than it was read.

Pillow's file class is used instead of `Image.open`, whose size limit warns or raises below ours.
"""

from __future__ import annotations

import re
import struct
from functools import cache
from io import BytesIO
from typing import BinaryIO

import numpy as np
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile, get_sampling

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError
from epitomes.formats.photo import UPRIGHT, PhotoInfo, dpi_of, exif_of, plain, require_kind, require_side, turned
from epitomes.formats.picture import Picture

MAGIC = b"\xff\xd8\xff"

_EXIF, _XMP = b"Exif\x00\x00", b"http://ns.adobe.com/xap/1.0/\x00"
_REPLACED = (  # segments that the encoder writes itself, or that point to bytes of the old file
    (0xE0, b""),  # JFIF and its thumbnail
    (0xE1, _EXIF),
    (0xE1, _XMP),
    (0xE2, b"ICC_PROFILE\x00"),
    (0xE2, b"MPF\x00"),  # places of further images
    (0xEE, b"Adobe"),  # colour space
)
_ORIENTATION = re.compile(rb'(tiff:Orientation(?:\s*=\s*["\']|>))[2-8]')  # in XMP
_QUALITY = 95  # at least: a coarse source need not make the result as coarse
_SIDE = 8  # of a block
_LONGEST = 65_500  # pixels along a side
_FINEST, _COARSEST = 1, 255  # of a step of quantisation in a baseline file
_SIDEWAYS = 5  # orientations from here on exchange rows and columns


def is_jpeg(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head.startswith(MAGIC)


def read_jpeg(file: BinaryIO, most: int) -> Picture:
    """Read grey or RGB, 8 bits, turned upright."""
    try:
        opened = JpegImageFile(file)
    except SyntaxError as error:
        raise ImageFileError("this is not a JPEG image: correct its suffix, or get another copy") from error
    with opened as picture:
        require_size((picture.height, picture.width, len(picture.getbands())), most)
        exif, orientation = exif_of(picture)
        pixels, _, notes = plain(picture)
        xmp = next((data for code, data in _segments(picture) if code == 0xE1 and data.startswith(_XMP)), b"")
        info = PhotoInfo(
            exif,
            picture.info.get("icc_profile") or b"",
            dpi_of(picture.info.get("dpi")),
            _ORIENTATION.sub(rb"\g<1>1", xmp.removeprefix(_XMP)),
            segments=tuple(each for each in _segments(picture) if not _is_replaced(*each)),
            tables=_tables(picture, orientation >= _SIDEWAYS),
            subsampling=_subsampling(picture, orientation >= _SIDEWAYS),
        )
    notes = notes if orientation == 1 else [*notes, UPRIGHT]
    pixels = turned(pixels, orientation)
    return Picture(pixels, "YXC" if pixels.ndim == 3 else "YX", metadata=info, notes=tuple(notes))


def write_jpeg(picture: Picture) -> bytes:
    """Encode as finely as the source file or as quality 95, whichever is finer. Colours are subsampled as they were."""
    require_kind("JPEG", picture.pixels, picture.axes, ("uint8",))
    require_side("JPEG", picture.pixels, _LONGEST)
    info = picture.metadata if isinstance(picture.metadata, PhotoInfo) else PhotoInfo()
    content = BytesIO()
    Image.fromarray(picture.pixels).save(
        content,
        "JPEG",
        qtables=[np.minimum(own, fine).tolist() for own, fine in zip(info.tables or _fine(), _fine(), strict=False)],
        subsampling=info.subsampling or 0,
        exif=_EXIF + info.exif if info.exif else b"",
        icc_profile=info.icc or None,
        dpi=(0, 0) if info.dpi is None else info.dpi,
    )
    added = [(0xE1, _XMP + info.xmp)] if info.xmp and len(info.xmp) <= 65_000 else []
    return _with_segments(content.getvalue(), [*added, *info.segments])


def _segments(picture: JpegImageFile) -> list[tuple[int, bytes]]:
    """Return markers and contents of the segments before the pixels, as Pillow found them: APPn and comments."""
    codes = {"COM": 0xFE, **{f"APP{n}": 0xE0 + n for n in range(16)}}
    return [(codes[name], bytes(data)) for name, data in picture.applist if name in codes]


def _is_replaced(code: int, data: bytes) -> bool:
    return any(code == other and data.startswith(start) for other, start in _REPLACED)


def _with_segments(content: bytes, segments: list[tuple[int, bytes]]) -> bytes:
    """Insert segments after JFIF and EXIF, which readers expect first."""
    at = 2
    while content[at + 1] == 0xE0 or content[at + 4 :].startswith(_EXIF):
        at += 2 + int(struct.unpack(">H", content[at + 2 : at + 4])[0])
    added = b"".join(struct.pack(">BBH", 0xFF, code, len(data) + 2) + data for code, data in segments)
    return content[:at] + added + content[at:]


def _tables(picture: JpegImageFile, sideways: bool) -> tuple[tuple[int, ...], ...]:
    """Return the quantisation of lightness and, at least as fine as that of each colour, of colours."""
    found = [np.array(picture.quantization[layer[3]]).reshape(_SIDE, _SIDE) for layer in picture.layer]
    joined = [found[0], np.min(found[1:], axis=0)] if len(found) > 1 else found
    steps = [np.clip(table.T if sideways else table, _FINEST, _COARSEST) for table in joined]
    return tuple(tuple(map(int, table.ravel())) for table in steps)


@cache
def _fine() -> tuple[tuple[int, ...], ...]:
    """Return the tables of quality 95, as the encoder makes them."""
    content = BytesIO()
    Image.new("RGB", (_SIDE, _SIDE)).save(content, "JPEG", quality=_QUALITY)
    with JpegImageFile(BytesIO(content.getvalue())) as picture:
        return _tables(picture, False)


def _subsampling(picture: JpegImageFile, sideways: bool) -> int:
    """Return how coarse the colours are: 2 for half the lines and columns, 1 for half the columns, otherwise 0."""
    found = get_sampling(picture) if len(picture.layer) == 3 else 0
    return found if found == 2 or (found == 1 and not sideways) else 0
