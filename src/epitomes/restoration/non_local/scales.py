"""Two scales of a planar image: half the size, and the way back, by filters of bounded length.

A pixel of the small image lies in the middle of four of the fine one, and beyond the border is a mirror. Parts of an
image that begin at an even pixel therefore have the bits of the whole, `REACH` pixels away from where they were cut.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from epitomes.groups.matching import Planar

SHARE = 0.7  # of the frequencies of the half size that are taken from it
RAMP = 0.3  # width of the passage to the others
TAPS = 32  # pixels of the fine image that a filter covers
REACH = TAPS // 2  # pixels of the fine image
# Cut-off of the filter that halves, as a share of the frequencies of the half size, at which white noise has half its
# level afterwards, as if the frequencies beyond had been cut off.
CUT = 1.0358
SMOOTH_ENDS, LONG_ENDS = 3.5, 2.0  # Kaiser windows of the two filters

Weights = NDArray[np.float32]


def half_size(image: Planar) -> Planar:
    """The image at half its size, rounded up, `(channels, 1, height, width)`."""
    for axis in (2, 3):
        if image.shape[axis] % 2:
            image = np.concatenate([image, image.take([-1], axis)], axis)
        # The filter lies around the middle of an even pixel and the next one.
        image = correlate1d(image, DOWN, axis, mode="reflect", origin=-1)[(slice(None),) * axis + (slice(0, None, 2),)]
    return np.ascontiguousarray(image)


def joined(fine: Planar, small: Planar) -> Planar:
    """The fine image with the low frequencies of the small one."""
    change = small - half_size(fine)
    for axis in (2, 3):
        change = _twice_as_long(change, axis, fine.shape[axis])
    return np.asarray(fine + change)


def from_small(down: Weights, across: Weights) -> Weights:
    """How much of each frequency comes from the small image; frequencies as shares of its finest one."""
    finest = np.maximum(down[:, None], across)
    return np.clip((SHARE + RAMP / 2 - finest) / np.float32(RAMP), 0, 1).astype(np.float32)


def _twice_as_long(small: Planar, axis: int, length: int) -> Planar:
    """An image with twice the pixels along an axis, or one less, without frequencies that only the fine one has."""
    before = (slice(None),) * axis
    found = np.empty((*small.shape[:axis], 2 * small.shape[axis], *small.shape[axis + 1 :]), small.dtype)
    found[(*before, slice(0, None, 2))] = correlate1d(small, UP[::-2], axis, mode="reflect")
    found[(*before, slice(1, None, 2))] = correlate1d(small, UP[-2::-2], axis, mode="reflect", origin=-1)
    return found[(*before, slice(0, length))]


def _low_pass(cut: float, ramp: float, ends: float) -> NDArray[np.float64]:
    """A filter that lets frequencies up to a share of those of the half size pass; it sums to 1.

    Its response falls along a ramp of this width, whose transform is the product of two sines over their arguments.
    """
    at = np.arange(TAPS) - (TAPS - 1) / 2
    taps = np.sinc(cut * at / 2) * np.sinc(ramp * at / 4) * np.kaiser(TAPS, ends)
    return np.asarray(taps / taps.sum())


DOWN = _low_pass(CUT, 0.0, SMOOTH_ENDS)
UP = 2 * _low_pass(SHARE, RAMP, LONG_ENDS)
