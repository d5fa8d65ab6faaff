"""Planes: two-dimensional images "YX" or "YXC" of a picture, for showing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from epitomes.formats.picture import MOST_COLOURS, Picture, Pixels, colour_last


@dataclass(frozen=True, eq=False)
class Plane:
    """A two-dimensional image of a picture, as a view, and where it is.

    Parameters
    ----------
    pixels : ndarray
        The plane, with the axes "YX", or "YXC" if the picture has colours. It equals ``picture.pixels[index]``.
    index : tuple of int or slice
        Where the plane is.
    label : str
        The same for people, such as "T 3, Z 0"; "" if the picture has one plane only.

    See Also
    --------
    shown_plane : Choose a plane of a picture.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, shown_plane
    >>> plane = shown_plane(Picture(np.zeros((5, 8, 9)), "ZYX"))
    >>> plane.pixels.shape, plane.index[0], plane.label
    ((8, 9), 2, 'Z 2')
    """

    pixels: Pixels
    index: tuple[int | slice, ...]
    label: str


def is_colour(picture: Picture) -> bool:
    """Return whether the last axis holds colours: 2 to 4 channels.

    Parameters
    ----------
    picture : Picture
        Any picture.

    Returns
    -------
    bool
        True if the planes of the picture are "YXC", False if they are "YX".

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import as_picture, is_colour
    >>> is_colour(as_picture(np.zeros((8, 9, 3)))), is_colour(as_picture(np.zeros((8, 9))))
    (True, False)
    """
    return colour_last(picture.axes) and 2 <= picture.pixels.shape[-1] <= MOST_COLOURS


def count_planes(picture: Picture) -> int:
    """Count the planes of a picture.

    Parameters
    ----------
    picture : Picture
        Any picture.

    Returns
    -------
    int
        The number of planes, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, count_planes
    >>> count_planes(Picture(np.zeros((2, 5, 8, 9)), "TZYX"))
    10
    """
    return int(np.prod([1, *(picture.pixels.shape[i] for i in _cut(picture))]))


def shown_plane(picture: Picture, index: int | None = None) -> Plane:
    """Choose the plane of a picture to show.

    Parameters
    ----------
    picture : Picture
        Any picture.
    index : int, optional
        Number of the plane, from 0, with the last axis counted fastest. By default the middle of each axis.

    Returns
    -------
    Plane
        A view of the plane.

    Raises
    ------
    IndexError
        If there is no plane of this number.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, shown_plane
    >>> stack = Picture(np.zeros((2, 5, 8, 9)), "TZYX")
    >>> shown_plane(stack).label, shown_plane(stack, 0).label
    ('T 1, Z 2', 'T 0, Z 0')
    """
    cut = _cut(picture)
    lengths = [picture.pixels.shape[i] for i in cut]
    n_planes = count_planes(picture)
    if index is not None and not 0 <= index < n_planes:
        raise IndexError(f"the picture has {n_planes} planes, got the index {index}: use 0 to {n_planes - 1}")
    place = [n // 2 for n in lengths] if index is None else [int(at) for at in np.unravel_index(index, lengths)]
    where: list[int | slice] = [slice(None)] * len(picture.axes)
    for i, at in zip(cut, place, strict=True):
        where[i] = at
    label = ", ".join(f"{picture.axes[i]} {at}" for i, at in zip(cut, place, strict=True))
    return Plane(picture.pixels[tuple(where)], tuple(where), label)


def planes(picture: Picture) -> Iterator[Plane]:
    """Iterate over all planes of a picture.

    Parameters
    ----------
    picture : Picture
        Any picture.

    Yields
    ------
    Plane
        The planes, with the last axis counted fastest.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, planes
    >>> [plane.label for plane in planes(Picture(np.zeros((2, 2, 8, 8)), "TZYX"))]
    ['T 0, Z 0', 'T 0, Z 1', 'T 1, Z 0', 'T 1, Z 1']
    """
    for number in range(count_planes(picture)):
        yield shown_plane(picture, number)


def joined(picture: Picture, parts: Iterable[Pixels]) -> Picture:
    """Replace all planes of a picture.

    Parameters
    ----------
    picture : Picture
        Any picture.
    parts : iterable of ndarray
        The new planes in the order of `planes`, all of one dtype.

    Returns
    -------
    Picture
        The picture with the new planes and their dtype.

    Raises
    ------
    ValueError
        If the number, a shape or a dtype of the parts does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.formats import Picture, joined, planes
    >>> stack = Picture(np.ones((3, 8, 9)), "ZYX")
    >>> float(joined(stack, (2 * plane.pixels for plane in planes(stack))).pixels.max())
    2.0
    """
    pixels: Pixels | None = None
    for plane, part in zip(planes(picture), parts, strict=True):
        if part.shape != plane.pixels.shape:
            raise ValueError(f"plane {plane.label or 0} needs the shape {plane.pixels.shape}, got {part.shape}")
        if pixels is None:
            pixels = np.empty(picture.pixels.shape, part.dtype)
        elif part.dtype != pixels.dtype:
            raise ValueError(f"all planes need one dtype, got {pixels.dtype} and {part.dtype}")
        pixels[plane.index] = part
    return picture.replace(picture.pixels if pixels is None else pixels)


def _cut(picture: Picture) -> list[int]:
    """Return the axes that number the planes."""
    kept = "YXC" if is_colour(picture) else "YX"
    return [i for i, letter in enumerate(picture.axes) if letter not in kept]
