"""Pictures in files: what is stored comes back as it was stored, or not at all.

A 16-bit picture stays a 16-bit picture; where a decoder would round, reorder or invent values, the file is refused in
words. Sizes are read from the header and refused before anything is allocated. Formats are a table, `FORMATS`: a new
one is a reader, a writer and a line.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from epitomes.checks import read_only
from epitomes.files import write_atomically

Pixels = NDArray[Any]

MOST_VALUES = 2**26  # a picture of 8192 x 8192; as float32 with what denoising adds, some gigabytes

_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
_NOT_READ = {"P": "a palette of colours", "1": "black and white without greys", "CMYK": "colours for print"}
_ORIENTATION = 0x0112  # EXIF
_BITS, _SAMPLES = 258, 339  # TIFF


class ImageFileError(ValueError):
    """A picture that cannot be read or written, and why."""


class ImageTooLargeError(ImageFileError):
    """A picture above the limit, refused before it was read."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels as stored, `(height, width)` or `(height, width, channels)`, and where they come from."""

    pixels: Pixels
    path: Path
    notes: tuple[str, ...] = ()  # what reading changed, in words for people


@dataclass(frozen=True)
class Format:
    """One kind of file. Readers get the open file and the most values to read; writers check what they can hold."""

    name: str
    read: Callable[[BinaryIO, int], tuple[Pixels, tuple[str, ...]]]
    write: Callable[[Pixels], bytes]


def read_picture(path: str | os.PathLike[str], *, most: int = MOST_VALUES) -> Picture:
    """The picture in a file, whose suffix names the format. `most` is the largest number of values to accept."""
    path = Path(path)
    kind = _format_of(path, "read")
    if not path.exists():
        raise ImageFileError(f"there is no file {path}")
    if not path.is_file():
        raise ImageFileError(f"{path} is not a regular file: give the path of a picture")
    try:
        with path.open("rb") as file:
            pixels, notes = kind.read(file, most)
    except ImageFileError as error:
        raise type(error)(f"{path}: {error}") from error
    except OSError as error:
        raise ImageFileError(f"{path} cannot be read: {error.strerror or error}") from error
    return Picture(read_only(pixels), path, notes)


def write_picture(path: str | os.PathLike[str], pixels: ArrayLike, *, overwrite: bool = False) -> None:
    """Write pixels as they are, whole or not at all; the suffix of the path names the format."""
    path = Path(path)
    array = np.asarray(pixels)
    if array.ndim not in (2, 3) or array.size == 0:
        raise ImageFileError(
            f"a picture needs the shape (height, width) or (height, width, channels), got {array.shape}"
        )
    try:
        content = _format_of(path, "written").write(array)
    except ImageFileError as error:
        raise ImageFileError(f"{path}: {error}") from error
    write_atomically(path, content, overwrite=overwrite)


def require_format(path: str | os.PathLike[str]) -> None:
    """Refuse a path whose suffix names no format, before the work whose result goes there."""
    _format_of(Path(path), "written")


def encode_png(pixels: Pixels) -> bytes:
    """The bytes of a PNG file: 8-bit grey or RGB, or 16-bit grey."""
    _require_holds("PNG", pixels, {("uint8", 1), ("uint8", 3), ("uint16", 1)})
    content = BytesIO()
    _as_pillow(pixels).save(content, "PNG")
    return content.getvalue()


def _format_of(path: Path, verb: str) -> Format:
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        ending = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise ImageFileError(
            f"{path} has {ending}, and pictures are {verb} by suffix: use one of {', '.join(sorted(FORMATS))}"
        )
    return found


# Pillow: PNG, TIFF, JPEG


def _read_png(file: BinaryIO, most: int) -> tuple[Pixels, tuple[str, ...]]:
    head = file.read(26)  # signature, length and name of the first chunk, width, height, bit depth, colour type
    file.seek(0)
    if len(head) == 26 and head[24] == 16 and head[25] != 0:  # Pillow would keep the upper 8 bits and say nothing
        raise ImageFileError(
            "PNG with 16 bits per colour is not read, because it would lose 8 of them: "
            "save it as .npy, or as 16-bit grey or 8-bit RGB"
        )
    pixels, notes = _read_by_pillow(file, most, "PNG")
    return (pixels.astype(np.uint16) if pixels.dtype == np.int32 else pixels), notes  # int32: Pillow before 11


def _read_tiff(file: BinaryIO, most: int) -> tuple[Pixels, tuple[str, ...]]:
    return _read_by_pillow(file, most, "TIFF", check=_require_exact_tiff)


def _read_jpeg(file: BinaryIO, most: int) -> tuple[Pixels, tuple[str, ...]]:
    return _read_by_pillow(file, most, "JPEG")


def _read_by_pillow(
    file: BinaryIO, most: int, name: str, check: Callable[[Image.Image], None] | None = None
) -> tuple[Pixels, tuple[str, ...]]:
    try:
        with Image.open(file, formats=(name,)) as picture:
            _require_size((picture.height, picture.width, len(picture.getbands())), most)
            if check is not None:
                check(picture)
            pixels, notes = _as_stored(picture)
            return np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")), notes
    except ImageFileError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageTooLargeError(f"Pillow refuses pictures of this size ({error}): save it as .npy") from error
    except UnidentifiedImageError as error:
        raise ImageFileError(f"this is not a {name} picture that can be read, whatever its suffix says") from error
    except MemoryError:
        raise
    except Exception as error:  # a decoder given a broken file raises whatever it trips over
        raise ImageFileError(f"this {name} file is damaged: {error}") from error


def _as_stored(picture: Image.Image) -> tuple[Pixels, tuple[str, ...]]:
    notes = []
    if getattr(picture, "n_frames", 1) > 1 and picture.format == "TIFF":
        raise ImageFileError(f"it holds {getattr(picture, 'n_frames', 1)} pictures: save the one that you mean alone")
    if picture.getexif().get(_ORIENTATION, 1) != 1:
        picture = ImageOps.exif_transpose(picture)
        notes.append("turned upright, as its EXIF orientation says")
    if picture.mode in _ALPHA or "transparency" in picture.info:
        if picture.mode not in ("LA", "RGBA") or picture.getchannel("A").getextrema() != (255, 255):
            raise ImageFileError("parts of it are transparent: flatten it onto a background first")
        picture = picture.convert(picture.mode.removesuffix("A"))
        notes.append("its alpha channel, opaque everywhere, is dropped")
    if picture.mode not in ("L", "RGB", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"):
        kind = _NOT_READ.get(picture.mode, f"pixels of the kind {picture.mode!r}")
        raise ImageFileError(f"it is stored as {kind}, which is not read: save it as grey or RGB")
    return np.asarray(picture), tuple(notes)


def _require_exact_tiff(picture: Image.Image) -> None:
    """Refuse what Pillow would round to 8 bits (16-bit RGB) or wrap (unsigned 32 bits, signed 8 bits)."""
    tags: Any = getattr(picture, "tag_v2", {})
    bits, kinds = set(tags.get(_BITS, (1,))), set(tags.get(_SAMPLES, (1,)))
    held = {"L": ({8}, {1}), "I;16": ({16}, {1}), "F": ({32}, {3})}
    exact = (
        (bits, kinds) in (({32}, {2}), ({16}, {2}))
        if picture.mode == "I"
        else (bits, kinds) == held.get("I;16" if picture.mode.startswith("I;16") else picture.mode, ({8}, {1}))
    )
    if not exact:
        raise ImageFileError(
            f"TIFF with {sorted(bits)} bits per value and {len(picture.getbands())} channel(s) is not read, because "
            "its values would change: save it as .npy, or as 8-bit RGB, or as 8, 16 or 32-bit grey"
        )


def _write_tiff(pixels: Pixels) -> bytes:
    _require_holds("TIFF", pixels, {("uint8", 1), ("uint8", 3), ("uint16", 1), ("int32", 1), ("float32", 1)})
    content = BytesIO()
    _as_pillow(pixels).save(content, "TIFF")
    return content.getvalue()


def _write_jpeg(pixels: Pixels) -> bytes:
    _require_holds("JPEG", pixels, {("uint8", 1), ("uint8", 3)})
    content = BytesIO()
    _as_pillow(pixels).save(content, "JPEG", quality=95, subsampling=0)  # little loss, none of it by halving colours
    return content.getvalue()


def _as_pillow(pixels: Pixels) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")))


def _require_holds(name: str, pixels: Pixels, kinds: set[tuple[str, int]]) -> None:
    """Refuse pixels that the format cannot hold as they are; `kinds` are pairs of dtype and number of channels."""
    channels = 1 if pixels.ndim == 2 else pixels.shape[2] if pixels.shape[2] > 1 else 0
    if (pixels.dtype.name, channels) not in kinds:
        held = ", ".join(f"{dtype} {'grey' if n == 1 else 'RGB'}" for dtype, n in sorted(kinds))
        raise ImageFileError(
            f"{name} is written from {held}, got {pixels.dtype} of shape {pixels.shape}: use .npy, or convert it"
        )


# NumPy's own format


def _read_npy(file: BinaryIO, most: int) -> tuple[Pixels, tuple[str, ...]]:
    try:
        version = np.lib.format.read_magic(file)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if reader is None:
            raise ImageFileError(f"NPY version {version} is not read: save the array again with numpy.save")
        shape, _, dtype = reader(file)
    except ImageFileError:
        raise
    except Exception as error:  # the header is a Python literal that anybody may have written
        raise ImageFileError(f"this is not an NPY file: {error}") from error
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise ImageFileError(f"it holds {dtype}, and a picture needs whole numbers or floats of at most 64 bits")
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise ImageFileError(
            f"a picture needs the shape (height, width) or (height, width, channels), this file says {shape}"
        )
    _require_size(shape, most)
    needed, there = math.prod(shape) * dtype.itemsize, os.fstat(file.fileno()).st_size - file.tell()
    if there < needed:
        raise ImageFileError(f"this NPY file is cut short: it promises {needed} bytes of pixels and has {there}")
    file.seek(0)
    pixels = np.load(file, allow_pickle=False)
    return np.ascontiguousarray(pixels, dtype.newbyteorder("=")), ()


def _write_npy(pixels: Pixels) -> bytes:
    if pixels.dtype.kind not in "iuf" or pixels.dtype.itemsize > 8:
        raise ImageFileError(f"NPY is written from whole numbers or floats of at most 64 bits, got {pixels.dtype}")
    content = BytesIO()
    np.save(content, np.ascontiguousarray(pixels), allow_pickle=False)
    return content.getvalue()


def _require_size(shape: tuple[int, ...], most: int) -> None:
    if math.prod(shape) > most:
        raise ImageTooLargeError(
            f"it holds {math.prod(shape)} values, {' x '.join(map(str, shape))}, above the limit of {most}: "
            "crop it, or raise the limit"
        )


FORMATS = {
    ".png": Format("PNG", _read_png, encode_png),
    ".tif": Format("TIFF", _read_tiff, _write_tiff),
    ".tiff": Format("TIFF", _read_tiff, _write_tiff),
    ".jpg": Format("JPEG", _read_jpeg, _write_jpeg),
    ".jpeg": Format("JPEG", _read_jpeg, _write_jpeg),
    ".npy": Format("NPY", _read_npy, _write_npy),
}
