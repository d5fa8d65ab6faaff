"""Files that may be compressed as a whole, by gzip: read piece by piece, never more than was asked for."""

from __future__ import annotations

import gzip
from typing import Any, BinaryIO

_MAGIC = b"\x1f\x8b"
_MOST_REST = 2**24  # bytes that are looked at behind the picture
_PIECE = 2**16


def unpacked(file: BinaryIO) -> Any:
    """The file, or a reader of what is packed in it."""
    packed = file.read(2) == _MAGIC
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file


def packed(content: bytes) -> bytes:
    """The content, compressed; the bytes do not depend on the hour."""
    return gzip.compress(content, mtime=0)


def more_follows(source: Any) -> bool:
    """Whether something stands behind the picture. Reading on to the end makes gzip compare its check sum."""
    seen = 0
    while seen < _MOST_REST and (piece := source.read(_PIECE)):
        seen += len(piece)
    return seen > 0
