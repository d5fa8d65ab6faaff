"""Masks: pixels that are not to be believed, such as dead ones, scratches and what a label covers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epitomes.cli.common import read_any, size
from epitomes.cli.errors import INPUT, CommandError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from epitomes.formats import Picture


def read_mask(path: Path, picture: Picture, file: Path, max_pixels: int) -> NDArray[np.bool_]:
    """Where `path` is not zero; a mask of one plane stands for all planes and colours."""
    import numpy as np

    found = read_any(path, max_pixels).pixels != 0
    shape = picture.pixels.shape
    if found.shape != shape:
        plane = tuple(length for length, letter in zip(shape, picture.axes, strict=True) if letter in "YX")
        if found.shape != plane:
            either = size(plane) if plane == shape else f"{size(plane)} or {size(shape)}"
            raise CommandError(
                INPUT, f"--mask {path} is {size(found.shape)}, and {file} is {size(shape)}: the mask must be {either}"
            )
        found = found.reshape([n if letter in "YX" else 1 for n, letter in zip(shape, picture.axes, strict=True)])
    mask = np.broadcast_to(found, shape)
    if any(plane.all() for plane in _planes(mask, picture.axes)):
        raise CommandError(INPUT, f"--mask {path} leaves nothing of a plane of {file}: it must be 0 at good pixels")
    return mask


def filled(picture: Picture, mask: NDArray[np.bool_]) -> Picture:
    """The picture with good pixels in place of the bad ones: those that a mirror at the edge of the mask shows.

    Smooth values would do for their neighbours, but they hold no noise and would spoil its estimate.
    """
    import numpy as np

    pixels = np.ascontiguousarray(picture.pixels).copy()
    for plane, bad in zip(_planes(pixels, picture.axes), _planes(mask, picture.axes), strict=True):
        if bad.any():
            plane[bad] = _mirrored(plane, bad)
    return replace(picture, pixels=pixels)


def _mirrored(plane: NDArray[Any], bad: NDArray[np.bool_]) -> NDArray[Any]:
    import numpy as np
    from scipy.ndimage import distance_transform_edt

    nearest = distance_transform_edt(bad, return_distances=False, return_indices=True)[:, bad]
    here = np.stack(np.nonzero(bad))
    beyond = np.clip(2 * nearest - here, 0, np.array(plane.shape)[:, None] - 1)
    place = np.where(bad[tuple(beyond)], nearest, beyond)  # the mirror may show another hole
    values: NDArray[Any] = plane[tuple(place)]
    return values


def _planes(values: NDArray[Any], axes: str) -> list[NDArray[Any]]:
    """Views of all planes, each of its colours by itself."""
    import numpy as np

    last = np.moveaxis(values, (axes.index("Y"), axes.index("X")), (-2, -1))
    return [last[place] for place in np.ndindex(last.shape[:-2])]
