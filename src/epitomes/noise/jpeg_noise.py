"""White noise that went through JPEG: its level, from coefficients whose steps do not hide it.

Rounding to multiples of a step leaves the variance of noise about as it was, up to steps of three times its level.
Coarser steps remove it, in flat blocks, at just those frequencies where white noise is looked for otherwise. So the
level is read where steps are small enough. Noise is told from texture by how it falls towards the finest of these
frequencies, and by how it grows when more blocks are taken.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from epitomes.checks import Array
from epitomes.noise.dct_blocks import ORDER, PARITY, SIDE
from epitomes.noise.flat_blocks import FLATNESS
from epitomes.noise.jpeg_steps import blocks_of, find_quantisation
from epitomes.noise.planes import Floats

SHARE, LARGER_SHARE = 0.05, 0.2  # of the blocks, the flattest
LEAST_BLOCKS = 60
UNCLIPPED, LEAST_BETWEEN = (48, 208), 0.2  # brightness whose noise is not clipped; share of the blocks that have it
LIVE, LEAST_LIVE = 2.5, 8  # levels: frequencies with larger steps are not looked at; how many are needed
FIRST = (2, 3)  # orders of the frequencies that give the first guess
LEAST_ORDER = 3  # of the others: shading is below
# Fall over order and growth with the share of blocks, whose sum speaks for texture from `TEXTURE` on. On 33 pictures at
# qualities 80 and 50, noise of level 15 has 0 to 1.4 (one more), and clean ones have 1.5 or more (one less).
FALL, GROWTH, TEXTURE = 1.2, 0.3, 1.45
LEAST_LEVEL = 5.0  # of 255: fainter noise is told from grain and texture in other ways
MOST_GROWTH = 1.25  # by which the level is raised: the flattest blocks are the quietest
RATIOS = np.geomspace(0.05, 50, 400)  # of a level to a step

Flags = NDArray[np.bool_]


def level_after_jpeg(image: Array) -> float | None:
    """The level of lightness (luma) noise of `(height, width[, 3])` that was white, with the error of rounding.

    None if the image was no JPEG file, or shows no noise.
    """
    found = find_quantisation(image)
    if found is None:
        return None
    coefficients, steps = blocks_of(image, found.corner), found.steps.reshape(-1)
    brightness = coefficients[:, 0] / SIDE
    between = (brightness > UNCLIPPED[0]) & (brightness < UNCLIPPED[1])
    if between.sum() > LEAST_BETWEEN * len(coefficients):
        coefficients = coefficients[between]
    if len(coefficients) < 2 * LEAST_BLOCKS:
        return None
    energy, live = np.square(coefficients), np.isin(ORDER, FIRST)
    levels = np.zeros(len(steps))
    for _ in range(3):  # which frequencies are live depends on the level
        levels = _levels(energy, steps, live, SHARE)
        live = (steps < LIVE * np.median(levels[live])) & (ORDER >= LEAST_ORDER)
        if live.sum() < LEAST_LIVE:
            return None
    least = np.finfo(np.float32).tiny
    slope, constant = np.polyfit(np.log(ORDER[live]), np.log(np.maximum(levels[live], least)), 1)
    fine = live & (np.median(ORDER[live]) <= ORDER)
    flattest, more = (
        np.sqrt(np.mean(np.square(_levels(energy, steps, live, share)[fine]))) for share in (SHARE, LARGER_SHARE)
    )
    growth = max(1.0, more / max(flattest, least))
    if np.log(growth) / GROWTH - slope / FALL > TEXTURE:
        return None
    # Texture falls with the frequency, so that the finest live one has the least of it.
    level = np.exp(constant + min(slope, 0.0) * np.log(ORDER[live].max())) * min(growth, MOST_GROWTH)
    with_rounding = float(np.hypot(level, np.sqrt(np.mean(np.square(steps[live])) / 12)))
    return with_rounding if with_rounding > LEAST_LEVEL else None


def _levels(energy: NDArray[np.float32], steps: Floats, live: Flags, share: float) -> Floats:
    """The level of noise at every frequency, before it was rounded to steps.

    Each parity is measured in blocks that are flat at live frequencies of the other.
    """
    n = max(LEAST_BLOCKS, int(share * len(energy)))
    levels = np.zeros(len(steps))
    for parity in (0, 1):
        flatness = energy @ (FLATNESS * (live & (parity != PARITY))).astype(np.float32)
        chosen = np.argpartition(flatness, n)[:n]
        mine = parity == PARITY
        deviation = np.sqrt(energy[chosen][:, mine].mean(axis=0)) / steps[mine]
        levels[mine] = steps[mine] * np.interp(deviation, _rounded(), RATIOS)
    return levels


@cache
def _rounded() -> Floats:
    """The deviation of normal noise that was rounded to whole numbers, for each of `RATIOS`."""
    n = np.arange(1, 400)
    tails = ndtr(-(n - 0.5) / RATIOS[:, None])
    return np.asarray(np.sqrt(2 * tails @ (2.0 * n - 1)))
