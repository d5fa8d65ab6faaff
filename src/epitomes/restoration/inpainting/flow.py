"""Flow: how a plane moves into another one, densely and to parts of a pixel, seen from a plane between them.

`find_motion` of `non_local/volumes` moves whole blocks by whole pixels, which keeps noise white. Here there is no plane
yet that could be moved: every pixel of it needs a place in the plane before and in the plane after. Half of the way to
both is searched at once, so no pixel is left out and none is reached twice (symmetric variational flow, from coarse to
fine, with the median filter of Sun, Roth and Black 2010).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate, gaussian_filter, map_coordinates, median_filter

Doubles = NDArray[np.float64]

SMALLEST = 16  # pixels along the shorter side of the coarsest scale
WARPS = 6  # times that planes are moved on each scale
STEPS = 25  # of relaxation after each
SMOOTHNESS = 0.08  # weight of differences between neighbouring shifts, in units of the contrast
ROBUST = 0.05  # differences of brightness above this count less, in the same units
MEDIAN = 5  # pixels: side of the filter that keeps edges of the motion sharp
NEIGHBOURS = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]]) / 12
CUBIC, LINEAR = 3, 1  # order of splines


def find_flow(one: Doubles, other: Doubles) -> Doubles:
    """The shift `(2, height, width)` with which `one` at x - shift and `other` at x + shift look alike."""
    contrast = max(float(np.std([one, other])), 1e-9)
    scales = [(one / contrast, other / contrast)]
    while min(scales[-1][0].shape) >= 2 * SMALLEST:
        scales.append((halved(scales[-1][0]), halved(scales[-1][1])))
    shift = np.zeros((2, *scales[-1][0].shape))
    for small in reversed(scales):
        shift = _enlarged(shift, small[0].shape)
        for _ in range(WARPS):
            shift = _relaxed(*small, shift)
            shift = np.stack([median_filter(axis, MEDIAN, mode="nearest") for axis in shift])
    return shift


def moved(image: Doubles, shift: Doubles, order: int = CUBIC) -> Doubles:
    """`image[x + shift[x]]`, by splines; beyond the border, what is at the border."""
    places = np.indices(image.shape) + shift
    return np.asarray(map_coordinates(image, places, order=order, mode="nearest"))


def _relaxed(one: Doubles, other: Doubles, shift: Doubles) -> Doubles:
    """A better shift: brightness differs little along it, and neighbours move alike."""
    before, after = moved(one, -shift, LINEAR), moved(other, shift, LINEAR)
    slopes = np.stack([np.gradient(before + after, axis=axis) for axis in (0, 1)])
    rest = after - before
    weight = 1 / np.sqrt(rest**2 + ROBUST**2)
    squares = SMOOTHNESS + weight * (slopes**2).sum(axis=0)
    found = shift
    for _ in range(STEPS):
        mean = np.stack([correlate(axis, NEIGHBOURS, mode="nearest") for axis in found])
        error = rest + (slopes * (mean - shift)).sum(axis=0)
        found = mean - slopes * (weight * error / squares)
    return found


def halved(image: Doubles) -> Doubles:
    """Half the size."""
    return np.asarray(gaussian_filter(image, 0.8, mode="nearest")[::2, ::2])


def _enlarged(shift: Doubles, shape: tuple[int, ...]) -> Doubles:
    """The shift on a finer scale."""
    if shift.shape[1:] == shape:
        return shift
    rows, columns = (np.arange(size) / 2 for size in shape)
    places = np.meshgrid(rows, columns, indexing="ij")
    return np.stack([2 * map_coordinates(axis, places, order=LINEAR, mode="nearest") for axis in shift])
