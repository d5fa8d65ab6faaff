"""The noise of colours at low frequencies, where flat blocks have shading and coloured texture, too.

The noise of red and blue is stronger than that of green, most of all where it is coarse, so lightness and the
difference of green against both go together. Texture hides that. The other correlations are about the same at all
frequencies. Both were measured on photographs with known noise: 10 of the CC set and 34 of PolyU.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.noise.dct_blocks import ORDER, SIDE
from epitomes.noise.planes import Floats

LIGHTNESS, RED_BLUE, GREEN = 0, 1, 2  # the channels
# Least correlation of lightness and green at frequencies of orders 0, 1, ...: of the image, and of half its size. On
# the mean it is 0.55, 0.42 and 0.66, 0.61 at orders 1, 2 of the CC set, and 0.31, 0.20 and 0.43, 0.37 of PolyU.
TOGETHER = ((0.4, 0.4, 0.3, 0.18, 0.1), (0.45, 0.5, 0.47, 0.4, 0.3, 0.2, 0.15, 0.1))
UNSURE = (2, 4)  # order up to which the other correlations are those of the middle frequencies, of both scales
MIDDLE = (3, 8)
SHRUNK = 0.5  # share of the correlation of the middle frequencies that the low ones get: the rest is texture's
MOST = 0.3  # correlation of lightness and red against blue, at any frequency
LIMITS = (3.1, 2.0)  # frequencies 1 and 2 along an axis over frequency 3
MEAN = (1.6, 1.4)  # the mean of a block over its slopes, of both scales
# Frequency 1 over frequencies 4 and 5 of both colours, from which they are as cameras leave them: there it is 5 to 9.
# Noise that was white has about 1.
COARSE = 3.0


def is_coarse(power: Floats) -> bool:
    """Whether the colours `(64, channels, channels)` of an image have coarse noise, as photographs do."""
    if power.shape[1] != GREEN + 1:
        return False
    colours = np.sqrt(np.maximum(np.einsum("kcc->kc", power)[:, RED_BLUE:].sum(axis=1), 0))
    return bool(colours[ORDER == 1].mean() > COARSE * colours[(ORDER == 4) | (ORDER == 5)].mean() > 0)


def plausible(power: Floats, scale: int) -> Floats:
    """The covariance `(64, 3, 3)` of lightness and two colours at every frequency, made plausible where it is low."""
    variances = np.einsum("kcc->kc", power)
    if (variances <= 0).any():
        return power
    deviation = np.sqrt(variances).reshape(SIDE, SIDE, -1)
    correlation = power / (deviation.reshape(SIDE**2, -1, 1) * deviation.reshape(SIDE**2, 1, -1))
    colours = deviation[:, :, RED_BLUE:]  # a view, as are the next
    for along in (colours[0], colours[:, 0]):
        for k, limit in zip((1, 2), LIMITS, strict=True):
            along[k] = np.minimum(along[k], limit * along[3])
    colours[1, 1] = np.minimum(colours[1, 1], np.sqrt(colours[0, 1] * colours[1, 0]))
    colours[0, 0] = MEAN[scale] * np.sqrt(colours[0, 1] * colours[1, 0])
    every = np.ones(len(ORDER), np.bool_)
    _set(correlation, LIGHTNESS, RED_BLUE, every, np.clip(correlation[:, LIGHTNESS, RED_BLUE], -MOST, MOST))
    middle = (MIDDLE[0] <= ORDER) & (MIDDLE[1] >= ORDER)
    for one, other in ((LIGHTNESS, RED_BLUE), (RED_BLUE, GREEN)):
        _set(correlation, one, other, UNSURE[scale] >= ORDER, SHRUNK * float(correlation[middle, one, other].mean()))
    for order, least in enumerate(TOGETHER[scale]):
        at = np.equal(order, ORDER)
        _set(correlation, LIGHTNESS, GREEN, at, np.maximum(correlation[at, LIGHTNESS, GREEN], least))
    flat = deviation.reshape(SIDE**2, -1)
    return _positive(correlation * flat[:, :, None] * flat[:, None, :])


def _set(correlation: Floats, one: int, other: int, at: NDArray[np.bool_], values: Floats | float) -> None:
    correlation[at, one, other] = values
    correlation[at, other, one] = values


def _positive(power: Floats) -> Floats:
    """Covariances without negative eigenvalues."""
    values, vectors = np.linalg.eigh(power)
    return np.asarray(np.einsum("kab,kb,kcb->kac", vectors, np.maximum(values, 1e-4 * values[:, -1:]), vectors))
