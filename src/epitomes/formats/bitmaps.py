"""WebP, BMP and GIF, with Pillow: WebP is written lossless, GIF is not written.

Pillow's file classes are used instead of `Image.open`, whose size limit is below ours.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO

from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.WebPImagePlugin import WebPImageFile

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError
from epitomes.formats.photo import (
    ANIMATED,
    UPRIGHT,
    PhotoInfo,
    dpi_of,
    exif_of,
    plain,
    require_kind,
    require_side,
    turned,
    with_alpha,
)
from epitomes.formats.picture import Picture

_WEBP_SIDE = 16_383  # pixels at most


def is_webp(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def is_bmp(head: bytes) -> bool:
    """Return whether a file starts so: the size of the second header tells it from a text that starts with BM."""
    return head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in (12, 40, 52, 56, 64, 108, 124)


def is_gif(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head[:6] in (b"GIF87a", b"GIF89a")


def read_webp(file: BinaryIO, most: int) -> Picture:
    """Read RGB with 8 bits."""
    return _read(file, most, WebPImageFile, "WebP")


def read_bmp(file: BinaryIO, most: int) -> Picture:
    """Read grey or RGB with 8 bits."""
    return _read(file, most, BmpImageFile, "BMP")


def read_gif(file: BinaryIO, most: int) -> Picture:
    """Read the first image, as RGB or grey."""
    return _read(file, most, GifImageFile, "GIF")


def write_webp(picture: Picture) -> bytes:
    """Encode without loss, with the EXIF data, XMP and colour profile of the source file."""
    require_kind("WebP", picture.pixels, picture.axes, ("uint8",))
    require_side("WebP", picture.pixels, _WEBP_SIDE)
    info = picture.metadata if isinstance(picture.metadata, PhotoInfo) else PhotoInfo()
    content = BytesIO()
    Image.fromarray(with_alpha(picture.pixels, picture.alpha)).save(
        content, "WEBP", lossless=True, exact=True, exif=info.exif, icc_profile=info.icc or None, xmp=info.xmp
    )
    return content.getvalue()


def lost_by_webp(picture: Picture) -> tuple[str, ...]:
    """Say that grey becomes three equal colours."""
    return ("WebP stores a grey image as RGB",) if picture.axes == "YX" else ()


def write_bmp(picture: Picture) -> bytes:
    """Encode without loss."""
    require_kind("BMP", picture.pixels, picture.axes, ("uint8",))
    content = BytesIO()
    Image.fromarray(picture.pixels).save(content, "BMP")
    return content.getvalue()


def _read(file: BinaryIO, most: int, kind: Any, name: str) -> Picture:
    try:
        opened = kind(file)
    except SyntaxError as error:
        raise ImageFileError(f"this is not a {name} image: correct its suffix, or get another copy") from error
    with opened as picture:
        require_size((picture.height, picture.width, len(picture.getbands())), most)
        exif, orientation = exif_of(picture)
        info = PhotoInfo(
            exif,
            picture.info.get("icc_profile") or b"",
            dpi_of(picture.info.get("dpi")),
            picture.info.get("xmp") or b"",
        )
        animated = getattr(picture, "n_frames", 1) > 1
        pixels, alpha, notes = plain(picture)
    if animated:
        notes.append(ANIMATED)
    if orientation != 1:
        pixels, alpha = turned(pixels, orientation), None if alpha is None else turned(alpha, orientation)
        notes.append(UPRIGHT)
    return Picture(pixels, "YXC" if pixels.ndim == 3 else "YX", alpha=alpha, metadata=info, notes=tuple(notes))
