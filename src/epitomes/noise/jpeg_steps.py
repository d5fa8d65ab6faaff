"""JPEG: the steps by which the lightness of an image was quantised, found in its pixels.

The coefficients of the 8 x 8 blocks of a decoded file lie close to multiples of the steps of its table, and those of
blocks elsewhere do not. So the table is known for files, for arrays that were read from them, and for parts of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.noise.dct_blocks import ORDER, SIDE, cosines
from epitomes.noise.planes import Floats

LUMA = np.array([0.299, 0.587, 0.114])  # of JPEG files
SAMPLE, MOST_BLOCKS = 1024, 2**14  # blocks that show steps, and of which noise is measured
LEAST_BLOCKS = 64
NEAR_ZERO = 0.75  # coefficients that quantisation has set to zero are smaller: they hold the rounding of pixels
LEAST_ZEROS = 1.5  # share of such coefficients on the grid over that elsewhere
STEPS = np.arange(3, 122)  # finer steps are lost in the rounding of pixels, and do no harm
REACH = 0.4  # of a step: smaller coefficients show nothing, and those of half the step disagree
LEAST_SEEN = 12  # coefficients other than zero that show a step
LEAST_AGREEMENT = 0.6  # mean cosine of the phase of coefficients in units of the step: 1 at multiples, 0 by chance
NEAR = 0.75  # of the largest step that agrees: the one that agrees best is among those
UNUSUAL = 0.3  # of the usual step: less was found by chance
LEAST_FOUND = 8  # frequencies whose step is seen
# Annex K of the standard: tables of other qualities are about multiples of it, which gives steps that are not seen.
STANDARD = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)


@dataclass(frozen=True, eq=False)
class Quantisation:
    """How the lightness of a JPEG file was quantised."""

    steps: Floats  # (8, 8), of the orthonormal DCT of pixels
    corner: tuple[int, int]  # row and column of the first whole block


def find_quantisation(image: Array) -> Quantisation | None:
    """Find the steps of `(height, width[, 3])` of whole numbers; None if it was no JPEG file, or a fine one."""
    if image.ndim == 3 and image.shape[2] != len(LUMA):
        return None
    if min(image.shape[:2]) < 2 * SIDE or (np.rint(image[:SIDE]) != image[:SIDE]).any() or image.max() > 255:
        return None
    luma = _luma(image)
    corner = _corner(luma)
    if corner is None:
        return None
    steps = _steps(_blocks(luma, corner))
    return None if steps is None else Quantisation(steps, corner)


def blocks_of(image: Array, corner: tuple[int, int]) -> NDArray[np.float32]:
    """Coefficients `(n, 64)` of the lightness of blocks on the grid that begins at this corner."""
    return _blocks(_luma(image), corner, MOST_BLOCKS)


def _luma(image: Array) -> NDArray[np.float32]:
    return np.asarray(image if image.ndim == 2 else image @ LUMA, np.float32)


def _blocks(luma: NDArray[np.float32], corner: tuple[int, int], most: int = SAMPLE) -> NDArray[np.float32]:
    """Coefficients of some of the blocks."""
    views = sliding_window_view(luma[corner[0] :, corner[1] :], (SIDE, SIDE))[::SIDE, ::SIDE].reshape(-1, SIDE, SIDE)
    chosen = views[:: max(1, len(views) // most)]
    waves = cosines().astype(np.float32)
    return np.asarray(np.einsum("ai,nij,bj->nab", waves, chosen, waves, optimize=True).reshape(len(chosen), -1))


def _corner(luma: NDArray[np.float32]) -> tuple[int, int] | None:
    """Where blocks begin: there, many coefficients are zero."""
    corners = [(row, column) for row in range(SIDE) for column in range(SIDE)]
    fast = ORDER >= 3
    shares = np.array([(np.abs(_blocks(luma, each, SAMPLE // 4)[:, fast]) < NEAR_ZERO).mean() for each in corners])
    best = int(shares.argmax())
    elsewhere = np.delete(shares, best)
    return corners[best] if shares[best] > LEAST_ZEROS * elsewhere.max() + 1e-3 else None


def _steps(coefficients: NDArray[np.float32]) -> Floats | None:
    """The step of every frequency, `(8, 8)`: the largest one of which coefficients are multiples."""
    if len(coefficients) < LEAST_BLOCKS:
        return None
    found = np.zeros(SIDE**2)
    for k in range(1, SIDE**2):
        values = np.abs(coefficients[:, k])
        values = values[values > STEPS[0] / 2]
        phases = np.cos(2 * np.pi * values[:, None] / STEPS)
        seen = values[:, None] > REACH * STEPS
        count = seen.sum(axis=0)
        agreement = (phases * seen).sum(axis=0) / np.maximum(count, 1)
        agreeing = np.flatnonzero((agreement > LEAST_AGREEMENT) & (count >= LEAST_SEEN))
        if len(agreeing):
            near = np.flatnonzero((NEAR * STEPS[agreeing[-1]] < STEPS) & (STEPS[agreeing[-1]] >= STEPS))
            found[k] = STEPS[near[agreement[near].argmax()]]
    known = found > 0
    if known.sum() < LEAST_FOUND:
        return None
    standard = STANDARD.reshape(-1)
    usual = standard * float(np.median(found[known] / standard[known]))
    return np.where(found > UNUSUAL * usual, found, usual).reshape(SIDE, SIDE)
