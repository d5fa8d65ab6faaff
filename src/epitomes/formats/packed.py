"""Files that may be compressed as a whole by gzip: read in pieces, never more than was asked for."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, BinaryIO

_MAGIC = b"\x1f\x8b"
_MOST_REST = 2**24  # bytes after the image that are looked at
_PIECE = 2**20
_HEAD = 1024  # bytes that identify a format


def unpacked(file: BinaryIO) -> Any:
    """Return the file, or a reader of its decompressed content."""
    compressed = file.read(2) == _MAGIC
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if compressed else file


def unpacked_head(head: bytes) -> bytes:
    """Return the first decompressed bytes of a file that starts with `head`; b"" if it is not compressed."""
    if not head.startswith(_MAGIC):
        return b""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(head, _HEAD)
    except zlib.error:
        return b""


def packed(content: bytes) -> bytes:
    """Compress the content; the result does not depend on the time."""
    return gzip.compress(content, mtime=0)


def read_up_to(source: Any, size: int) -> bytearray:
    """Read `size` bytes, or all that there are if the source is shorter.

    A header may promise gigabytes that the file does not have. One `read(size)` would allocate them at once.
    """
    content = bytearray()
    while len(content) < size and (piece := source.read(min(_PIECE, size - len(content)))):
        content += piece
    return content


def more_follows(source: Any) -> bool:
    """Return whether there are bytes after the image. Reading to the end lets gzip compare its checksum."""
    return len(read_up_to(source, _MOST_REST)) > 0
