"""Camera RAW, read with rawpy: the linear values of the sensor, as four planes of one colour each.

Noise is white on the sensor, but not after demosaicing. Denoise these planes, join them with `mosaic`, and develop the
result. RAW is not written: use TIFF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, library
from epitomes.formats.picture import Picture, Pixels

_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell, in the order of the planes


@dataclass(frozen=True)
class RawInfo:
    """Metadata that is needed to develop the planes."""

    title: ClassVar[str] = "the sensor data of the camera"

    colours: str  # of the four planes, such as "RGGB"
    black: tuple[float, ...]  # black level of each plane
    white: float  # saturation level
    white_balance: tuple[float, ...]  # factors of red, green, blue and the second green


def read_raw(file: BinaryIO, most: int) -> Picture:
    """Read four planes "CYX" of half the size, one per corner of the Bayer cell, with the values of the sensor."""
    rawpy = library("rawpy", extra="raw", what="camera RAW")
    with rawpy.imread(file) as raw:
        sizes = raw.sizes
        require_size((sizes.raw_height, sizes.raw_width), most)
        if raw.raw_pattern is None or raw.raw_pattern.shape != (2, 2):
            raise ImageFileError("its sensor has no 2 x 2 Bayer pattern, so it is not supported: develop it first")
        sensor = np.array(raw.raw_image_visible)
        shift = sizes.top_margin % 2, sizes.left_margin % 2
        info = _info(raw, shift)
    height, width = (n - n % 2 for n in sensor.shape)
    planes = np.stack([sensor[y:height:2, x:width:2] for y, x in _CORNERS])
    notes = [f"it is read as the four colour planes {info.colours} of the sensor, with black at {min(info.black):g}"]
    if (height, width) != sensor.shape:
        notes.append("its last row or column, which is odd, is left out")
    return Picture(planes, "CYX", metadata=info, notes=tuple(notes))


def mosaic(picture: Picture) -> Pixels:
    """Join the four colour planes of a camera RAW file to the image of the sensor.

    Parameters
    ----------
    picture : Picture
        Four planes with the axes "CYX", as `read` returns them for RAW files.

    Returns
    -------
    ndarray
        The Bayer mosaic, of twice the height and width.

    Raises
    ------
    ValueError
        If the picture does not have four planes "CYX".

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, mosaic
    >>> mosaic(Picture(np.arange(4).reshape(4, 1, 1), "CYX"))
    array([[0, 1],
           [2, 3]])
    """
    if picture.axes != "CYX" or len(picture.pixels) != len(_CORNERS):
        raise ValueError(f"mosaic needs four planes CYX, got {picture.axes} of shape {picture.pixels.shape}")
    _, height, width = picture.pixels.shape
    sensor = np.empty((2 * height, 2 * width), picture.pixels.dtype)
    for plane, (y, x) in zip(picture.pixels, _CORNERS, strict=True):
        sensor[y::2, x::2] = plane
    return sensor


def _info(raw: Any, shift: tuple[int, int]) -> RawInfo:
    """Return colours and levels of the visible corners; `shift` is where the visible part starts in a cell."""
    places = [int(raw.raw_pattern[(y + shift[0]) % 2, (x + shift[1]) % 2]) for y, x in _CORNERS]
    names = raw.color_desc.decode("ascii", "replace")
    return RawInfo(
        colours="".join(names[i] for i in places),
        black=tuple(float(raw.black_level_per_channel[i]) for i in places),
        white=float(raw.white_level),
        white_balance=tuple(map(float, raw.camera_whitebalance)),
    )
