"""The chain of pages of a TIFF file, checked before it is decoded.

tifffile reads the pages that it finds, and only logs that others are missing. Whether its log reaches anyone depends on
the logging settings of the program, so the chain is checked here.
"""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

from epitomes.formats.errors import ImageFileError

_FORMATS = {42: ("H", "I", 8), 43: ("Q", "Q", 16)}  # version -> type of the number of tags, of offsets; bytes of header
_BYTES = dict(enumerate((1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4), start=1)) | {16: 8, 17: 8, 18: 8}  # type -> of a value
_DESCRIPTION = 270  # the tag that gives the axes of stacks
_MOST_TAGS = 4096  # of a page, as in tifffile


def require_pages(file: BinaryIO) -> None:
    """Refuse a file whose pages, or the description of a page, lie outside of it, or whose pages form a circle."""
    try:
        _follow(file, file.seek(0, os.SEEK_END))
    except (struct.error, LookupError, ValueError):
        raise ImageFileError(
            "this TIFF file is cut short or damaged (not all of its pages can be found): get another copy"
        ) from None
    file.seek(0)


def _follow(file: BinaryIO, size: int) -> None:
    """Visit all pages; raise a ValueError if one is not where the file says."""
    file.seek(0)
    head = file.read(16)
    order = "<" if head[:2] == b"II" else ">"
    (version,) = struct.unpack(f"{order}H", head[2:4])
    number, place, length = _FORMATS[version]
    wide = struct.calcsize(place)
    tag = struct.Struct(f"{order}HH{place}{place}")
    (offset,) = struct.unpack(f"{order}{place}", head[length - wide : length])
    seen: set[int] = set()
    while offset:
        if offset in seen or offset >= size:
            raise ValueError(offset)
        seen.add(offset)
        file.seek(offset)
        (n_tags,) = struct.unpack(f"{order}{number}", file.read(struct.calcsize(number)))
        if n_tags > _MOST_TAGS:
            raise ValueError(n_tags)
        for code, kind, count, value in tag.iter_unpack(file.read(n_tags * tag.size)):
            n_bytes = _BYTES[kind] * count if code == _DESCRIPTION else 0
            if n_bytes > wide and not 8 <= value <= size - n_bytes:
                raise ValueError(value)
        (offset,) = struct.unpack(f"{order}{place}", file.read(wide))
