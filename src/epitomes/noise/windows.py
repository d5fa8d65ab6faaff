"""Patches of a plane as rows, a bounded number of them, and few in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from epitomes.noise.door import Flags, Floats

Places = NDArray[np.int64]

WIDTH = 7  # of a patch
CHUNK = 2**12  # patches in memory at once


def windows(plane: NDArray[Any], most: int) -> NDArray[Any]:
    """A view of all patches, `(lines, columns, WIDTH, WIDTH)`; of more than `most`, every k-th on the longer side."""
    view = sliding_window_view(plane, (WIDTH, WIDTH))
    step = -(-view.shape[0] * view.shape[1] // most)
    return view[::step] if view.shape[0] >= view.shape[1] else view[:, ::step]


def whole(usable: Flags, most: int) -> Flags:
    """Which of these patches have usable pixels alone, flat."""
    return np.concatenate([rows.all(axis=1) for _, rows in chunks(windows(usable, most))])


def chunks(view: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Places of patches in the flat order, and the patches as rows."""
    lines, columns = view.shape[:2]
    at_once = max(1, CHUNK // columns)
    for top in range(0, lines, at_once):
        for left in range(0, columns, CHUNK):
            rows = view[top : top + at_once, left : left + CHUNK].reshape(-1, WIDTH**2)
            yield slice(top * columns + left, top * columns + left + len(rows)), rows


def chosen_rows(view: NDArray[Any], places: Places) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The patches at these places of the flat order, and which of the places they are."""
    for first in range(0, len(places), CHUNK):
        piece = slice(first, first + CHUNK)
        yield piece, view[np.divmod(places[piece], view.shape[1])].reshape(-1, WIDTH**2)


@cache
def cosines() -> tuple[Floats, NDArray[np.int64]]:
    """An orthonormal basis of cosines for patches, one per row, and the sum of the two frequencies of each."""
    place = np.arange(WIDTH)
    waves = np.cos(np.pi * np.outer(place, 2 * place + 1) / (2 * WIDTH)) * np.sqrt(2 / WIDTH)
    waves[0] /= np.sqrt(2)
    return np.kron(waves, waves), np.add.outer(place, place).ravel()
