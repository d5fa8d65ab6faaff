"""TIFF, BigTIFF, OME-TIFF and ImageJ stacks, read with tifffile.

Only the named file is opened, although OME-XML may refer to others. The sizes of images, tiles and compressed segments
are checked before anything is decoded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from epitomes.formats import ome
from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, library, unsupported
from epitomes.formats.photo import ALPHA_KEPT, BILEVEL, CMYK, PALETTE, UPRIGHT, split_alpha, turned
from epitomes.formats.picture import Picture, Pixels, require_numbers
from epitomes.formats.series import Series, chosen, told
from epitomes.formats.tiff_pages import require_pages
from epitomes.formats.units import short

MAGIC = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")

_NOT_READ = {
    4: "a transparency mask",
    8: "CIE L*a*b* colours",
    9: "CIE L*a*b* colours",
    10: "CIE L*a*b* colours",
    32844: "logarithmic colours",
    32845: "logarithmic colours",
}
_RGB, _PALETTE, _CMYK, _YCBCR, _MOSAIC = 2, 3, 5, 6, 32803
_EXACT = {1, 5, 8, 32773, 32946, 34925, 50000}  # none, LZW, Deflate, PackBits, LZMA, Zstandard
_JPEG = 7
_MOST_STORED = 2**44  # values of an image of which windows are read
_LEAST_TILE = 2**22  # values: a tile may be larger than a small image
_TAGS = (
    *(271, 272, 306, 315, 33432, 700, 33723, 34675),  # maker, date, copyright, XMP, IPTC, ICC
    *(33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113),  # position on earth: GeoTIFF and GDAL
)
_MICROSCOPES = (34118, 34680, 34682)  # Zeiss and FEI: settings in words, which tifffile would take apart
_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 274, 282, 283, 296
_INCH, _CENTIMETRE = 2, 3
_MOST_SETTINGS = 2**20  # bytes
_ALPHA = (1, 2)  # extra samples: premultiplied alpha, and not


@dataclass(frozen=True, eq=False)
class TiffInfo:
    """Metadata that passes from TIFF to TIFF."""

    xml: str = ""  # of OME
    image: int = field(default=0, repr=False)  # number of the image in it
    imagej: Mapping[str, Any] | None = None
    json: Mapping[str, Any] = field(default_factory=dict)  # what tifffile stores besides the shape
    description: str = ""
    tags: tuple[tuple[int, int, int, Any], ...] = ()  # code, type, count, value
    resolution: tuple[Any, Any, int] | None = None  # in print: two ratios and their unit
    big: bool = False
    compressed: bool = False
    white_is_zero: bool = False
    alpha_in_colours: bool = False

    @property
    def title(self) -> str:
        """Name what other formats lose; the loss of the file's structure needs no message."""
        if self.xml:
            return "OME-XML"
        return "the tags of the TIFF file" if self.imagej or self.json or self.description or self.tags else ""


def is_tiff(head: bytes) -> bool:
    """Return whether a file starts so. A DICOM file may have the head of a TIFF file in its preamble."""
    return head.startswith(MAGIC) and head[128:132] != b"DICM"


def read_tiff(file: BinaryIO, most: int, series: int | str | None = None) -> Picture:
    """Read one series of the file, an image, a stack or a volume; by default the first."""
    tifffile = library("tifffile", extra=None, what="TIFF")
    if file.read(4) not in MAGIC:
        raise ImageFileError("this is not a TIFF image: correct its suffix, or get another copy")
    require_pages(file)
    with tifffile.TiffFile(file, _multifile=False) as tiff:
        images, one = _images(tiff, series)
        wanted = tiff.series[one.index]
        page = wanted.keyframe
        _require_readable(wanted, page, most)
        info, spacing, units = _described(tiff, wanted, page, one.index)
        pixels, axes, alpha, notes = _arranged(*_coloured(wanted.asarray(), wanted.axes, page), page)
        if page.photometric == _PALETTE:
            notes.append(PALETTE)
        if wanted.dtype == np.bool_:
            notes.append(BILEVEL)
        if tiff.is_ome and wanted.kind != "ome":
            notes.append("its OME-XML refers to other files, which are not opened: only this file is read")
        notes += told(images, one, "; a copy holds this one alone")
    several = tuple(images) if len(images) > 1 else ()
    return Picture(pixels, axes, spacing, units, alpha, info, notes=tuple(notes), series=several)


@dataclass(frozen=True, eq=False)
class OpenedTiff:
    """One series of a file whose windows can be read; its pixels have not been."""

    array: Any
    axes: str
    spacing: dict[str, float]
    units: dict[str, str]
    notes: tuple[str, ...]


def open_tiff(path: Path, series: int | str | None = None) -> OpenedTiff:
    """Open one series to read windows of it. The file stays open as long as the array is used."""
    tifffile = library("tifffile", extra=None, what="TIFF")
    zarr = library("zarr", extra="zarr", what="reading windows of TIFF images")
    with path.open("rb") as file:
        require_pages(file)
    tiff = tifffile.TiffFile(path, _multifile=False)
    images, one = _images(tiff, series)
    wanted = tiff.series[one.index]
    page = wanted.keyframe
    _require_readable(wanted, page, _MOST_STORED)
    changed = int(page.photometric) == _PALETTE or wanted.dtype == np.bool_ or any(map(int, page.extrasamples))
    if changed or page.tags.valueof(_ORIENTATION, default=1) != 1:
        raise unsupported("a palette, single bits, with transparency or turned", "read it whole, or convert it")
    _, spacing, units = _described(tiff, wanted, page, one.index)
    if wanted.dataoffset is not None:  # one piece: its only chunk would be the whole image
        array: Any = tifffile.memmap(path, series=one.index, mode="r")
    else:
        array = zarr.open(wanted.aszarr(level=0), mode="r")
    notes = told(images, one, "; a copy holds this one alone")
    return OpenedTiff(array, _letters(wanted.axes), spacing, units, tuple(notes))


def _images(tiff: Any, series: int | str | None) -> tuple[list[Series], Series]:
    """All images of a file, and the one that is wanted."""
    if tiff.is_ome:
        ome.require_harmless(tiff.pages[0].description)
    if not tiff.series:
        raise ImageFileError("this TIFF file holds no image: choose another file")
    images = [
        Series(i, str(each.name or ""), tuple(map(int, each.shape)), str(each.dtype or ""))
        for i, each in enumerate(tiff.series)
    ]
    return images, chosen(images, series)


def _require_readable(series: Any, page: Any, most: int) -> None:
    """Refuse unsupported pixels, and sizes above the limit that the header announces or hides."""
    kind = int(page.photometric)
    if kind == _CMYK:
        raise unsupported("CMYK colours", CMYK)
    if kind == _MOSAIC:
        raise unsupported("the Bayer mosaic of a camera", "give it the suffix of camera RAW files, such as .dng")
    if kind in _NOT_READ:
        raise unsupported(_NOT_READ[kind])
    if kind == _PALETTE and (page.colormap is None or series.dtype not in (np.uint8, np.uint16)):
        raise unsupported("a colour palette of an unknown kind")
    if kind == _YCBCR and int(page.compression) != _JPEG:
        raise unsupported("YCbCr colours")
    if int(page.compression) not in _EXACT | {_JPEG}:
        name = getattr(page.compression, "name", page.compression)
        raise ImageFileError(f"its compression {name} is not supported: save it with Deflate, LZW or no compression")
    if series.dtype is None:
        raise ImageFileError("the type of its values is unknown: save it with integers or floats of at most 64 bits")
    if series.dtype != np.bool_:
        require_numbers(series.dtype)
    require_size((*series.shape, 3) if kind == _PALETTE else series.shape, most)
    require_size(page.chunks, max(most, _LEAST_TILE))
    if any(each is None for each in series.pages):
        raise ImageFileError("some of its planes are in other files: save it as one file")
    if int(page.compression) != 1:  # a segment much longer than its pixels hides something
        room = 2 * math.prod(page.chunks) * series.dtype.itemsize + 2**16
        if any(count > room for each in series.pages for count in each.databytecounts):
            raise ImageFileError("it is damaged (a compressed segment is far longer than its pixels): get another copy")


def _coloured(pixels: Pixels, axes: str, page: Any) -> tuple[Pixels, str]:
    """Look up palettes, whose colours have 16 bits, and write single bits as 0 and 255."""
    if pixels.dtype == np.bool_:
        return pixels.astype(np.uint8) * 255, axes
    if int(page.photometric) != _PALETTE:
        return pixels, axes
    return np.rint(np.moveaxis(np.asarray(page.colormap), 0, -1)[pixels] / 257).astype(np.uint8), axes + "S"


def _arranged(pixels: Pixels, axes: str, page: Any) -> tuple[Pixels, str, Pixels | None, list[str]]:
    """Move colours last, turn the image upright, split off transparency, and translate the axes."""
    notes = []
    if "S" in axes and not axes.endswith("S"):  # colours in planes of their own
        pixels = np.moveaxis(pixels, axes.index("S"), -1)
        axes = axes.replace("S", "") + "S"
    orientation = page.tags.valueof(_ORIENTATION, default=1)
    if orientation != 1 and axes in ("YX", "YXS"):
        pixels = turned(pixels, int(orientation))
        notes.append(UPRIGHT)
    alpha = None
    colours = 3 if int(page.photometric) in (_RGB, _PALETTE, _YCBCR) else 1
    if axes.endswith("S") and pixels.shape[-1] == colours + 1 and int(page.extrasamples[-1]) in _ALPHA:
        pixels, alpha = split_alpha(pixels, colours)
        axes = axes if colours == 3 else axes[:-1]
        notes.append(ALPHA_KEPT)
    return pixels, _letters(axes), alpha, notes


def _letters(axes: str) -> str:
    """Translate tifffile's letters: S, samples, becomes C; a sequence of unknown meaning becomes Z, otherwise T."""
    letters = list(axes.replace("C", "?") if "S" in axes else axes)
    for i, letter in enumerate(letters):
        if letter == "S":
            letters[i] = "C"
        elif letter not in "TZCYX":
            free = [each for each in "ZTC" if each not in axes and each not in letters]
            if not free:
                raise ImageFileError(f"it has more axes ({axes}) than T, Z, C, Y and X: extract a part of it first")
            letters[i] = free[0]
    return "".join(letters)


def _described(tiff: Any, series: Any, page: Any, number: int) -> tuple[TiffInfo, dict[str, float], dict[str, str]]:
    """Read the metadata, and the spacing with its units, where this kind of TIFF stores them."""
    spacing: dict[str, float] = {}
    units: dict[str, str] = {}
    xml, imagej, json, description = "", None, {}, ""
    ratios = (page.tags.valueof(_X_RESOLUTION), page.tags.valueof(_Y_RESOLUTION))
    unit = int(page.tags.valueof(_RESOLUTION_UNIT, default=1))
    across, down = (_step(ratio) for ratio in ratios)
    if series.kind == "ome":
        xml = tiff.ome_metadata
        spacing, units = ome.spacing_in(xml, number)
    elif series.kind == "imagej" and tiff.imagej_metadata:
        imagej = tiff.imagej_metadata
        spacing, units = _imagej_spacing(imagej, across, down)
    elif series.kind == "shaped" and tiff.shaped_metadata:
        json = dict(tiff.shaped_metadata[min(number, len(tiff.shaped_metadata) - 1)])
        spacing, units = _numbers(json.pop("spacing", None)), _words(json.pop("units", None))
        json = {name: value for name, value in json.items() if name not in ("shape", "axes", "truncated")}
        description = page.description if page.description1 else ""
    else:
        description = page.description
    if not spacing and tiff.is_fei:
        scan = (tiff.fei_metadata or {}).get("Scan", {})
        spacing = _numbers({"X": scan.get("PixelWidth"), "Y": scan.get("PixelHeight")})
        units = dict.fromkeys(spacing, "m")
    if not spacing and unit == _CENTIMETRE and across and down:  # inches are for print
        spacing, units = {"X": across, "Y": down}, {"X": "cm", "Y": "cm"}
    printed = (*ratios, unit) if unit in (_INCH, _CENTIMETRE) and across and down else None
    info = TiffInfo(
        xml=xml,
        image=number,
        imagej=imagej,
        json=json,
        description=description,
        tags=tuple(_tags(tiff, page)),
        resolution=printed,
        big=tiff.is_bigtiff,
        compressed=int(page.compression) != 1,
        white_is_zero=int(page.photometric) == 0,
        alpha_in_colours=1 in map(int, page.extrasamples),
    )
    return info, spacing, units


def _tags(tiff: Any, page: Any) -> Iterator[tuple[int, int, int, Any]]:
    for tag in page.tags:
        if tag.code in _TAGS:
            yield tag.code, int(tag.dtype), tag.count, tag.value
        elif tag.code in _MICROSCOPES and 0 < tag.valuebytecount <= _MOST_SETTINGS:
            tiff.filehandle.seek(tag.valueoffset)
            yield tag.code, int(tag.dtype), tag.count, tiff.filehandle.read(tag.valuebytecount)


def _imagej_spacing(found: Mapping[str, Any], across: float, down: float) -> tuple[dict[str, float], dict[str, str]]:
    unit = short(str(found.get("unit", "")))
    spacing, units = {}, {}
    if unit and across and down:
        spacing, units = {"X": across, "Y": down}, {"X": unit, "Y": unit}
        if depth := _numbers({"Z": found.get("spacing")}):
            spacing, units = {**spacing, **depth}, {**units, "Z": unit}
    if every := _numbers({"T": found.get("finterval")}):
        spacing, units = {**spacing, **every}, {**units, "T": short(str(found.get("tunit", "s")))}
    return spacing, units


def _step(ratio: Any) -> float:
    """Convert a resolution, a ratio of dots per unit, to a spacing; 0 if there is none."""
    match ratio:
        case (int(dots), int(length)) if dots > 0 and length > 0:
            return length / dots
    return 0.0


def _numbers(found: Any) -> dict[str, float]:
    """Return the entries of a mapping that are valid distances, because a file may hold anything."""
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {
        str(letter): float(step)
        for letter, step in pairs
        if isinstance(step, (int, float)) and not isinstance(step, bool) and 0 < step < math.inf
    }


def _words(found: Any) -> dict[str, str]:
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {str(letter): short(unit) for letter, unit in pairs if isinstance(unit, str)}
