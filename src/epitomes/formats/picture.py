"""A picture: pixels as stored, the meaning of their axes, their spacing, and what else the file says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import read_only
from epitomes.formats.errors import ImageFileError
from epitomes.formats.series import Series
from epitomes.layout import Layout

Pixels = NDArray[Any]

LETTERS = "TZCYX"  # time, depth, channel, height, width
COLOURS = 3  # channels that may belong together wherever their axis stands: red, green and blue
MOST_COLOURS = 4  # channels of a colour image: more are spectra, and cannot be shown as one


class Metadata(Protocol):
    """What a family of formats passes from its reader to its writer. All other code treats it as opaque.

    See Also
    --------
    Picture : Holds it in the field `metadata`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from epitomes.formats import Picture
    >>> @dataclass(frozen=True)
    ... class ScannerInfo:
    ...     title: str = "the settings of the scanner"
    >>> Picture(np.zeros((8, 8)), metadata=ScannerInfo()).metadata.title
    'the settings of the scanner'
    """

    @property
    def title(self) -> str:
        """Name of the metadata in messages, such as "the FITS header"; "" if its loss needs no message."""
        ...


@dataclass(frozen=True, eq=False)
class Picture:
    """An image, volume, stack or video with one letter per axis.

    The letters are T (time), Z (depth), C (channel), Y (height) and X (width), each at most once; Y and X are required,
    Y first. The pixels are stored in C order and are read-only. `replace` returns the same picture with other pixels.

    Parameters
    ----------
    pixels : ndarray
        Integers or floats of at most 64 bits, with 2 to 5 axes.
    axes : str, optional
        One letter per axis. By default they are guessed from the shape: a short last axis is C.
    spacing : mapping of str to float, optional
        Distance between neighbours along an axis, by its letter, for the axes where it is known.
    units : mapping of str to str, optional
        Unit of each distance in `spacing`, such as "um", "mm", "s" or "deg".
    alpha : ndarray, optional
        Transparency, with the shape of `pixels` without C. It is passed on and never processed.
    metadata : Metadata, optional
        What else the file says. Only formats of the same family can write it.
    name : str, optional
        Name of the file, without its directory.
    notes : tuple of str, optional
        What reading changed or left out, in sentences for the user.
    suffix : str, optional
        Suffix of the format that the file was read as, such as ".tif"; "" if the picture does not come from a file.
    series : tuple of Series, optional
        All images of the file, if it holds several.
    history : tuple of str, optional
        What was done to the pixels since they were read, in lines for the next file. FITS and DICOM keep them.
    separate : bool, optional
        Whether the channels of a C axis before Y are images of their own, even if there are three.

    See Also
    --------
    read : Read a picture from a file.
    as_picture : Convert an array to a picture.

    Notes
    -----
    `channel_axis`, `spatial` and `layout` translate the letters for functions that work on arrays:

    - Y, X and an adjacent Z or T are spatial: planes and frames that follow each other belong together. Thus "ZYX" is a
      volume, "TYX" a clip, and "TZYX" a stack of volumes.
    - C after Y or X holds the channels of one image, which belong together, as colours do. So does a C of length 3
      before Y, planes of red, green and blue, unless `separate` is set. Files set it: their planes are mostly stains or
      bands, which lose several decibels if they are denoised together.
    - Any other C before Y, and a T or Z that another axis separates from Y and X, count independent images. `by_volume`
      puts the planes of each channel together, and so do `denoise` and `restore`.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture
    >>> video = Picture(np.zeros((5, 48, 64, 3), np.uint8), "TYXC", {"T": 0.04}, {"T": "s"})
    >>> video.channel_axis, video.spatial, video.layout.stack_shape
    (3, 3, ())
    >>> Picture(np.zeros((20, 64, 64))).axes
    'ZYX'
    """

    pixels: Pixels
    axes: str = ""
    spacing: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    alpha: Pixels | None = None
    metadata: Metadata | None = None
    name: str = ""
    notes: tuple[str, ...] = ()
    suffix: str = ""
    series: tuple[Series, ...] = ()
    history: tuple[str, ...] = ()
    separate: bool = False

    def __post_init__(self) -> None:
        pixels = _plain(self.pixels)
        axes = self.axes or guessed_axes(pixels.shape)
        _require_axes(axes, pixels.shape)
        alpha = None if self.alpha is None else _plain(self.alpha)
        if alpha is not None and alpha.shape != (expected := without_channel(pixels.shape, axes)):
            raise ImageFileError(f"alpha needs the shape {expected}, got {alpha.shape}: pass one value per pixel")
        known = {letter: float(step) for letter, step in self.spacing.items() if letter in axes}
        if wrong := {letter: step for letter, step in known.items() if not 0 < step < math.inf}:
            raise ImageFileError(f"spacing must be finite and above 0, got {wrong}: leave out what is unknown")
        object.__setattr__(self, "pixels", read_only(pixels))
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "spacing", MappingProxyType(known))
        units = {letter: unit for letter, unit in self.units.items() if letter in known and unit}
        object.__setattr__(self, "units", MappingProxyType(units))
        object.__setattr__(self, "alpha", None if alpha is None else read_only(alpha))

    @property
    def channel_axis(self) -> int | None:
        """Index of the axis that holds the channels of one image; None if there is none.

        This is a C axis after Y or X, or one of length 3 before them that is not `separate`. Any other C axis counts
        independent images.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> Picture(np.zeros((8, 8, 3)), "YXC").channel_axis
        2
        >>> Picture(np.zeros((3, 8, 8)), "CYX").channel_axis
        0
        >>> Picture(np.zeros((5, 8, 8)), "CYX").channel_axis is None
        True
        """
        return channel_axis_of(self.axes, self.pixels.shape, self.separate)

    @property
    def spatial(self) -> int:
        """Number of spatial axes: 3 for volumes and clips, 2 for images.

        Raises
        ------
        ImageFileError
            If an axis other than Z and C follows Y or X, as in "YXT".

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> Picture(np.zeros((2, 5, 8, 8)), "TZYX").spatial
        3
        >>> Picture(np.zeros((5, 2, 8, 8)), "ZCYX").spatial
        2
        """
        return spatial_of(self.axes, self.channel_axis)

    @property
    def layout(self) -> Layout:
        """The same as a `Layout` of `pixels`: the stack, the spatial axes and the channels.

        Raises
        ------
        ImageFileError
            If an axis other than Z and C follows Y or X, as in "YXT".

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> layout = Picture(np.zeros((2, 5, 8, 9)), "TZYX").layout
        >>> layout.noun, layout.picture_shape, layout.stack_shape
        ('volume', (5, 8, 9), (2,))
        """
        return Layout.of(self.pixels.shape, self.channel_axis, self.spatial)

    @property
    def between(self) -> int | None:
        """Index of a C axis that counts images and lies between planes or frames and their rows; None if there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> Picture(np.zeros((5, 2, 8, 8)), "ZCYX").between
        1
        """
        at = self.axes.find("C")
        is_between = at > 0 and self.axes[at - 1] in "ZT" and self.axes[at + 1 :] == "YX"
        return at if is_between and self.channel_axis is None else None

    def by_volume(self) -> Picture:
        """Return the same picture with the planes of each channel together: "ZCYX" becomes "CZYX".

        Returns
        -------
        Picture
            A picture whose pixels are a view of these; the picture itself if no channels lie between planes.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> stack = Picture(np.zeros((5, 2, 8, 8)), "ZCYX").by_volume()
        >>> stack.axes, stack.layout.noun, stack.layout.stack_shape
        ('CZYX', 'volume', (2,))
        """
        if (at := self.between) is None:
            return self
        axes = f"{self.axes[: at - 1]}C{self.axes[at - 1]}YX"
        return replace(self, pixels=np.moveaxis(self.pixels, at, at - 1), axes=axes, metadata=None)

    def replace(self, pixels: ArrayLike, *, history: Sequence[str] = ()) -> Picture:
        """Return the same picture with other pixels.

        Parameters
        ----------
        pixels : array_like
            Pixels of the same shape, of any dtype that a picture can hold.
        history : sequence of str, optional
            What was done to them, in lines that are added to the history of the picture.

        Returns
        -------
        Picture
            The new pixels with the axes, spacing and metadata of this picture.

        Raises
        ------
        ValueError
            If the shape differs.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes.formats import Picture
        >>> picture = Picture(np.ones((4, 4), np.uint8), "YX", {"X": 0.5}, {"X": "mm"})
        >>> doubled = picture.replace(picture.pixels * 2.0)
        >>> doubled.pixels.dtype, dict(doubled.spacing)
        (dtype('float64'), {'X': 0.5})
        """
        array = np.asarray(pixels)
        if array.shape != self.pixels.shape:
            raise ValueError(
                f"pixels need the shape {self.pixels.shape} of the picture, got {array.shape}: "
                "make a new Picture for pixels of another shape"
            )
        return replace(self, pixels=array, history=(*self.history, *history))


def as_picture(pixels: Picture | ArrayLike) -> Picture:
    """Convert an array to a picture.

    Parameters
    ----------
    pixels : Picture or array_like
        An array, whose axes are guessed from its shape, or a picture.

    Returns
    -------
    Picture
        The picture; `pixels` itself if it is one already.

    Raises
    ------
    ImageFileError
        If the array does not have 2 to 5 axes, or does not hold real numbers of at most 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import as_picture
    >>> as_picture(np.zeros((48, 64, 3))).axes
    'YXC'
    """
    return pixels if isinstance(pixels, Picture) else Picture(np.asarray(pixels))


def guessed_axes(shape: tuple[int, ...]) -> str:
    """Guess the axes of an array from its shape: a short last axis is C.

    >>> guessed_axes((512, 512)), guessed_axes((512, 512, 3)), guessed_axes((20, 512, 512)), guessed_axes((9, 7, 5))
    ('YX', 'YXC', 'ZYX', 'YXC')
    """
    if not 2 <= len(shape) <= 5:
        raise ImageFileError(
            f"an image needs 2 to 5 axes, got the shape {shape}: "
            "reshape it, for example to (height, width) or (height, width, channels)"
        )
    shorter = len(shape) == 3 and shape[2] < 16 and shape[2] < min(shape[:2])
    colour = len(shape) > 2 and (shape[-1] <= MOST_COLOURS or shorter)
    usual = ("YX", "YXC", "ZYXC", "TZYXC") if colour else ("YX", "ZYX", "TZYX", "TCZYX")
    return next(axes for axes in usual if len(axes) == len(shape))


def channel_axis_of(axes: str, shape: tuple[int, ...], separate: bool) -> int | None:
    """The axis that holds the channels of one image; `Picture.channel_axis` says which that is."""
    at = axes.find("C")
    planes = at >= 0 and shape[at] == COLOURS and not separate
    return at if at > axes.index("Y") or planes else None


def spatial_of(axes: str, channel_axis: int | None) -> int:
    """The number of spatial axes; `Picture.spatial` says which they are."""
    letters = axes if channel_axis is None else axes.replace("C", "")
    if set(letters[-3:]) == set("ZYX") or letters.endswith("TYX"):
        return 3
    if letters.endswith("YX"):
        return 2
    late = next(letter for letter in letters[letters.index("Y") :] if letter not in "YX")
    front = "".join(letter for letter in "TZC" if letter in letters)
    better = f"{front}YX{'' if channel_axis is None else 'C'}"
    raise ImageFileError(f"the axes {axes!r} have {late} after Y: transpose the pixels to {better!r} first")


def without_channel(shape: tuple[int, ...], axes: str) -> tuple[int, ...]:
    """Return a shape without its C axis."""
    return tuple(length for length, letter in zip(shape, axes, strict=True) if letter != "C")


def ordered(pixels: Pixels, axes: str, order: str) -> tuple[Pixels, str]:
    """Transpose pixels to the order of the letters in `order`; letters that they lack are skipped."""
    goal = "".join(letter for letter in order if letter in axes)
    return pixels.transpose([axes.index(letter) for letter in goal]), goal


def colour_last(axes: str) -> bool:
    """Return whether the channels are the last axis, as colours are stored."""
    return axes.endswith("C")


def scale_note(slope: float, intercept: float) -> str:
    """Return the note for files that scale their values."""
    found = f"values are as stored; the file multiplies them by {slope:g} and adds {intercept:g}"
    return found if abs(slope) == 1 else f"{found}, so that a noise level of 1 is {abs(slope):g} in physical units"


def require_numbers(dtype: np.dtype[Any]) -> None:
    """Refuse values that are not real numbers of at most 64 bits."""
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise ImageFileError(f"it holds {dtype}, but an image needs integers or floats of at most 64 bits: convert it")


def _plain(pixels: ArrayLike) -> Pixels:
    """Return native, C-contiguous real numbers, without a copy if they are so already."""
    array = np.asarray(pixels)
    require_numbers(array.dtype)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _require_axes(axes: str, shape: tuple[int, ...]) -> None:
    if len(axes) != len(shape):
        raise ImageFileError(
            f"axes {axes!r} name {len(axes)} axes, but the image has the shape {shape}: give one letter per axis"
        )
    if len(set(axes)) != len(axes) or not set(axes) <= set(LETTERS):
        raise ImageFileError(f"axes must be letters out of {LETTERS}, each at most once, got {axes!r}")
    if "Y" not in axes or "X" not in axes or axes.index("X") < axes.index("Y"):
        raise ImageFileError(f"axes need Y and, after it, X, got {axes!r}: transpose the pixels first")
    if min(shape) < 1:
        raise ImageFileError(f"an image has at least one pixel, got the shape {shape}")
