"""Sheets: small planes of a volume or clip side by side, as one image.

A few thousand pixels show the level of white noise, but hardly whether it grows with brightness; several planes show
it. Patches across the seams are textured, and count as such. Whether noise is correlated is never judged on sheets:
texture that comes again in every plane looks as certain as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from epitomes.checks import Array
from epitomes.noise.correlated import LEAST_PIXELS
from epitomes.noise.planes import evenly_spaced

SIDE = 192  # pixels that a sheet has along both axes, if there are enough planes
FEWEST, MOST = 3, 12  # sheets of a volume or clip; each takes a second per megapixel

Sheet = list[list[int]]  # rows of plane numbers


def sheets_of(shape: Sequence[int]) -> list[Sheet]:
    """Which planes of a volume `(planes, height, width, ...)` lie side by side; large ones lie alone, and so do few.

    Those of a sheet follow each other: the noise of a volume may change along it, and sheets then have different noise.
    """
    n, high, wide = shape[:3]
    most = 1 if high * wide >= LEAST_PIXELS else max(1, n // FEWEST)  # planes of a sheet
    across = min(-(-SIDE // wide), max(1, isqrt(most * high // wide)))
    down = min(-(-SIDE // high), max(1, most // across))
    count = min(MOST, n // (down * across))
    firsts = evenly_spaced(n - down * across + 1, count)
    return [(first + np.arange(down * across)).reshape(down, across).tolist() for first in firsts]


def planes_seen(shape: Sequence[int]) -> list[int]:
    """All planes that lie on a sheet, in their order."""
    return sorted(number for sheet in sheets_of(shape) for row in sheet for number in row)


def noun_of(shape: Sequence[int]) -> str:
    """What a part of the estimate is called: one plane, or a sample of several."""
    return "plane" if np.size(sheets_of(shape)[0]) == 1 else "sample"


def laid_out(volume: Array, sheet: Sheet) -> Array:
    """A sheet of a volume `(planes, height, width[, channels])` as one image."""
    return np.concatenate([np.concatenate([volume[number] for number in row], axis=1) for row in sheet], axis=0)
