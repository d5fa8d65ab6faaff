"""Filling: good pixels in place of bad and missing ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from epitomes.layout import Layout

Flags = NDArray[np.bool_]
Pixels = NDArray[Any]


def missing_values(image: Pixels) -> Flags | None:
    """Where an array is NaN; None if it is nowhere, as in arrays of whole numbers.

    Raises
    ------
    ValueError
        If there is nothing but NaN.
    """
    if image.dtype.kind != "f" or not np.isnan(image.min()):
        return None
    missing: Flags = np.isnan(image)
    if missing.all():
        raise ValueError(f"image holds nothing but NaN, {image.size} times: check how it was made or read")
    return missing


def filled(image: Pixels, mask: Flags, layout: Layout) -> Pixels:
    """A copy with good pixels in place of the bad ones.

    A bad pixel among good ones gets the median of its neighbours. In larger holes it gets the pixel that a mirror at
    the edge of the mask shows: smooth values would do for its neighbours, but they hold no noise and would spoil its
    estimate.
    """
    pixels = np.array(image)
    for plane, bad in zip(layout.planes(pixels), layout.planes(mask), strict=True):
        if bad.all():
            plane[:] = np.median(image[~mask]) if not mask.all() else 0  # nothing is known of this plane
        elif bad.any():
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
