"""Which pixels show noise at all: not those at a limit of the camera, nor those of drawings, margins and masks."""

from __future__ import annotations

import numpy as np

from epitomes.noise.door import Flags, Floats

CLIPPED = 0.002  # share of pixels at the lowest or highest value that means a limit
CHANCE = 16  # so many pixels there mean nothing in a small image


def limits(pixels: Floats) -> tuple[list[float], Flags]:
    """Lowest and highest value if so many pixels have them that they must be limits, and who is there."""
    found, there = [], np.zeros(pixels.shape, np.bool_)
    for value in (float(pixels.min()), float(pixels.max())):
        here = pixels == value
        if here.sum() > max(CHANCE, CLIPPED * here.size):
            found.append(value)
            there |= here
    return found, there


def without_noise(pixels: Floats) -> Flags:
    """Pixels that equal all their neighbours."""
    flat = np.zeros(pixels.shape, np.bool_)
    beside = pixels[:, 1:] == pixels[:, :-1]
    rows = beside[:, 1:] & beside[:, :-1]  # three in a row are equal
    below = (pixels[1:] == pixels[:-1])[:, 1:-1]
    flat[1:-1, 1:-1] = rows[:-2] & rows[1:-1] & rows[2:] & below[1:] & below[:-1]
    return flat
