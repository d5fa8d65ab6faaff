"""PBM, PGM and PPM, plain and binary: grey and RGB with 8 or 16 bits. Pillow would round 16-bit colours to 8 bits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, cut_short
from epitomes.formats.packed import read_up_to
from epitomes.formats.photo import BILEVEL, require_kind
from epitomes.formats.picture import Picture, Pixels

_HEAD = 4096  # bytes that hold the header with its comments
_NUMBER = re.compile(rb"(?:\s+|#[^\n\r]*[\n\r])+(\d{1,9})")
_MOST_PLAIN = 12  # bytes of a value that is written in digits, with the space around it


@dataclass(frozen=True)
class PnmInfo:
    """Metadata that passes from PGM or PPM to the same."""

    title: ClassVar[str] = ""

    white: int  # the largest value


def is_pnm(head: bytes) -> bool:
    """Return whether a file starts so."""
    return re.match(rb"P[1-6][\s#]", head) is not None


def read_pnm(file: BinaryIO, most: int) -> Picture:
    """Read bits, grey or RGB. Values are as stored: a file with 12 bits has values up to 4095."""
    head = file.read(_HEAD)
    if not is_pnm(head):
        raise ImageFileError("this is not a PGM or PPM image: correct its suffix, or get another copy")
    kind, at, numbers = int(head[1:2]), 2, list[int]()
    while len(numbers) < (2 if kind in (1, 4) else 3):
        found = _NUMBER.match(head, at)
        if found is None:
            raise ImageFileError("its header is damaged (width, height or largest value is missing): get another copy")
        numbers.append(int(found[1]))
        at = found.end()
    width, height, white = (*numbers, 1)[:3]
    if not 0 < white < 2**16:
        raise ImageFileError(f"its header gives the largest value {white}, allowed are 1 to 65535: get another copy")
    shape = (height, width, 3) if kind in (3, 6) else (height, width)
    require_size(shape, most)
    dtype = np.dtype(">u2" if white > 255 else "u1")
    file.seek(at if kind < 4 else at + 1)
    pixels = _digits(file, shape, kind, dtype) if kind < 4 else _binary(file, shape, kind, dtype)
    axes = "YXC" if len(shape) == 3 else "YX"
    if kind in (1, 4):
        return Picture((1 - pixels) * np.uint8(255), axes, notes=(BILEVEL,))  # 1 is black
    if pixels.max() > white:
        raise ImageFileError(f"it holds values above {white}, which its header calls the largest: get another copy")
    return Picture(pixels, axes, metadata=PnmInfo(white))


def write_pgm(picture: Picture) -> bytes:
    """Encode grey or RGB, binary; the largest value is that of the source file, if it still is."""
    require_kind("PGM and PPM", picture.pixels, picture.axes, ("uint8", "uint16"))
    pixels, info = picture.pixels, picture.metadata
    white = 255 if pixels.dtype == np.uint8 else 65535
    if isinstance(info, PnmInfo) and (info.white > 255) == (white > 255) and pixels.max() <= info.white:
        white = info.white
    height, width = pixels.shape[:2]
    head = f"{'P6' if pixels.ndim == 3 else 'P5'}\n{width} {height}\n{white}\n"
    return head.encode() + pixels.astype(pixels.dtype.newbyteorder(">")).tobytes()


def _binary(file: BinaryIO, shape: tuple[int, ...], kind: int, dtype: np.dtype[np.generic]) -> Pixels:
    row = -(-shape[1] // 8) if kind == 4 else int(np.prod(shape[1:])) * dtype.itemsize
    needed = shape[0] * row
    content = read_up_to(file, needed)
    if len(content) < needed:
        raise cut_short("this image", f"{needed} bytes of pixels", len(content))
    if kind == 4:
        return np.unpackbits(np.frombuffer(content, np.uint8).reshape(shape[0], row), axis=1, count=shape[1])
    return np.frombuffer(content, dtype).reshape(shape)


def _digits(file: BinaryIO, shape: tuple[int, ...], kind: int, dtype: np.dtype[np.generic]) -> Pixels:
    """Read values in digits; those of PBM, each a single digit, need no space between them."""
    needed = int(np.prod(shape))
    text = re.sub(rb"#[^\n\r]*", b"", bytes(read_up_to(file, needed * _MOST_PLAIN + _HEAD)))
    words = re.findall(rb"[01]", text) if kind == 1 else text.split()
    if len(words) < needed:
        raise cut_short("this image", f"{needed} values", len(words))
    values = np.array(words[:needed]).astype(np.int64)
    if values.min() < 0 or values.max() >= 2 ** (8 * dtype.itemsize):
        raise ImageFileError("it holds values above the largest that its header allows: get another copy")
    return values.astype(dtype).reshape(shape)
