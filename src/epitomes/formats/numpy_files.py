"""NumPy's own files: `.npy`, an array and nothing else, and `.npz`, which also keeps axes and spacing.

Nothing that was pickled is read: the headers are checked first, and then exactly the bytes that they promise.
"""

from __future__ import annotations

import math
import zipfile
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from epitomes.formats.errors import ImageFileError, one_line, require_size
from epitomes.formats.picture import Picture, Pixels, guessed_axes

NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"

_MOST_TEXT = 256  # values of the small arrays beside the pixels
_PIXELS, _AXES, _STEPS, _UNITS = "pixels", "axes", "spacing", "units"


def read_npy(file: BinaryIO, most: int) -> Picture:
    """The array, with axes guessed from its shape."""
    return Picture(_array(file, most, "NPY"))


def write_npy(picture: Picture) -> bytes:
    """The array alone."""
    content = BytesIO()
    np.save(content, picture.pixels, allow_pickle=False)
    return content.getvalue()


def read_npz(file: BinaryIO, most: int) -> Picture:
    """The array `pixels`, with `axes`, `spacing` and `units` where they are there; or the only array of the file."""
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ImageFileError(f"this is not an NPZ file: {error}") from error
    with archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        chosen = _PIXELS if _PIXELS in names else names[0] if len(names) == 1 else None
        if chosen is None:
            raise ImageFileError(
                f"it holds the arrays {', '.join(names[:8]) or 'none'}: keep one alone, or name the picture {_PIXELS!r}"
            )
        pixels = _member(archive, chosen, most)
        told = {
            name: _member(archive, name, _MOST_TEXT, text=True) for name in (_AXES, _STEPS, _UNITS) if name in names
        }
    return _described(pixels, told) if chosen == _PIXELS else Picture(pixels)


def write_npz(picture: Picture) -> bytes:
    """The pixels and what is known of their axes."""
    content = BytesIO()
    steps = [picture.spacing.get(letter, math.nan) for letter in picture.axes]
    units = [picture.units.get(letter, "") for letter in picture.axes]
    members: dict[str, Any] = {_PIXELS: picture.pixels, _AXES: picture.axes, _STEPS: steps, _UNITS: units}
    np.savez(content, **members)
    return content.getvalue()


def _member(archive: zipfile.ZipFile, name: str, most: int, *, text: bool = False) -> Pixels:
    with archive.open(f"{name}.npy") as file:
        return _array(file, most, f"array {name!r} of this NPZ", text=text)


def _array(file: Any, most: int, what: str, *, text: bool = False) -> Pixels:
    """An array whose header was judged before a byte of it was read."""
    shape, fortran, dtype = _header(file, what)
    if dtype.hasobject or (dtype.kind not in "iuf" and not (text and dtype.kind == "U")) or dtype.itemsize > 1024:
        raise ImageFileError(f"it holds {dtype}, and a picture needs whole numbers or floats of at most 64 bits")
    if not text:
        guessed_axes(shape)  # refuses what has too few or too many axes
        require_size(shape, most)
    elif math.prod(shape) > most or min(shape, default=1) < 0:
        raise ImageFileError(f"the {what} is not a short list: save the picture again")
    needed = math.prod(shape) * dtype.itemsize
    content = file.read(needed)
    if len(content) < needed:
        raise ImageFileError(f"the {what} is cut short: it promises {needed} bytes of pixels and has {len(content)}")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _header(file: Any, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if reader is None:
            raise ImageFileError(f"NPY version {version} is not read: save the array again with numpy.save")
        shape, fortran, dtype = reader(file)
        return tuple(shape), bool(fortran), dtype
    except ImageFileError:
        raise
    except Exception as error:  # the header is a Python literal that anybody may have written
        raise ImageFileError(f"this is not an NPY file: the header of the {what} says {one_line(error)}") from error


def _described(pixels: Pixels, told: dict[str, Pixels]) -> Picture:
    axes = str(told[_AXES]) if _AXES in told else guessed_axes(pixels.shape)
    steps, units = told.get(_STEPS, np.array([])), told.get(_UNITS, np.array([]))
    spacing = {letter: float(step) for letter, step in zip(axes, steps.ravel(), strict=False) if step > 0}
    return Picture(
        pixels, axes, spacing, {letter: str(unit) for letter, unit in zip(axes, units.ravel(), strict=False)}
    )
