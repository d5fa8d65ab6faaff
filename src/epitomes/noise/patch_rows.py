"""Patches of a plane as rows: a bounded number of them, and few in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from epitomes.noise.planes import Flags, Floats

Indices = NDArray[np.int64]

WIDTH = 7  # of a patch, in pixels
CHUNK = 2**12  # patches in memory at once


def patch_view(plane: NDArray[Any], max_patches: int) -> NDArray[Any]:
    """A view of all patches, `(lines, columns, WIDTH, WIDTH)`; of too many, every k-th along the longer side."""
    view = sliding_window_view(plane, (WIDTH, WIDTH))
    step = -(-view.shape[0] * view.shape[1] // max_patches)
    return view[::step] if view.shape[0] >= view.shape[1] else view[:, ::step]


def valid_patches(valid: Flags, max_patches: int) -> Flags:
    """Which of these patches have valid pixels only, as a flat array."""
    return np.concatenate([rows.all(axis=1) for _, rows in chunks(patch_view(valid, max_patches))])


def chunks(view: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """All patches as rows, chunk by chunk, each with its range of flat indices."""
    lines, columns = view.shape[:2]
    at_once = max(1, CHUNK // columns)
    for top in range(0, lines, at_once):
        for left in range(0, columns, CHUNK):
            rows = view[top : top + at_once, left : left + CHUNK].reshape(-1, WIDTH**2)
            yield slice(top * columns + left, top * columns + left + len(rows)), rows


def selected_rows(view: NDArray[Any], indices: Indices) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The patches at flat `indices` as rows, chunk by chunk, each with its range of `indices`."""
    for first in range(0, len(indices), CHUNK):
        piece = slice(first, first + CHUNK)
        yield piece, view[np.divmod(indices[piece], view.shape[1])].reshape(-1, WIDTH**2)


@cache
def cosine_basis() -> tuple[Floats, Indices]:
    """The orthonormal basis of the DCT of patches, one vector per row, and the sum of the two frequencies of each."""
    index = np.arange(WIDTH)
    waves = np.cos(np.pi * np.outer(index, 2 * index + 1) / (2 * WIDTH)) * np.sqrt(2 / WIDTH)
    waves[0] /= np.sqrt(2)
    return np.kron(waves, waves), np.add.outer(index, index).ravel()
