"""Camera RAW, read with rawpy: the linear values of the sensor, four channels of half the size.

Noise is white on the sensor, but not after demosaicing. The four pixels of a Bayer cell are read as the channels of one
image, so that they are denoised together. `mosaic` joins them again, and `dng` writes them for RAW developers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, BinaryIO, ClassVar

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, library
from epitomes.formats.picture import Picture, Pixels

_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell, in the order of the channels
_FLIPS = {3: 3, 5: 8, 6: 6}  # how LibRaw and TIFF name the turns of a camera
_KEPT_TAGS = (  # of files that have TIFF tags, as most RAW files do
    *(271, 272, 306, 315, 33432, 50708),  # maker, model, date, artist, copyright, name of the camera
    *(50721, 50722, 50723, 50724, 50778, 50779, 50964, 50965),  # colours, for one or two illuminants
    *(50730, 50731, 50732, 50734, 50936),  # exposure and sharpness, lens, name of the profile
)


@dataclass(frozen=True)
class RawInfo:
    """Metadata that is needed to develop the values of a sensor.

    Parameters
    ----------
    colours : str
        Colours of a Bayer cell: the first row, then the second, such as "RGGB".
    black : tuple of float
        Black level of each of the four pixels of a cell.
    white : float
        Saturation level.
    white_balance : tuple of float
        Factors of red, green and blue that make white neutral.
    orientation : int, default: 1
        How the camera was held, as TIFF and EXIF count it.
    colour_matrix : tuple of float, optional
        Nine numbers, row by row, that map CIE XYZ to the colours of the camera. None if it is unknown.
    tags : tuple, optional
        TIFF tags that pass to DNG files as they are: code, type, count and value.

    See Also
    --------
    bayer_planes : Split the image of a sensor into the channels of a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, RawInfo, bayer_planes
    >>> info = RawInfo("RGGB", black=(512.0,) * 4, white=16383.0, white_balance=(2.0, 1.0, 1.5))
    >>> Picture(bayer_planes(np.zeros((64, 96), np.uint16)), "YXC", metadata=info).pixels.shape
    (32, 48, 4)
    """

    title: ClassVar[str] = "the sensor data of the camera"

    colours: str
    black: tuple[float, ...]
    white: float
    white_balance: tuple[float, ...]
    orientation: int = 1
    colour_matrix: tuple[float, ...] | None = None
    tags: tuple[tuple[int, int, int, Any], ...] = ()


def read_raw(file: BinaryIO, most: int) -> Picture:
    """Read four channels "YXC" of half the size, one per corner of the Bayer cell, with the values of the sensor."""
    rawpy = library("rawpy", extra="raw", what="camera RAW")
    with rawpy.imread(file) as raw:
        sizes = raw.sizes
        require_size((sizes.raw_height, sizes.raw_width), most)
        if raw.raw_pattern is None or raw.raw_pattern.shape != (2, 2):
            raise ImageFileError("its sensor has no 2 x 2 Bayer pattern, so it is not supported: develop it first")
        sensor = np.array(raw.raw_image_visible)
        shift = sizes.top_margin % 2, sizes.left_margin % 2
        info = replace(_info(raw, shift), tags=_tags(file))
    height, width = (n - n % 2 for n in sensor.shape)
    notes = [f"it is read as the four colours {info.colours} of the sensor, with black at {min(info.black):g}"]
    if (height, width) != sensor.shape:
        notes.append("its last row or column, which is odd, is left out")
    return Picture(bayer_planes(sensor[:height, :width]), "YXC", metadata=info, notes=tuple(notes))


def bayer_planes(mosaic: Pixels) -> Pixels:
    """Split the image of a sensor with a Bayer filter into four channels, to denoise them together.

    Parameters
    ----------
    mosaic : ndarray
        Image ``(H, W)`` of the sensor, with even sides and a pattern that repeats every two pixels.

    Returns
    -------
    ndarray
        The four pixels of every cell as channels, ``(H / 2, W / 2, 4)``: the first row, then the second.

    Raises
    ------
    ValueError
        If the image has channels, or a side is odd.

    See Also
    --------
    mosaic : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.formats import bayer_planes, mosaic
    >>> rng = np.random.default_rng(0)
    >>> frame = rng.poisson(np.tile([[40, 80], [80, 60]], (32, 32))).astype(np.uint16)
    >>> clean = mosaic(denoise(bayer_planes(frame), channel_axis=-1, preset="fast"))
    >>> clean.shape, clean.dtype
    ((64, 64), dtype('uint16'))
    """
    sensor = np.asarray(mosaic)
    if sensor.ndim != 2 or sensor.shape[0] % 2 or sensor.shape[1] % 2:
        raise ValueError(f"mosaic needs two axes of even length, got shape {sensor.shape}: leave out the last line")
    return np.stack([sensor[y::2, x::2] for y, x in _CORNERS], axis=-1)


def mosaic(planes: Picture | Pixels) -> Pixels:
    """Join four channels to the image of a sensor with a Bayer filter.

    Parameters
    ----------
    planes : Picture or ndarray
        Four channels, the last axis, as `read` returns them for RAW files and `bayer_planes` for arrays.

    Returns
    -------
    ndarray
        The Bayer mosaic, of twice the height and width.

    Raises
    ------
    ValueError
        If there are not four channels.

    See Also
    --------
    bayer_planes : The inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import mosaic
    >>> mosaic(np.arange(4).reshape(1, 1, 4))
    array([[0, 1],
           [2, 3]])
    """
    pixels = planes.pixels if isinstance(planes, Picture) else np.asarray(planes)
    axes = planes.axes if isinstance(planes, Picture) else "YXC"
    if axes != "YXC" or pixels.ndim != 3 or pixels.shape[-1] != len(_CORNERS):
        raise ValueError(f"mosaic needs four channels as the last of three axes, got {axes} of shape {pixels.shape}")
    height, width, _ = pixels.shape
    sensor = np.empty((2 * height, 2 * width), pixels.dtype)
    for number, (y, x) in enumerate(_CORNERS):
        sensor[y::2, x::2] = pixels[..., number]
    return sensor


def black_levels(picture: Picture) -> tuple[float, ...] | None:
    """Return the black level of each channel of a sensor; None if the picture is not read from camera RAW."""
    return picture.metadata.black if isinstance(picture.metadata, RawInfo) else None


def as_mosaic(picture: Picture) -> Picture:
    """Return the image of the sensor, for formats that cannot say what the four channels are."""
    return Picture(mosaic(picture), "YX", name=picture.name)


def _info(raw: Any, shift: tuple[int, int]) -> RawInfo:
    """Return colours and levels of the visible corners; `shift` is where the visible part starts in a cell."""
    places = [int(raw.raw_pattern[(y + shift[0]) % 2, (x + shift[1]) % 2]) for y, x in _CORNERS]
    names = raw.color_desc.decode("ascii", "replace")
    matrix = np.asarray(raw.rgb_xyz_matrix, np.float64)[:3]  # zero if the camera is unknown to LibRaw
    return RawInfo(
        colours="".join(names[i] for i in places),
        black=tuple(float(raw.black_level_per_channel[i]) for i in places),
        white=float(raw.white_level),
        white_balance=tuple(map(float, raw.camera_whitebalance[:3])),
        orientation=_FLIPS.get(int(raw.sizes.flip), 1),
        colour_matrix=tuple(map(float, matrix.flat)) if matrix.any() else None,
    )


def _tags(file: BinaryIO) -> tuple[tuple[int, int, int, Any], ...]:
    """Return the tags that a DNG file keeps; none if the file has no TIFF tags."""
    file.seek(0)
    from epitomes.formats.tiff import MAGIC  # brings Pillow, which array work does without

    if file.read(4) not in MAGIC:
        return ()
    tifffile = library("tifffile", extra=None, what="TIFF tags")
    file.seek(0)
    with tifffile.TiffFile(file, _multifile=False) as tiff:
        tags = tiff.pages[0].tags
        return tuple((tag.code, int(tag.dtype), tag.count, tag.value) for tag in tags if tag.code in _KEPT_TAGS)
