"""Camera RAW, read through rawpy: the values of the sensor, linear, as four planes of one colour each.

Noise is white on the sensor, and not after the colours have been interpolated: denoise these planes, put them together
again with `mosaic`, and develop the result. RAW is not written: use TIFF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats.errors import ImageFileError, library, require_size
from epitomes.formats.picture import Picture, Pixels

_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell, in the order of the planes


@dataclass(frozen=True)
class RawInfo:
    """What is needed to develop the planes."""

    title: ClassVar[str] = "what the camera said of its sensor"

    colours: str  # of the four planes, such as "RGGB"
    black: tuple[float, ...]  # level of each plane without light
    white: float  # level at which the sensor is full
    white_balance: tuple[float, ...]  # factors of red, green, blue and the second green


def read_raw(file: BinaryIO, most: int) -> Picture:
    """Four planes "CYX" of half the size, one per corner of the Bayer cell; values as the sensor gave them."""
    rawpy = library("rawpy", extra="raw", what="camera RAW")
    with rawpy.imread(file) as raw:
        sizes = raw.sizes
        require_size((sizes.raw_height, sizes.raw_width), most)
        if raw.raw_pattern is None or raw.raw_pattern.shape != (2, 2):
            raise ImageFileError("its sensor has no 2 x 2 Bayer pattern, which is not read: develop it first")
        sensor = np.array(raw.raw_image_visible)
        shift = sizes.top_margin % 2, sizes.left_margin % 2
        info = _info(raw, shift)
    height, width = (n - n % 2 for n in sensor.shape)
    planes = np.stack([sensor[y:height:2, x:width:2] for y, x in _CORNERS])
    notes = [f"four planes of the sensor, {info.colours}, not interpolated; black is {min(info.black):g}"]
    if (height, width) != sensor.shape:
        notes.append("its last odd row or column is left out")
    return Picture(planes, "CYX", metadata=info, notes=tuple(notes))


def mosaic(picture: Picture) -> Pixels:
    """The sensor's picture `(2 height, 2 width)` from the four planes that `read` gave."""
    if picture.axes != "CYX" or len(picture.pixels) != len(_CORNERS):
        raise ValueError(f"mosaic needs four planes with the axes CYX, got {picture.axes} of {picture.pixels.shape}")
    _, height, width = picture.pixels.shape
    sensor = np.empty((2 * height, 2 * width), picture.pixels.dtype)
    for plane, (y, x) in zip(picture.pixels, _CORNERS, strict=True):
        sensor[y::2, x::2] = plane
    return sensor


def _info(raw: Any, shift: tuple[int, int]) -> RawInfo:
    """Colours and levels of the visible corners; `shift`: how far the visible part starts inside a cell."""
    places = [int(raw.raw_pattern[(y + shift[0]) % 2, (x + shift[1]) % 2]) for y, x in _CORNERS]
    names = raw.color_desc.decode("ascii", "replace")
    return RawInfo(
        colours="".join(names[i] for i in places),
        black=tuple(float(raw.black_level_per_channel[i]) for i in places),
        white=float(raw.white_level),
        white_balance=tuple(map(float, raw.camera_whitebalance)),
    )
