"""Which pixels show noise: not clipped ones, nor the constant areas of drawings, margins and masks."""

from __future__ import annotations

import numpy as np

from epitomes.noise.planes import Flags, Floats

CLIPPED_SHARE = 0.002  # share of pixels at the lowest or highest value from which the image may be clipped there
MIN_CLIPPED = 16  # pixels; fewer at one value happen by chance in small images
CLIPPED_EXCESS = 1.5  # pixels at a limit over those that the next two values predict; 1/2 for Poisson counts


def clipped_pixels(pixels: Floats) -> tuple[list[float], Flags]:
    """The values at which the image is clipped (none, one or two), and the pixels that have them."""
    limits, clipped = [], np.zeros(pixels.shape, np.bool_)
    for sign in (1, -1):
        value = sign * float((sign * pixels).min())
        here = pixels == value
        if here.sum() > max(MIN_CLIPPED, CLIPPED_SHARE * here.size) and _excess(sign * pixels[~here], here.sum()):
            limits.append(value)
            clipped |= here
    return limits, clipped


def constant_pixels(pixels: Floats) -> Flags:
    """Pixels that equal all their neighbours."""
    constant = np.zeros(pixels.shape, np.bool_)
    beside = pixels[:, 1:] == pixels[:, :-1]
    rows = beside[:, 1:] & beside[:, :-1]  # three equal pixels in a row
    below = (pixels[1:] == pixels[:-1])[:, 1:-1]
    constant[1:-1, 1:-1] = rows[:-2] & rows[1:-1] & rows[2:] & below[1:] & below[:-1]
    return constant


def _excess(others: Floats, count: int) -> bool:
    """Whether `count` pixels below all `others` are too many to continue their histogram, as dark counts do."""
    following = []
    for _ in range(2):
        if not others.size:
            return True
        here = others == others.min()
        following.append(int(here.sum()))
        others = others[~here]
    first, second = following
    return count * second > CLIPPED_EXCESS * first**2
