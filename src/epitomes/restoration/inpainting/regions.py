"""Regions: which unknown pixels are scattered among known ones, and which make holes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt, find_objects, label

Flags = NDArray[np.bool_]

RADIUS = 5  # pixels: a disc without known pixels that is larger than this is a hole
RING = 4  # pixels around a hole
OPEN = 0.6  # share of unknown pixels in the ring: where there are more, gaps of this size are chance


def holes_of(unknown: Flags) -> Flags:
    """Unknown regions that no patch looks across, in surroundings that are mostly known."""
    holes = np.zeros_like(unknown)
    inner = distance_transform_edt(unknown) > RADIUS
    if not inner.any():
        return holes
    discs = distance_transform_edt(~inner) <= RADIUS  # the union of all such discs
    parts, _ = label(discs)
    for number, box in enumerate(find_objects(parts), start=1):
        window = tuple(slice(max(0, side.start - RING), side.stop + RING) for side in box)
        part = parts[window] == number
        ring = binary_dilation(part, iterations=RING) & ~part
        if not ring.any() or unknown[window][ring].mean() < OPEN:
            # Discs miss the corners of a hole, which belong to it.
            holes[window] |= binary_dilation(part, iterations=RING, mask=unknown[window])
    return holes
