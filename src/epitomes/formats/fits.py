"""FITS, with astropy: one image of a file. Its header, including the WCS, passes from file to file, and so do all other
images and tables, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size, too_large
from epitomes.formats.errors import ImageFileError, cannot_hold, cut_short, library
from epitomes.formats.packed import packed, read_up_to, unpacked
from epitomes.formats.picture import Picture, Pixels, colour_last, ordered, scale_note
from epitomes.formats.series import Series, chosen, told
from epitomes.formats.units import short

MAGIC = b"SIMPLE  ="

_BLOCK = 2880  # bytes: headers and data come in blocks
_EXTENSION = b"XTENSION="
_MOST_BESIDE = 2**24  # bytes of a header, and of data besides images
_MEANING = {  # start of CTYPE, for axes that are not on the sky
    **dict.fromkeys(("FREQ", "WAVE", "AWAV", "VELO", "VRAD", "VOPT", "ENER", "STOKES", "CHANNEL", "RGB"), "C"),
    **dict.fromkeys(("TIME", "UTC", "TAI", "MJD"), "T"),
}
_NAMES = {"T": "TIME", "C": "CHANNEL"}  # CTYPE in new files
_OTHER_SIGN = {8: -(2.0**7), 16: 2.0**15, 32: 2.0**31, 64: 2.0**63}  # BITPIX -> BZERO that only changes the sign
_STORED = {8: "uint8", 16: "int16", 32: "int32", 64: "int64", -32: "float32", -64: "float64"}  # by BITPIX
_COMPRESSED = ("uint8", "int16", "uint16", "int32", "uint32")  # the compression of floats loses something
_EXACT = ("RICE_1", "GZIP_1", "GZIP_2")  # compressions of integers that lose nothing
_DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@dataclass(frozen=True)
class FitsInfo:
    """Metadata that passes from FITS to FITS."""

    title: ClassVar[str] = "the FITS header"

    header: str  # of the image
    shape: tuple[int, ...]  # as stored
    scale: tuple[float, float] | None  # BSCALE and BZERO, if they change the stored values
    hdus_before: bytes = b""  # as stored; none, if the image is the primary HDU
    hdus_after: bytes = b""
    compression: str = ""  # of the tiles of the image, such as RICE_1


def is_fits(head: bytes) -> bool:
    """Return whether a file starts so."""
    return head.startswith(MAGIC)


def read_fits(file: BinaryIO, most: int, series: int | str | None = None) -> Picture:
    """Read an image with two axes or more. Values are as stored; a note tells if the file scales them."""
    fits = library("astropy.io.fits", extra="fits", what="FITS")
    content, parts = _scanned(fits, unpacked(file), most, first=series is None)
    images = [part.image for part in parts if part.image is not None]
    if not images:
        found = "this FITS file holds no image with two axes or more" if parts else "this is not a FITS file"
        raise ImageFileError(f"{found}: choose another file")
    one = chosen(images, series)
    require_size(one.shape, most)
    with fits.open(BytesIO(content), memmap=False, do_not_scale_image_data=True) as opened:
        header = opened[one.index].header.copy()
        compression = str(getattr(opened[one.index], "compression_type", ""))
        pixels, scale = _unscaled(opened[one.index].data, header)
    part = parts[one.index]
    axes, spacing, units = _axes(header, pixels.ndim)
    info = FitsInfo(header.tostring(), pixels.shape, scale, content[: part.start], content[part.end :], compression)
    notes = ([] if scale is None else [scale_note(*scale)]) + _missing(header, pixels) + told(images, one)
    if "C" in axes and _word(header, "CTYPE", pixels.ndim - axes.index("C")) == "RGB":
        pixels, axes = ordered(pixels, axes, axes.replace("C", "") + "C")
    several = tuple(images) if len(images) > 1 else ()
    return Picture(pixels, axes, spacing, units, metadata=info, notes=tuple(notes), series=several)


def write_fits(picture: Picture) -> bytes:
    """Encode the image with the header of its source file and lines of HISTORY, among the other HDUs of that file."""
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
        info = FitsInfo(_new_header(fits, picture, axes).tostring(), pixels.shape, None)
    header = fits.Header.fromstring(info.header)
    for line in _history(picture, info.header):
        header.add_history(line)
    pixels = np.ascontiguousarray(pixels)
    if info.compression and info.scale is None and pixels.dtype.name in _COMPRESSED:
        kind = info.compression if info.compression in _EXACT else _EXACT[0]
        image = fits.CompImageHDU(pixels, header, compression_type=kind)
    else:
        image = (fits.ImageHDU if info.hdus_before else fits.PrimaryHDU)(pixels, header)
    if info.scale is not None:
        image.header["BSCALE"], image.header["BZERO"] = info.scale
    content = BytesIO()
    parts = [fits.PrimaryHDU(), image] if info.hdus_before else [image]  # an extension is not written without one
    fits.HDUList(parts).writeto(content, checksum="CHECKSUM" in header)
    encoded = content.getvalue()[_BLOCK if info.hdus_before else 0 :]
    return info.hdus_before + encoded + info.hdus_after


def write_fits_gz(picture: Picture) -> bytes:
    """Encode and compress."""
    return packed(write_fits(picture))


@dataclass(frozen=True)
class _Part:
    """A header-data unit: where it is in the file, and the image in it, if there is one."""

    start: int
    end: int
    image: Series | None


def _scanned(fits: Any, source: Any, most: int, *, first: bool) -> tuple[bytes, list[_Part]]:
    """Return the bytes of the file and its parts; `first`: the first image is wanted, so that its size is checked.

    Headers are checked before their data are read. astropy gets bytes in memory: in a damaged compressed file it can
    search for the end of a header forever.
    """
    content, parts = bytearray(), list[_Part]()
    while raw := _header_bytes(source):
        if not raw.startswith(_EXTENSION if parts else MAGIC):
            content += raw + read_up_to(source, _MOST_BESIDE)  # what follows the last part belongs to nobody
            break
        header = fits.Header.fromstring(raw)
        image = _image(header, len(parts))
        if first and image is not None and not any(part.image for part in parts):
            require_size(image.shape, most)
        size = _data_bytes(header)
        if (total := len(content) + len(raw) + size) > 8 * most + _MOST_BESIDE:
            raise too_large(f"its images and tables take {total} bytes", most, total // 8)
        whole = -(-size // _BLOCK) * _BLOCK
        data = read_up_to(source, whole)
        if len(data) < size:
            raise cut_short("this FITS file", f"{size} bytes of data", len(data))
        start = len(content)
        content += raw + data + bytes(whole - len(data))
        parts.append(_Part(start, len(content), image))
    return bytes(content), parts


def _image(header: Any, number: int) -> Series | None:
    """Describe the image in a header-data unit; None if it holds a table, or fewer than two axes."""
    tiled = header.get("ZIMAGE") is True  # a compressed image, inside a table
    name, bits = ("ZNAXIS", "ZBITPIX") if tiled else ("NAXIS", "BITPIX")
    shape = tuple(int(header[f"{name}{i}"]) for i in range(int(header[name]), 0, -1))
    if len(shape) < 2 or not (tiled or number == 0 or str(header.get("XTENSION")).strip() == "IMAGE"):
        return None
    stored = _STORED.get(int(header[bits]), "")
    if stored.startswith(("int", "uint")) and _is_other_sign(header, abs(int(header[bits]))):
        stored = stored.removeprefix("u") if stored == "uint8" else f"u{stored}"
    again = int(header.get("EXTVER", 1))
    title = str(header.get("EXTNAME", "")).strip()
    return Series(number, f"{title},{again}" if title and again > 1 else title, shape, stored)


def _history(picture: Picture, header: str) -> Iterator[str]:
    """Yield lines for HISTORY, in the signs that FITS allows; without a history, who wrote the file, once."""
    made = f"written by epitomes {version('epitomes')}"
    for line in picture.history or ([] if made in header else [made]):
        yield line.encode("ascii", "replace").decode()


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
    if raw.startswith((MAGIC, _EXTENSION)):
        raise ImageFileError("this FITS file is damaged (a header has no end): get another copy")
    return raw


def _data_bytes(header: Any) -> int:
    lengths = [int(header[f"NAXIS{i + 1}"]) for i in range(int(header["NAXIS"]))]
    values = math.prod(lengths) if lengths else 0
    return abs(int(header["BITPIX"])) // 8 * int(header.get("GCOUNT", 1)) * (int(header.get("PCOUNT", 0)) + values)


def _unscaled(stored: Pixels, header: Any) -> tuple[Pixels, tuple[float, float] | None]:
    """Return stored pixels and remove the scale from the header. A scale that only changes the sign is applied."""
    scale = float(header.get("BSCALE", 1.0)), float(header.get("BZERO", 0.0))
    other_sign = _is_other_sign(header, 8 * stored.dtype.itemsize)
    for name in ("BSCALE", "BZERO"):
        header.remove(name, ignore_missing=True)
    pixels = np.array(stored, stored.dtype.newbyteorder("="))
    bits = 8 * pixels.dtype.itemsize
    if pixels.dtype.kind in "iu" and other_sign:
        flipped = pixels.view(f"u{bits // 8}") ^ np.array(1 << (bits - 1), f"u{bits // 8}")
        return flipped.view(np.int8) if bits == 8 else flipped, None
    return pixels, None if scale == (1.0, 0.0) else scale


def _missing(header: Any, pixels: Pixels) -> list[str]:
    """Return the note for integers that stand for no value."""
    blank = header.get("BLANK")
    count = int(np.count_nonzero(pixels == blank)) if pixels.dtype.kind in "iu" and isinstance(blank, int) else 0
    return [f"{count} of its values are {blank}, which stands for a missing value (BLANK)"] if count else []


def _is_other_sign(header: Any, bits: int) -> bool:
    """Return whether the scale of integers only changes their sign."""
    return bool(float(header.get("BSCALE", 1.0)) == 1.0 and float(header.get("BZERO", 0.0)) == _OTHER_SIGN.get(bits))


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
