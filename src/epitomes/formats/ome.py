"""OME-XML, the description in an OME-TIFF file: the spacing is read, the rest passes from file to file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.dom import minidom

from epitomes.formats.errors import ImageFileError
from epitomes.formats.picture import Picture
from epitomes.formats.units import is_length, is_time, short

_STEPS = {"X": "PhysicalSizeX", "Y": "PhysicalSizeY", "Z": "PhysicalSizeZ", "T": "TimeIncrement"}
_USUAL = {"X": "um", "Y": "um", "Z": "um", "T": "s"}  # if the file gives no unit
_TYPES = {"float32": "float", "float64": "double"}

DTYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64")


def require_harmless(xml: str) -> None:
    """Refuse entities: OME-XML does not need them, and a few of them can fill the memory."""
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise ImageFileError("its OME-XML defines entities, which are not supported: save it again as plain TIFF")


def spacing_in(xml: str, image: int = 0) -> tuple[dict[str, float], dict[str, str]]:
    """Read the spacing and units of an image."""
    spacing, units = {}, {}
    pixels = _pixels(minidom.parseString(xml.encode()), image)
    for letter, name in _STEPS.items():
        try:
            step = float(pixels.getAttribute(name))
        except ValueError:
            continue
        if 0 < step < math.inf:
            spacing[letter] = step
            units[letter] = short(pixels.getAttribute(f"{name}Unit") or _USUAL[letter])
    return spacing, units


def spacing_tags(picture: Picture) -> dict[str, float | str]:
    """Return the spacing as attributes of OME, without units that OME does not know."""
    tags: dict[str, float | str] = {}
    for letter, step in picture.spacing.items():
        unit = picture.units.get(letter, _USUAL.get(letter, ""))
        if letter in _STEPS and (is_time(unit) if letter == "T" else is_length(unit)):
            tags[_STEPS[letter]] = step
            tags[f"{_STEPS[letter]}Unit"] = {"um": "µm", "us": "µs"}.get(unit, unit)
    return tags


def rewritten(xml: str, image: int, picture: Picture, axes: str, lengths: Mapping[str, int]) -> str | None:
    """Adapt a description to other pixels of the same size; return None if it does not fit them.

    `axes` are the axes as stored, slowest first, with S for the colours of a pixel.
    """
    document = minidom.parseString(xml.encode())
    pixels, root = _pixels(document, image), document.documentElement
    assert root is not None  # it holds `pixels`
    if any(pixels.getAttribute(f"Size{letter}") != str(lengths.get(letter, 1)) for letter in "XYZCT"):
        return None
    for other in root.getElementsByTagNameNS("*", "Image"):
        if other is not pixels.parentNode:
            root.removeChild(other)
    for name in ("BinData", "TiffData", "MetadataOnly"):
        for old in pixels.getElementsByTagNameNS("*", name):
            pixels.removeChild(old)
    for name in ("UUID", "Creator"):
        if root.hasAttribute(name):
            root.removeAttribute(name)
    root.setAttribute("Creator", "epitomes")
    data = document.createElement(f"{pixels.prefix}:TiffData" if pixels.prefix else "TiffData")
    planes = [letter for letter in axes if letter not in "YXS"]
    data.setAttribute("IFD", "0")
    data.setAttribute("PlaneCount", str(math.prod(lengths[letter] for letter in planes)))
    pixels.insertBefore(data, next(iter(pixels.getElementsByTagNameNS("*", "Plane")), None))
    fastest = (["C"] if "S" in axes else []) + planes[::-1]
    pixels.setAttribute("DimensionOrder", "XY" + "".join([*fastest, *(a for a in "CZT" if a not in fastest)]))
    pixels.setAttribute("Type", _TYPES.get(picture.pixels.dtype.name, picture.pixels.dtype.name))
    for name, word in (("BigEndian", "false"), ("Interleaved", "true" if "S" in axes else "false")):
        if pixels.hasAttribute(name):
            pixels.setAttribute(name, word)
    for name, value in spacing_tags(picture).items():
        pixels.setAttribute(name, str(value))
    return '<?xml version="1.0" encoding="UTF-8"?>' + root.toxml()


def _pixels(document: minidom.Document, image: int) -> minidom.Element:
    found = document.getElementsByTagNameNS("*", "Pixels")
    if len(found) <= image:
        raise ImageFileError("its OME-XML does not describe the pixels: save it again as plain TIFF")
    return found[image]
