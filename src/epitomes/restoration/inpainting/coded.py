"""Coded: patches with unknown pixels, completed one by one by the atoms of an epitome that fit their known pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.coders import OLS
from epitomes.epitome import Epitome
from epitomes.patches import Patches

Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]

PIXELS_PER_ATOM = 4  # known ones that an atom needs, on average
ENOUGH = 0.5  # share of known pixels from which on codes are trusted fully; below, `start` has a part
ROWS_PER_BAND = 65_536  # patches whose codes are in memory at once


def coded_fill(start: Singles, unknown: Flags, epitome: Epitome, error: float, threads: int | None) -> Singles:
    """Code the known pixels of every patch that has unknown ones, up to an error per pixel, and average the overlaps.

    The means of patches are those of `start`, in which unknown pixels are filled already; only they are replaced.
    """
    shape = (epitome.phi.patch_shape[0], epitome.phi.patch_shape[1])
    dictionary = epitome.dictionary.astype(np.dtype(np.float32))
    patches = Patches(start, shape)
    holes = Patches(unknown.astype(np.float32), shape, centred=False)
    most = max(1, round(patches.patch_size * (1 - unknown.mean()) / PIXELS_PER_ATOM))
    coder = OLS(residual=patches.patch_size * error**2, n_nonzero=most)
    image, first = Aggregator(patches), 0
    lines = len(patches.positions[0])
    for low, high in blocks.split(lines, max(1, ROWS_PER_BAND * lines // len(patches))):
        rows, means = _all(patches, low, high)
        hidden = _all(holes, low, high)[0] > 0
        open_ones = np.flatnonzero(hidden.any(axis=1))
        if len(open_ones):
            codes = coder.encode(rows[open_ones], dictionary, mask=~hidden[open_ones], threads=threads)
            rows[open_ones] = codes @ dictionary.atoms
        image.add(first, rows + means[:, None], hidden.any(axis=1).astype(np.float32))
        first += len(rows)
    trust = np.minimum(1, uniform_filter((~unknown).astype(np.float64), shape) / ENOUGH)
    return np.where(unknown, start + trust * (image.mean(start) - start), start).astype(np.float32)


def _all(patches: Patches, low: int, high: int) -> tuple[Singles, Singles]:
    band = patches.lines(np.arange(low, high))
    rows, means = band.rows(0, len(band))
    return rows.astype(np.float32, copy=False), means.astype(np.float32, copy=False)
