"""PNG: 8 and 16 bits, grey and RGB, transparency carried along.

Pillow rounds 16-bit colours to 8 bits and says nothing, so these go through imagecodecs. Text, gamma and the like are
chunks: they pass from file to file as they are.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

import numpy as np
from PIL import Image

from epitomes.formats.errors import ImageFileError, library, require_size
from epitomes.formats.photo import (
    ALPHA_KEPT,
    UPRIGHT,
    PhotoInfo,
    dpi_of,
    exif_of,
    require_kind,
    split_alpha,
    turned,
    with_alpha,
)
from epitomes.formats.picture import Picture, Pixels

SIGNATURE = b"\x89PNG\r\n\x1a\n"

_CARRIED = (b"gAMA", b"cHRM", b"sRGB", b"cICP", b"pHYs", b"tEXt", b"zTXt", b"iTXt")
_BANDS = {0: 1, 2: 3, 4: 2, 6: 4}  # colour type -> values per pixel
_METRES_PER_INCH = 0.0254
_HEAD = 33  # signature and IHDR


def read_png(file: BinaryIO, most: int) -> Picture:
    """Grey or RGB, 8 or 16 bits, whatever the file has."""
    head = file.read(_HEAD)
    if len(head) < _HEAD or not head.startswith(SIGNATURE) or head[12:16] != b"IHDR":
        raise ImageFileError("this is not a PNG picture that can be read, whatever its suffix says")
    width, height, depth, colour = struct.unpack(">IIBB", head[16:26])
    if colour == 3:
        raise ImageFileError("it is stored as a palette of colours, which is not read: save it as grey or RGB")
    if depth == 1:
        raise ImageFileError("it is stored as black and white without greys, which is not read: save it as grey or RGB")
    require_size((height, width, _BANDS.get(colour, 1)), most)
    content = head + file.read()
    chunks = tuple(_chunks(content))
    if any(name == b"tRNS" for name, _ in chunks):
        raise ImageFileError("one of its colours stands for transparent: flatten it onto a background first")
    pixels, info, orientation = _decoded(content, depth)
    notes = [f"its {depth}-bit greys are read as 8-bit ones"] if depth < 8 else []
    if orientation != 1:
        pixels = turned(pixels, orientation)
        notes.append(UPRIGHT)
    alpha = None
    if colour in (4, 6):
        pixels, alpha = split_alpha(pixels, _BANDS[colour] - 1)
        notes.append(ALPHA_KEPT)
    if any(name == b"acTL" for name, _ in chunks):
        notes.append("it is animated: only the first picture is read")
    kept = tuple((name, data) for name, data in chunks if name in _CARRIED and not data.startswith(b"Raw profile type"))
    info = PhotoInfo(info.exif, info.icc, info.dpi, kept)
    return Picture(pixels, "YXC" if pixels.ndim == 3 else "YX", alpha=alpha, metadata=info, notes=tuple(notes))


def write_png(picture: Picture) -> bytes:
    """The file; EXIF, colour profile and chunks of a photograph go with it."""
    require_kind("PNG", picture.pixels, picture.axes, ("uint8", "uint16"))
    content = _encoded(with_alpha(picture.pixels, picture.alpha))
    info = picture.metadata
    if not isinstance(info, PhotoInfo):
        return content
    added = b"".join(_chunk(name, data) for name, data in _ancillary(info))
    return content[:_HEAD] + added + content[_HEAD:]


def encode_png(pixels: Pixels) -> bytes:
    """The bytes of a PNG file with these pixels, `(height, width)` or `(height, width, 3)`."""
    return write_png(Picture(pixels))


def _decoded(content: bytes, depth: int) -> tuple[Pixels, PhotoInfo, int]:
    with Image.open(BytesIO(content), formats=("PNG",)) as picture:
        exif, orientation = exif_of(picture)
        info = PhotoInfo(exif, picture.info.get("icc_profile") or b"", dpi_of(picture.info.get("dpi")))
        if depth < 16:
            return np.array(picture), info, orientation
    codecs = library("imagecodecs", extra=None, what="PNG with 16 bits per colour")
    return np.asarray(codecs.png_decode(content)), info, orientation


def _encoded(pixels: Pixels) -> bytes:
    if pixels.dtype == np.uint16:
        codecs = library("imagecodecs", extra=None, what="PNG with 16 bits per colour")
        return bytes(codecs.png_encode(pixels))
    content = BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of all chunks but the pixels; a file that ends too early ends the list, too."""
    at = len(SIGNATURE)
    while at + 12 <= len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        name = content[at + 4 : at + 8]
        if at + 12 + length > len(content):
            return
        if name not in (b"IHDR", b"IDAT", b"fdAT", b"IEND"):
            yield name, content[at + 8 : at + 8 + length]
        at += 12 + length


def _ancillary(info: PhotoInfo) -> Iterator[tuple[bytes, bytes]]:
    names = {name for name, _ in info.chunks}
    if info.icc and not names & {b"sRGB", b"cICP"}:
        yield b"iCCP", b"ICC profile\x00\x00" + zlib.compress(info.icc)
    if info.dpi is not None and b"pHYs" not in names:
        across, down = (max(1, round(dots / _METRES_PER_INCH)) for dots in info.dpi)
        yield b"pHYs", struct.pack(">IIB", across, down, 1)
    yield from info.chunks
    if info.exif:
        yield b"eXIf", info.exif


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
