"""Two scales of a planar image, by its cosine transform: half the size, and the way back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from epitomes.groups.matching import Planar
from epitomes.halving import halved

SHARE = 0.7  # of the frequencies of the half size that are taken from it
RAMP = 0.3  # width of the passage to the others

Weights = NDArray[np.float32]


def half_size(image: Planar) -> Planar:
    """The image at half its size, `(channels, 1, height, width)`."""
    return np.stack([halved(channel[0])[None] for channel in image])


def joined(fine: Planar, small: Planar) -> Planar:
    """The fine image with the low frequencies of the small one."""
    result = np.empty_like(fine)
    for channel, half, out in zip(fine, small, result, strict=True):
        frequencies = dctn(channel[0], norm="ortho")
        low = frequencies[: half.shape[1], : half.shape[2]]
        weight = from_small(*(np.arange(side, dtype=np.float32) / side for side in low.shape))
        low += weight * (dctn(half[0], norm="ortho") * np.float32(np.sqrt(channel[0].size / half[0].size)) - low)
        out[0] = idctn(frequencies, norm="ortho", overwrite_x=True)
    return result


def from_small(down: Weights, across: Weights) -> Weights:
    """How much of each frequency comes from the small image; frequencies as shares of its finest one."""
    finest = np.maximum(down[:, None], across)
    return np.clip((SHARE + RAMP / 2 - finest) / np.float32(RAMP), 0, 1).astype(np.float32)
