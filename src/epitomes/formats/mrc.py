"""MRC and CCP4 maps of electron microscopy (MRC2014): images, stacks, volumes and stacks of volumes.

The header is 1024 bytes of numbers. It passes from file to file with its extension and labels; the statistics in it are
those of the new pixels.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from typing import BinaryIO, ClassVar, Literal

import numpy as np

from epitomes.formats._limits import require_size, times
from epitomes.formats.errors import ImageFileError, cannot_hold, cut_short
from epitomes.formats.packed import read_up_to
from epitomes.formats.picture import Picture
from epitomes.formats.units import converted

_HEADER = 1024  # bytes
_MOST_EXTENDED = 2**26  # bytes between header and pixels: a line per tilt or frame
_DTYPES = {0: "i1", 1: "i2", 2: "f4", 6: "u2", 12: "f2"}  # by mode
_MODES = {"int8": 0, "int16": 1, "float32": 2, "uint16": 6, "float16": 12}
_NAME, _NAME_AT = b"MAP ", 208
# Places of numbers in the header
_SIZE, _MODE, _SAMPLES, _CELL, _ORDER, _RANGE, _SPACE, _RMS, _LABELS = 0, 12, 28, 40, 64, 76, 88, 216, 220
_VERSION, _STAMP = 108, 212
_IMOD_AT, _IMOD, _SIGNED = 152, 1146047817, 1  # IMOD's bytes are unsigned, unless it says otherwise
_MOST_LABELS, _LABEL = 10, 80
_PERMUTATIONS = {(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)}  # of the axes x, y and z
_ORDERS: tuple[Literal["<"], Literal[">"]] = ("<", ">")
_UNIT = "Å"
_VOLUMES = 401  # space groups from here on: a stack of volumes


@dataclass(frozen=True)
class MrcInfo:
    """Metadata that passes from MRC to MRC."""

    title: ClassVar[str] = "the MRC header"

    header: bytes
    extended: bytes
    order: Literal["<", ">"]  # of bytes
    shape: tuple[int, ...]


def is_mrc(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head[_NAME_AT : _NAME_AT + 4] == _NAME


def read_mrc(file: BinaryIO, most: int) -> Picture:
    """Read modes 0, 1, 2, 6 and 12. Images in a stack are along T, sections of a volume along Z."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    header = file.read(_HEADER)
    if len(header) < _HEADER or not is_mrc(header):
        raise ImageFileError("this is not an MRC file: correct its suffix, or get another copy")
    order = next((each for each in _ORDERS if struct.unpack_from(f"{each}3i", header, _ORDER) in _PERMUTATIONS), None)
    if order is None:
        raise ImageFileError("its header is damaged (the order of its axes is unknown): get another copy")
    across, down, sections, mode = struct.unpack_from(f"{order}4i", header, _SIZE)
    if mode not in _DTYPES:
        raise ImageFileError(f"its values are of MRC mode {mode}, but modes 0, 1, 2, 6 and 12 are read: convert it")
    require_size((sections, down, across), most)
    dtype = np.dtype(f"{order}{_DTYPES[mode]}")
    if mode == 0 and _is_unsigned(header, order):
        dtype = np.dtype(np.uint8)
    space, before = struct.unpack_from(f"{order}2i", header, _SPACE)
    needed = sections * down * across * dtype.itemsize
    if not 0 <= before <= _MOST_EXTENDED or size < _HEADER + before + needed:
        raise cut_short("this MRC file", f"{_HEADER + before + needed} bytes", size)
    extended = bytes(read_up_to(file, before))
    pixels = np.frombuffer(bytes(read_up_to(file, needed)), dtype)
    samples = struct.unpack_from(f"{order}3i", header, _SAMPLES)
    shape, axes = _arranged((sections, down, across), samples[2], space)
    info = MrcInfo(header, extended, order, shape)
    spacing = {
        letter: length / n
        for letter, length, n in zip("XYZ", struct.unpack_from(f"{order}3f", header, _CELL), samples, strict=True)
        if n > 0 and 0 < length < math.inf and letter in axes
    }
    return Picture(pixels.reshape(shape), axes, spacing, dict.fromkeys(spacing, _UNIT), metadata=info)


def write_mrc(picture: Picture) -> bytes:
    """Encode with the header of the source file, or with a new one."""
    pixels, info = picture.pixels, picture.metadata
    known = info if isinstance(info, MrcInfo) and info.shape == pixels.shape else None
    unsigned = known is not None and pixels.dtype == np.uint8 and _is_unsigned(known.header, known.order)
    if pixels.dtype.name not in _MODES and not unsigned:
        raise cannot_hold(f"{pixels.dtype} values", "MRC", ", ".join(_MODES), ".tif")
    if picture.axes not in ("YX", "TYX", "ZYX", "TZYX"):
        raise cannot_hold(f"the axes {picture.axes} ({times(pixels.shape)})", "MRC", "YX, ZYX, TYX or TZYX", ".tif")
    header = bytearray(_new_header(picture) if known is None else known.header)
    order = _ORDERS[0] if known is None else known.order
    struct.pack_into(f"{order}i", header, _MODE, 0 if unsigned else _MODES[pixels.dtype.name])
    values = pixels[np.isfinite(pixels)].astype(np.float64)
    if values.size:
        struct.pack_into(f"{order}3f", header, _RANGE, values.min(), values.max(), values.mean())
        struct.pack_into(f"{order}f", header, _RMS, values.std())
    for line in picture.history:
        _add_label(header, order, line)
    stored = pixels.astype(pixels.dtype.newbyteorder(order)).tobytes()
    return bytes(header) + (b"" if known is None else known.extended) + stored


def _is_unsigned(header: bytes, order: str) -> bool:
    stamp, flags = struct.unpack_from(f"{order}2i", header, _IMOD_AT)
    return bool(stamp == _IMOD and not flags & _SIGNED)


def _arranged(lengths: tuple[int, int, int], depth: int, space: int) -> tuple[tuple[int, ...], str]:
    """Return shape and axes; `depth` is the number of sections in a volume, `space` the space group."""
    sections, down, across = lengths
    if space >= _VOLUMES and depth > 0 and sections % depth == 0:
        return (sections // depth, depth, down, across), "TZYX"
    if sections == 1 and depth <= 1:
        return (down, across), "YX"
    return (sections, down, across), "TYX" if space == 0 and depth == 1 else "ZYX"


def _new_header(picture: Picture) -> bytes:
    header = bytearray(_HEADER)
    lengths = dict(zip(picture.axes, picture.pixels.shape, strict=True))
    samples = [lengths["X"], lengths["Y"], lengths.get("Z", 1)]
    steps = [converted(picture.spacing.get(a, 0.0), picture.units.get(a, ""), _UNIT) or 0.0 for a in "XYZ"]
    struct.pack_into("<3i", header, _SIZE, *samples[:2], lengths.get("Z", 1) * lengths.get("T", 1))
    struct.pack_into("<3i", header, _SAMPLES, *samples)
    struct.pack_into("<6f", header, _CELL, *(step * n for step, n in zip(steps, samples, strict=True)), 90, 90, 90)
    struct.pack_into("<3i", header, _ORDER, 1, 2, 3)
    struct.pack_into("<i", header, _SPACE, 0 if "Z" not in lengths else _VOLUMES if "T" in lengths else 1)
    struct.pack_into("<i", header, _VERSION, 20140)
    header[_NAME_AT : _NAME_AT + 4] = _NAME
    header[_STAMP : _STAMP + 4] = b"\x44\x44\x00\x00"  # little-endian
    return bytes(header)


def _add_label(header: bytearray, order: str, line: str) -> None:
    """Write a line into the next free label, if there is one."""
    (used,) = struct.unpack_from(f"{order}i", header, _LABELS)
    if 0 <= used < _MOST_LABELS:
        text = line.encode("ascii", "replace")[:_LABEL].ljust(_LABEL)
        at = _LABELS + 4 + used * _LABEL
        header[at : at + _LABEL] = text
        struct.pack_into(f"{order}i", header, _LABELS, used + 1)
