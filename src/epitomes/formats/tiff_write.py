"""TIFF, BigTIFF, OME-TIFF and ImageJ stacks, written with tifffile.

A picture is written as the kind of TIFF that it was read from, with its description and tags. A picture from another
format becomes a plain TIFF whose axes, spacing and units are in a line of JSON, as tifffile writes and reads it.
"""

from __future__ import annotations

from collections.abc import Container
from io import BytesIO
from typing import Any

import numpy as np

from epitomes.formats import ome
from epitomes.formats.errors import cannot_hold, library
from epitomes.formats.photo import with_alpha
from epitomes.formats.picture import Picture, Pixels, colour_last, ordered
from epitomes.formats.tiff import TiffInfo
from epitomes.formats.units import converted, is_length

_IMAGEJ_DTYPES = ("uint8", "uint16", "float32")
_IMAGEJ_MADE = ("ImageJ", "images", "channels", "slices", "frames", "hyperstack", "axes", "spacing", "unit")
_CENTIMETRE = 3


def write_tiff(picture: Picture, *, big: bool = False) -> bytes:
    """Encode as the kind of TIFF that the picture was read from, otherwise as plain TIFF; `big`: as BigTIFF."""
    info = _info(picture)
    if info.xml and picture.pixels.dtype.name in ome.DTYPES:
        return _write_ome(picture, info, big)
    if info.imagej is not None and not big and _imagej_holds(picture):
        return _write_imagej(picture, info)
    pixels, axes = _stored(picture)
    json = {**info.json, "axes": axes}
    if picture.spacing:
        json |= {"spacing": dict(picture.spacing), "units": dict(picture.units)}
    return _encoded(picture, pixels, axes, big=big, metadata=json, description=info.description or None)


def write_bigtiff(picture: Picture) -> bytes:
    """Encode as BigTIFF, whatever the size."""
    return write_tiff(picture, big=True)


def write_ome_tiff(picture: Picture) -> bytes:
    """Encode as OME-TIFF, with the OME-XML of the source file."""
    if picture.pixels.dtype.name not in ome.DTYPES:
        raise cannot_hold(f"{picture.pixels.dtype} values", "OME-TIFF", ", ".join(ome.DTYPES), ".tif")
    return _write_ome(picture, _info(picture), False)


def _info(picture: Picture) -> TiffInfo:
    return picture.metadata if isinstance(picture.metadata, TiffInfo) else TiffInfo()


def _stored(picture: Picture, colours: Container[int] = range(2, 65536)) -> tuple[Pixels, str]:
    """Return pixels and axes as TIFF stores them: planes "YX" last, or "YXS" if the colours of a pixel are adjacent."""
    together = colour_last(picture.axes) and picture.pixels.shape[-1] in colours
    inner = "YXC" if together else "YX"
    outer = "".join(letter for letter in picture.axes if letter not in inner)
    pixels, axes = ordered(picture.pixels, picture.axes, outer + inner)
    if picture.alpha is not None and (together or "C" not in axes):
        pixels, together = with_alpha(pixels, picture.alpha), True
    return np.ascontiguousarray(pixels), axes.removesuffix("C") + "S" if together else axes


def _write_ome(picture: Picture, info: TiffInfo, big: bool) -> bytes:
    pixels, axes = _stored(picture, colours=(3, 4))
    lengths = dict(zip(axes, pixels.shape, strict=True))
    lengths["C"] = lengths.get("C", 1) * lengths.get("S", 1)
    xml = ome.rewritten(info.xml, info.image, picture, axes, lengths) if info.xml else None
    if xml is not None:
        return _encoded(picture, pixels, axes, big=big, metadata=None, description=xml.encode())
    return _encoded(picture, pixels, axes, big=big, metadata={"axes": axes, **ome.spacing_tags(picture)}, ome=True)


def _imagej_holds(picture: Picture) -> bool:
    """Return whether ImageJ can hold the picture: it has three dtypes, 8-bit colours and one order of axes."""
    _, axes = _stored(picture)
    in_order = axes == "".join(letter for letter in "TZCYXS" if letter in axes)
    colour = "S" not in axes or (picture.pixels.dtype == np.uint8 and picture.pixels.shape[-1] == 3)
    return in_order and colour and picture.alpha is None and picture.pixels.dtype.name in _IMAGEJ_DTYPES


def _write_imagej(picture: Picture, info: TiffInfo) -> bytes:
    pixels, axes = _stored(picture)
    metadata = {name: value for name, value in (info.imagej or {}).items() if name not in _IMAGEJ_MADE}
    metadata["axes"] = axes
    resolution = None
    if "X" in picture.spacing and "Y" in picture.spacing:
        metadata["unit"] = picture.units.get("X", "pixel")
        resolution = (1 / picture.spacing["X"], 1 / picture.spacing["Y"])
        if "Z" in picture.spacing:
            metadata["spacing"] = picture.spacing["Z"]
    if "T" in picture.spacing:
        metadata["finterval"] = picture.spacing["T"]
    return _encoded(picture, pixels, axes, big=False, metadata=metadata, imagej=True, resolution=resolution)


def _encoded(picture: Picture, pixels: Pixels, axes: str, *, big: bool, resolution: Any = None, **more: Any) -> bytes:
    """Encode the file; `more` goes to tifffile."""
    info = _info(picture)
    colour = axes.endswith("S") and pixels.shape[-1] >= 3 and picture.pixels.shape[-1] == 3
    more["photometric"] = "rgb" if colour else "miniswhite" if info.white_is_zero else "minisblack"
    if axes.endswith("S"):
        more["planarconfig"] = "contig"
    if picture.alpha is not None and axes.endswith("S"):
        more["extrasamples"] = ["assocalpha" if info.alpha_in_colours else "unassalpha"]
    if resolution is not None:
        more["resolution"] = resolution
    else:
        more |= _resolution(picture, info)
    kind = {name: more.pop(name) for name in ("ome", "imagej") if name in more}
    content = BytesIO()
    tifffile = library("tifffile", extra=None, what="TIFF")
    with tifffile.TiffWriter(content, bigtiff=big or info.big or None, byteorder="<", **kind) as writer:
        writer.write(
            pixels,
            compression="zlib" if info.compressed else None,
            extratags=list(info.tags),
            software="epitomes",
            **more,
        )
    return content.getvalue()


def _resolution(picture: Picture, info: TiffInfo) -> dict[str, Any]:
    """Return the resolution in print of the source file, otherwise dots per centimetre from the spacing."""
    if info.resolution is not None:
        across, down, unit = info.resolution
        return {"resolution": (across, down), "resolutionunit": unit}
    steps = [
        converted(picture.spacing.get(letter, 0.0), picture.units.get(letter, ""), "cm")
        for letter in "XY"
        if is_length(picture.units.get(letter, ""))
    ]
    if len(steps) == 2 and all(step is not None and 1e-9 < step < 1e9 for step in steps):
        return {"resolution": tuple(1 / step for step in steps if step), "resolutionunit": _CENTIMETRE}
    return {}
