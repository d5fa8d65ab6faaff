"""Masks: pixels that must not be used, such as dead ones, scratches and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt

from epitomes.layout import Layout

Flags = NDArray[np.bool_]
Pixels = NDArray[Any]


def as_mask(mask: ArrayLike, layout: Layout) -> Flags:
    """The mask in the shape of the image; one without channels, or of one picture or plane, stands for all of them."""
    given = np.asarray(mask)
    if given.dtype.kind not in "bui":
        raise TypeError(f"mask must hold booleans or integers, non-zero at bad pixels, got dtype {given.dtype}")
    bad: Flags = np.asarray(given != 0, np.bool_)
    picture = layout.picture_shape[: layout.spatial]
    allowed = [layout.shape, (*layout.stack_shape, *picture), picture, picture[-2:]]
    if bad.shape not in allowed:
        raise ValueError(
            f"mask has shape {bad.shape}, the image {layout.shape}: the mask needs "
            f"{' or '.join(map(str, dict.fromkeys(allowed)))}"
        )
    if bad.shape != layout.shape:
        if layout.channel_axis is not None:
            bad = bad[..., None]
        bad = layout.original(np.broadcast_to(bad, (*layout.stack_shape, *layout.picture_shape)))
    if any(plane.all() for plane in layout.planes(bad)):
        raise ValueError("mask covers a whole plane of the image: it must be 0 at good pixels, so leave that plane out")
    return np.asarray(bad, np.bool_)


def filled(image: Pixels, mask: Flags, layout: Layout) -> Pixels:
    """A copy with good pixels in place of the bad ones.

    A bad pixel among good ones gets the median of its neighbours. In larger holes it gets the pixel that a mirror at
    the edge of the mask shows: smooth values would do for its neighbours, but they hold no noise and would spoil its
    estimate.
    """
    pixels = np.array(image)
    for plane, bad in zip(layout.planes(pixels), layout.planes(mask), strict=True):
        if bad.any() and not bad.all():
            values = _mirrored(plane, bad)
            if plane.ndim == 2:
                middle, among_good = _median_beside(plane, bad)
                values = np.where(among_good, middle, values)
            plane[bad] = values
    return pixels


def _median_beside(plane: Pixels, bad: Flags) -> tuple[Pixels, Flags]:
    """The median of the good neighbours of each bad pixel, and whether at least half of its neighbours are good.

    It is a pixel of the image: of two in the middle, the upper and the lower one by turns, as on a chessboard.
    """
    rows, columns = np.nonzero(bad)
    values, hidden = np.pad(plane, 1), np.pad(bad, 1, constant_values=True)
    last = np.inf if plane.dtype.kind == "f" else np.iinfo(plane.dtype).max
    beside = [(rows + i, columns + j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    ranked = np.sort([np.where(hidden[place], last, values[place]) for place in beside], axis=0)
    good = len(beside) - np.sum([hidden[place] for place in beside], axis=0)
    rank = np.maximum(good - 1 + (rows + columns) % 2, 0) // 2
    return ranked[rank, np.arange(len(rows))], good >= len(beside) / 2


def _mirrored(plane: Pixels, bad: Flags) -> Pixels:
    nearest = distance_transform_edt(bad, return_distances=False, return_indices=True)[:, bad]
    here = np.stack(np.nonzero(bad))
    beyond = np.clip(2 * nearest - here, 0, np.array(plane.shape)[:, None] - 1)
    place = np.where(bad[tuple(beyond)], nearest, beyond)  # the mirror may show another hole
    values: Pixels = plane[tuple(place)]
    return values
