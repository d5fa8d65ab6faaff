"""DNG, written with tifffile: the image of a sensor with what RAW developers need to know of it."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from typing import Any

import numpy as np

from epitomes.formats.errors import ImageFileError, cannot_hold, library
from epitomes.formats.picture import Picture
from epitomes.formats.raw import RawInfo, mosaic

_MOSAIC = 32803  # photometric interpretation: a colour filter array
_BYTE, _ASCII, _SHORT, _LONG, _RATIONAL, _SIGNED_RATIONAL = 1, 2, 3, 4, 5, 10
_COLOURS = "RGB"
_DAYLIGHT = 21  # illuminant D65, for which LibRaw has its matrices
_FINEST = 10**6  # denominators of ratios
_COLOUR_MATRIX, _CAMERA = 50721, 50708

Tag = tuple[int, int, int, Any]


def write_dng(picture: Picture) -> bytes:
    """Encode the four channels of a sensor as DNG 1.4."""
    info = picture.metadata
    if not isinstance(info, RawInfo):
        raise ImageFileError(
            "DNG holds the sensor data of a camera, and this picture was not read from camera RAW: use the suffix .tif"
        )
    if set(info.colours) - set(_COLOURS):
        raise cannot_hold(f"the colours {info.colours}", "DNG", "red, green and blue", ".tif")
    if picture.pixels.dtype != np.uint16:
        raise cannot_hold(f"{picture.pixels.dtype} values", "DNG", "uint16", ".tif")
    content = BytesIO()
    tifffile = library("tifffile", extra=None, what="DNG")
    with tifffile.TiffWriter(content, byteorder="<") as writer:
        writer.write(
            mosaic(picture),
            photometric=_MOSAIC,
            metadata=None,
            subfiletype=0,
            software="epitomes",
            extratags=_tags(info),
        )
    return content.getvalue()


def _tags(info: RawInfo) -> list[Tag]:
    neutral = [1 / factor if factor > 0 else 1.0 for factor in info.white_balance[:3]]
    tags: list[Tag] = [
        (274, _SHORT, 1, info.orientation),
        (33421, _SHORT, 2, (2, 2)),  # size of a cell
        (33422, _BYTE, 4, bytes(_COLOURS.index(colour) for colour in info.colours)),
        (50706, _BYTE, 4, bytes([1, 4, 0, 0])),  # version
        (50707, _BYTE, 4, bytes([1, 1, 0, 0])),  # oldest version that readers need
        (50713, _SHORT, 2, (2, 2)),  # black levels repeat with the cells
        (50714, _RATIONAL, 4, _ratios(info.black)),
        (50717, _LONG, 1, round(info.white)),
        (50728, _RATIONAL, 3, _ratios([value / max(neutral) for value in neutral])),  # the white of the scene
        *info.tags,
    ]
    present = {tag[0] for tag in info.tags}
    if _CAMERA not in present:
        model = next((str(tag[3]) for tag in info.tags if tag[0] == 272), "unknown camera")
        tags.append((_CAMERA, _ASCII, 0, model))
    if _COLOUR_MATRIX not in present and info.colour_matrix is not None:
        tags += [(_COLOUR_MATRIX, _SIGNED_RATIONAL, 9, _ratios(info.colour_matrix)), (50778, _SHORT, 1, _DAYLIGHT)]
    return tags


def _ratios(values: Any) -> tuple[int, ...]:
    """Return numerators and denominators, one after the other."""
    fractions = [Fraction(float(value)).limit_denominator(_FINEST) for value in values]
    return tuple(part for each in fractions for part in (each.numerator, each.denominator))
