"""NumPy files: `.npy`, an array and nothing else, and `.npz`, which also keeps axes and spacing.

Nothing is unpickled: the header is checked first, then exactly the bytes that it announces are read.
"""

from __future__ import annotations

import math
import zipfile
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, cut_short, one_line
from epitomes.formats.packed import read_up_to
from epitomes.formats.picture import Picture, Pixels, guessed_axes, require_numbers
from epitomes.formats.series import Series, chosen

NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"

_MOST_TEXT = 256  # values of the small arrays beside the pixels
_PIXELS, _AXES, _STEPS, _UNITS = "pixels", "axes", "spacing", "units"


def is_npy(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head.startswith(NPY_MAGIC)


def is_npz(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head.startswith(ZIP_MAGIC)


def read_npy(file: BinaryIO, most: int) -> Picture:
    """Read the array, with axes guessed from its shape."""
    return Picture(_array(file, most, "NPY"))


def write_npy(picture: Picture) -> bytes:
    """Encode the array alone."""
    content = BytesIO()
    np.save(content, picture.pixels, allow_pickle=False)
    return content.getvalue()


def read_npz(file: BinaryIO, most: int, series: int | str | None = None) -> Picture:
    """Read the array that is wanted: by default `pixels`, with `axes`, `spacing` and `units`, or the only array."""
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ImageFileError(f"this is not an NPZ file ({one_line(error)}): get another copy") from error
    with archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        images = [Series(i, name) for i, name in enumerate(names)]
        if series is not None and images:
            name = chosen(images, series).name
        elif _PIXELS in names or len(names) == 1:
            name = _PIXELS if _PIXELS in names else names[0]
        else:
            raise ImageFileError(
                f"it holds the arrays {', '.join(names[:8]) or 'none'}: "
                f"choose one of them as the series, or name the image {_PIXELS!r}"
            )
        pixels = _member(archive, name, most)
        told = {
            each: _member(archive, each, _MOST_TEXT, text=True) for each in (_AXES, _STEPS, _UNITS) if each in names
        }
    return _described(pixels, told) if name == _PIXELS else Picture(pixels)


def write_npz(picture: Picture) -> bytes:
    """Encode the pixels, axes, spacing and units."""
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
    """Read an array after checking its header."""
    shape, fortran, dtype = _header(file, what)
    if not (text and dtype.kind == "U" and dtype.itemsize <= 1024):
        require_numbers(dtype)
    if not text:
        guessed_axes(shape)  # refuses too few or too many axes
        require_size(shape, most)
    elif math.prod(shape) > most or min(shape, default=1) < 0:
        raise ImageFileError(f"the {what} is not a short list: save the image again")
    needed = math.prod(shape) * dtype.itemsize
    content = read_up_to(file, needed)
    if len(content) < needed:
        raise cut_short(f"the {what}", f"{needed} bytes of pixels", len(content))
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _header(file: Any, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if reader is None:
            raise ImageFileError(f"NPY version {version} is not supported: save the array again with numpy.save")
        shape, fortran, dtype = reader(file)
        return tuple(shape), bool(fortran), dtype
    except ImageFileError:
        raise
    except Exception as error:  # the header is a Python literal, and may be anything
        found = f"this is not an NPY file (header of the {what}: {one_line(error)})"
        raise ImageFileError(f"{found}: get another copy") from error


def _described(pixels: Pixels, told: dict[str, Pixels]) -> Picture:
    axes = str(told[_AXES]) if _AXES in told else guessed_axes(pixels.shape)
    steps, units = told.get(_STEPS, np.array([])), told.get(_UNITS, np.array([]))
    spacing = {letter: float(step) for letter, step in zip(axes, steps.ravel(), strict=False) if step > 0}
    return Picture(
        pixels, axes, spacing, {letter: str(unit) for letter, unit in zip(axes, units.ravel(), strict=False)}
    )
