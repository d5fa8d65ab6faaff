"""FITS, with astropy: the first image of a file. Its header, including the WCS, passes from file to file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, cannot_hold, cut_short, library
from epitomes.formats.packed import more_follows, packed, read_up_to, unpacked
from epitomes.formats.picture import Picture, Pixels, colour_last, ordered, scale_note
from epitomes.formats.units import short

MAGIC = b"SIMPLE  ="

_BLOCK = 2880  # bytes: headers and data come in blocks
_MOST_BESIDE = 2**24  # bytes of a header, and of data besides the image
_MADE = "pixels replaced by epitomes"
_MEANING = {  # start of CTYPE, for axes that are not on the sky
    **dict.fromkeys(("FREQ", "WAVE", "AWAV", "VELO", "VRAD", "VOPT", "ENER", "STOKES", "CHANNEL", "RGB"), "C"),
    **dict.fromkeys(("TIME", "UTC", "TAI", "MJD"), "T"),
}
_NAMES = {"T": "TIME", "C": "CHANNEL"}  # CTYPE in new files
_OTHER_SIGN = {8: -(2.0**7), 16: 2.0**15, 32: 2.0**31, 64: 2.0**63}  # BITPIX -> BZERO that only changes the sign
_DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@dataclass(frozen=True)
class FitsInfo:
    """Metadata that passes from FITS to FITS."""

    title: ClassVar[str] = "the FITS header"

    header: str  # of the image
    primary: str  # primary header, if the image is an extension; otherwise ""
    shape: tuple[int, ...]  # as stored
    scale: tuple[float, float] | None  # BSCALE and BZERO, if they change the stored values


def read_fits(file: BinaryIO, most: int) -> Picture:
    """Read the first image with two axes or more. Values are as stored; a note tells if the file scales them."""
    fits = library("astropy.io.fits", extra="fits", what="FITS")
    content, number, more = _until_image(fits, unpacked(file), most)
    with fits.open(BytesIO(content), memmap=False, do_not_scale_image_data=True) as parts:
        header = parts[number].header.copy()
        primary = parts[0].header.tostring() if number else ""
        pixels, scale = _unscaled(parts[number].data, header)
    axes, spacing, units = _axes(header, pixels.ndim)
    info = FitsInfo(header.tostring(), primary, pixels.shape, scale)
    notes = [] if scale is None else [scale_note(*scale)]
    if more or number > 1:
        notes.append("it holds more tables or images, which are not read")
    if "C" in axes and _word(header, "CTYPE", pixels.ndim - axes.index("C")) == "RGB":
        pixels, axes = ordered(pixels, axes, axes.replace("C", "") + "C")
    return Picture(pixels, axes, spacing, units, metadata=info, notes=tuple(notes))


def write_fits(picture: Picture) -> bytes:
    """Encode the image with the header of its source file and a line of HISTORY."""
    fits = library("astropy.io.fits", extra="fits", what="FITS")
    if picture.pixels.dtype.name not in _DTYPES:
        raise cannot_hold(f"{picture.pixels.dtype} values", "FITS", ", ".join(_DTYPES), ".npz")
    pixels, axes = picture.pixels, picture.axes
    if colour_last(axes):
        pixels, axes = ordered(pixels, axes, "C" + axes[:-1])
    elif not axes.endswith("YX"):
        pixels, axes = ordered(pixels, axes, "".join(a for a in axes if a not in "YX") + "YX")
    info = picture.metadata
    if not isinstance(info, FitsInfo) or info.shape != pixels.shape:
        info = FitsInfo(_new_header(fits, picture, axes).tostring(), "", pixels.shape, None)
    elif _MADE not in info.header:
        header = fits.Header.fromstring(info.header)
        header.add_history(_MADE)
        info = FitsInfo(header.tostring(), info.primary, info.shape, info.scale)
    header = fits.Header.fromstring(info.header)
    image = (fits.ImageHDU if info.primary else fits.PrimaryHDU)(np.ascontiguousarray(pixels), header)
    if info.scale is not None:
        image.header["BSCALE"], image.header["BZERO"] = info.scale
    parts = [fits.PrimaryHDU(header=fits.Header.fromstring(info.primary)), image] if info.primary else [image]
    content = BytesIO()
    fits.HDUList(parts).writeto(content, checksum="CHECKSUM" in header)
    return content.getvalue()


def write_fits_gz(picture: Picture) -> bytes:
    """Encode and compress."""
    return packed(write_fits(picture))


def _until_image(fits: Any, source: Any, most: int) -> tuple[bytes, int, bool]:
    """Return the bytes up to the end of the first image, its number, and whether more follows.

    Headers are checked before their data are read. astropy gets bytes in memory: in a damaged compressed file it can
    search for the end of a header forever.
    """
    content, number = bytearray(), 0
    while raw := _header_bytes(source):
        if number == 0 and not raw.startswith(MAGIC):
            break
        header = fits.Header.fromstring(raw)
        tiled = header.get("ZIMAGE") is True  # a compressed image, inside a table
        name = "ZNAXIS" if tiled else "NAXIS"
        shape = [int(header[f"{name}{i + 1}"]) for i in range(int(header[name]))]
        image = (tiled or number == 0 or str(header.get("XTENSION")).strip() == "IMAGE") and len(shape) > 1
        if image:
            require_size(shape[::-1], most)
        size = _data_bytes(header)
        require_size((max(size, 1),), 8 * most + _MOST_BESIDE)
        whole = -(-size // _BLOCK) * _BLOCK
        data = read_up_to(source, whole)
        if len(data) < size:
            raise cut_short("this FITS file", f"{size} bytes of data", len(data))
        content += raw + data + bytes(whole - len(data))
        if image:
            return bytes(content), number, more_follows(source)
        number += 1
    found = "this FITS file holds no image with two axes or more" if number else "this is not a FITS file"
    raise ImageFileError(f"{found}: choose another file")


def _header_bytes(source: Any) -> bytes:
    """Read one header, up to the block with its END; nothing at the end of the file."""
    raw = b""
    while len(raw) < _MOST_BESIDE:
        block: bytes = source.read(_BLOCK)
        raw += block
        if any(block[at : at + 80].rstrip() == b"END" for at in range(0, len(block), 80)):
            return raw
        if len(block) < _BLOCK:
            break
    if raw.strip(b"\0 "):
        raise ImageFileError("this FITS file is damaged (a header has no end): get another copy")
    return b""


def _data_bytes(header: Any) -> int:
    lengths = [int(header[f"NAXIS{i + 1}"]) for i in range(int(header["NAXIS"]))]
    values = math.prod(lengths) if lengths else 0
    return abs(int(header["BITPIX"])) // 8 * int(header.get("GCOUNT", 1)) * (int(header.get("PCOUNT", 0)) + values)


def _unscaled(stored: Pixels, header: Any) -> tuple[Pixels, tuple[float, float] | None]:
    """Return stored pixels and remove the scale from the header. A scale that only changes the sign is applied."""
    scale = float(header.get("BSCALE", 1.0)), float(header.get("BZERO", 0.0))
    for name in ("BSCALE", "BZERO"):
        header.remove(name, ignore_missing=True)
    pixels = np.array(stored, stored.dtype.newbyteorder("="))
    bits = 8 * pixels.dtype.itemsize
    if pixels.dtype.kind in "iu" and scale == (1.0, _OTHER_SIGN[bits]):
        flipped = pixels.view(f"u{bits // 8}") ^ np.array(1 << (bits - 1), f"u{bits // 8}")
        return flipped.view(np.int8) if bits == 8 else flipped, None
    return pixels, None if scale == (1.0, 0.0) else scale


def _axes(header: Any, ndim: int) -> tuple[str, dict[str, float], dict[str, str]]:
    """Read letters from CTYPE, and spacing from CDELT or the CD matrix. FITS counts axes from 1, fastest first."""
    letters = ["X", "Y"]
    for number in range(3, ndim + 1):
        kind = _word(header, "CTYPE", number).upper()
        meant = next((letter for start, letter in _MEANING.items() if kind.startswith(start)), "Z")
        free = [letter for letter in (meant, "Z", "T", "C") if letter not in letters]
        if not free:
            raise ImageFileError(f"it has {ndim} axes, but an image has at most 5: extract a part of it first")
        letters.append(free[0])
    spacing, units = {}, {}
    for number, letter in enumerate(letters, start=1):
        step = _step(header, number)
        if 0 < step < math.inf:
            spacing[letter] = step
            sky = "deg" if "--" in _word(header, "CTYPE", number) else ""
            units[letter] = short(_word(header, "CUNIT", number) or sky)
    return "".join(reversed(letters)), spacing, units


def _step(header: Any, number: int) -> float:
    column = [header.get(f"CD{row}_{number}") for row in range(1, 6)]
    if any(isinstance(each, (int, float)) for each in column):
        return math.hypot(*(float(each) for each in column if isinstance(each, (int, float))))
    step = header.get(f"CDELT{number}", 0.0)
    return abs(float(step)) if isinstance(step, (int, float)) else 0.0


def _word(header: Any, name: str, number: int) -> str:
    return str(header.get(f"{name}{number}", "")).strip()


def _new_header(fits: Any, picture: Picture, axes: str) -> Any:
    """Make a header with axes and spacing for a picture from another format; `axes` are those stored."""
    header = fits.Header()
    colour = colour_last(picture.axes) and picture.pixels.shape[-1] == 3
    for number, letter in enumerate(reversed(axes), start=1):
        if letter in _NAMES:
            header[f"CTYPE{number}"] = "RGB" if colour and letter == "C" else _NAMES[letter]
        if letter in picture.spacing:
            header[f"CDELT{number}"] = picture.spacing[letter]
            header[f"CUNIT{number}"] = picture.units.get(letter, "")
    return header
