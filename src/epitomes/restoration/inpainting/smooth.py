"""Smooth: the surface of least bending through the known pixels, as a start for everything else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

STEPS = 60  # of conjugate gradients on each scale: the coarser one has settled all that is far
SMALLEST = 4  # pixels along the shorter side of the coarsest scale


def smooth_fill(plane: Doubles, unknown: Flags) -> Doubles:
    """Replace unknown pixels by the values that make the sum of squared Laplacians small.

    Coarse to fine: unknown pixels begin with the values that a scale of half the size gave them.
    """
    if not unknown.any():
        return plane
    known = ~unknown
    if min(plane.shape) <= SMALLEST or known.sum() < 4:
        begin = np.full(plane.shape, plane[known].mean())
    else:
        values, weights = _halved(np.where(known, plane, 0.0)), _halved(known.astype(np.float64))
        means = np.divide(values, weights, out=np.zeros_like(values), where=weights > 0)
        coarse = smooth_fill(means, weights == 0)
        begin = coarse.repeat(2, axis=0).repeat(2, axis=1)[: plane.shape[0], : plane.shape[1]]
    return _relaxed(np.where(known, plane, begin), unknown)


def _relaxed(plane: Doubles, unknown: Flags) -> Doubles:
    """Steps of conjugate gradients on the unknown pixels."""
    filled = plane.copy()
    rest = -_laplacian(_laplacian(filled)) * unknown
    direction, energy = rest.copy(), _dot(rest, rest)
    goal = 1e-10 * energy
    for _ in range(STEPS):
        if energy <= goal:
            break
        bent = _laplacian(_laplacian(direction)) * unknown
        step = energy / _dot(direction, bent)
        filled += step * direction
        rest -= step * bent
        fresh = _dot(rest, rest)
        direction *= fresh / energy
        direction += rest
        energy = fresh
    return filled


def _laplacian(plane: Doubles) -> Doubles:
    """Differences to the neighbours, summed; there are none across the border."""
    out = np.zeros_like(plane)
    for axis in (0, 1):
        step = np.diff(plane, axis=axis)
        first, last = ((slice(None, -1), slice(None)), (slice(1, None), slice(None)))
        if axis == 1:
            first, last = first[::-1], last[::-1]
        out[first] += step
        out[last] -= step
    return out


def _dot(one: Doubles, other: Doubles) -> float:
    return float(np.einsum("ij,ij->", one, other))  # not BLAS, whose threads change bits


def _halved(plane: Doubles) -> Doubles:
    """Sums of 2 x 2 pixels; a last odd row or column counts by itself."""
    rows = np.add.reduceat(plane, np.arange(0, plane.shape[0], 2), axis=0)
    return np.asarray(np.add.reduceat(rows, np.arange(0, plane.shape[1], 2), axis=1))
