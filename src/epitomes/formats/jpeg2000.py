"""JPEG 2000, with imagecodecs: grey and RGB, 8 and 16 bits, written without loss."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, library
from epitomes.formats.photo import ALPHA_KEPT, require_kind, split_alpha, with_alpha
from epitomes.formats.picture import Picture, require_numbers

_BOX, _STREAM = b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"  # starts of a file and of a bare codestream
_HEAD = 2**20  # bytes before the codestream: boxes with profiles and texts


def is_jpeg2000(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head.startswith((_BOX, _STREAM))


def read_jpeg2000(file: BinaryIO, most: int) -> Picture:
    """Read grey or RGB, with or without transparency."""
    content = file.read(_HEAD)
    at = content.find(_STREAM)
    if not is_jpeg2000(content) or at < 0 or len(content) < at + 42:
        raise ImageFileError("this is not a JPEG 2000 image: correct its suffix, or get another copy")
    # The size segment: right and bottom edge, left and top edge, size and place of tiles, number of components.
    right, bottom, left, top, *_, bands = struct.unpack(">8IH", content[at + 8 : at + 42])
    require_size((bottom - top, right - left, bands), most)
    codecs = library("imagecodecs", extra=None, what="JPEG 2000")
    pixels = np.asarray(codecs.jpeg2k_decode(content + file.read()))
    require_numbers(pixels.dtype)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels, alpha = split_alpha(pixels, pixels.shape[2] - 1)
        return Picture(pixels, "YX" if pixels.ndim == 2 else "YXC", alpha=alpha, notes=(ALPHA_KEPT,))
    return Picture(pixels, "YX" if pixels.ndim == 2 else "YXC")


def write_jpeg2000(picture: Picture) -> bytes:
    """Encode without loss."""
    require_kind("JPEG 2000", picture.pixels, picture.axes, ("uint8", "uint16"))
    codecs = library("imagecodecs", extra=None, what="JPEG 2000")
    return bytes(codecs.jpeg2k_encode(with_alpha(picture.pixels, picture.alpha), reversible=True, codecformat="jp2"))
