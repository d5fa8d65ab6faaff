"""White noise that went through JPEG: its level before that, from coefficients whose steps do not hide it.

Rounding to multiples of a step leaves the variance of noise about as it was, up to steps of three times its level.
Coarser steps remove it, in flat blocks, at just those frequencies where white noise is looked for otherwise. So the
level is read where steps are small enough, and noise is told from texture by being as strong at the finest of these
frequencies as at the coarsest.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from epitomes.checks import Array
from epitomes.noise.dct_blocks import ORDER, PARITY
from epitomes.noise.flat_blocks import FLATNESS
from epitomes.noise.jpeg_steps import blocks_of, find_quantisation
from epitomes.noise.planes import Floats

SHARE, LEAST_BLOCKS = 0.05, 60  # of the blocks, the flattest
LIVE = 2.5  # levels: frequencies with larger steps are not looked at
LEAST_LIVE = 9  # of them
COARSE = (2, 3)  # orders of the frequencies that give the first guess
WHITE = 0.7  # level at the finest third of the live frequencies over that at the others: less is texture
LEAST_STEP = 0.5  # levels: with finer steps at all frequencies there is nothing to mend
RATIOS = np.geomspace(0.05, 50, 400)  # of a level to a step


@cache
def _rounded() -> Floats:
    """The deviation of normal noise that was rounded to whole numbers, for each of `RATIOS`."""
    n = np.arange(1, 400)
    tails = ndtr(-(n - 0.5) / RATIOS[:, None])
    return np.sqrt(2 * tails @ (2.0 * n - 1))


def level_before_jpeg(image: Array) -> float | None:
    """The level of lightness (luma) noise of `(height, width[, 3])` that was white; None if it shows none."""
    found = find_quantisation(image)
    if found is None:
        return None
    coefficients, steps = blocks_of(image, found.corner), found.steps.reshape(-1)
    if len(coefficients) < 2 * LEAST_BLOCKS:
        return None
    usable = np.isin(ORDER, COARSE)
    levels, guess = np.zeros(len(steps)), 0.0
    for _ in range(3):
        levels = _levels(coefficients, steps, usable)
        guess = float(np.median(levels[usable]))
        live = (steps < LIVE * guess) & (ORDER >= COARSE[0])
        if live.sum() < LEAST_LIVE:
            return None
        usable = live
    if steps[ORDER > 0].max() < LEAST_STEP * guess:
        return None
    order = np.argsort(ORDER[usable], kind="stable")
    sorted_levels = levels[usable][order]
    third = len(sorted_levels) // 3
    fine, coarse = float(np.mean(sorted_levels[-third:])), float(np.mean(sorted_levels[:-third]))
    return fine if fine > WHITE * coarse else None


def _levels(coefficients: NDArray[np.float32], steps: Floats, usable: NDArray[np.bool_]) -> Floats:
    """The level of noise at every frequency, before it was rounded to steps, in the blocks flattest at the others."""
    energy = np.square(coefficients)
    n = max(LEAST_BLOCKS, int(SHARE * len(energy)))
    levels = np.zeros(len(steps))
    for parity in (0, 1):
        flatness = energy @ (FLATNESS * (usable & (parity != PARITY))).astype(np.float32)
        chosen = np.argpartition(flatness, n)[:n]
        mine = parity == PARITY
        deviation = np.sqrt(energy[chosen][:, mine].mean(axis=0)) / steps[mine]
        levels[mine] = steps[mine] * np.interp(deviation, _rounded(), RATIOS)
    return levels
