"""Smooth: the surface of least bending through the known pixels, as a start for everything else.

The same holds for volumes: what bends least along all of their axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

STEPS = 60  # of conjugate gradients on each scale: the coarser one has settled all that is far
SMALLEST = 4  # pixels: shorter axes are not halved


def smooth_fill(plane: Doubles, unknown: Flags) -> Doubles:
    """Replace unknown pixels by the values that make the sum of squared Laplacians small.

    Coarse to fine: unknown pixels begin with the values that a scale of half the size gave them.
    """
    if not unknown.any():
        return plane
    known = ~unknown
    shared = tuple(2 if size > SMALLEST else 1 for size in plane.shape)
    if min(plane.shape[-2:]) <= SMALLEST or known.sum() < 4:
        begin = np.full(plane.shape, plane[known].mean())
    else:
        values, weights = _shrunk(np.where(known, plane, 0.0), shared), _shrunk(known.astype(np.float64), shared)
        means = np.divide(values, weights, out=np.zeros_like(values), where=weights > 0)
        begin = smooth_fill(means, weights == 0)
        for axis, step in enumerate(shared):
            begin = begin.repeat(step, axis=axis)
        begin = begin[tuple(slice(size) for size in plane.shape)]
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
    for axis in range(plane.ndim):
        step = np.diff(plane, axis=axis)
        here = (slice(None),) * axis
        out[(*here, slice(None, -1))] += step
        out[(*here, slice(1, None))] -= step
    return out


def _dot(one: Doubles, other: Doubles) -> float:
    lines = (-1, one.shape[-1])
    return float(np.einsum("ij,ij->", one.reshape(lines), other.reshape(lines)))  # not BLAS, whose threads change bits


def _shrunk(plane: Doubles, steps: tuple[int, ...]) -> Doubles:
    """Sums of so many pixels along each axis; the last ones may be fewer."""
    for axis, step in enumerate(steps):
        plane = np.add.reduceat(plane, np.arange(0, plane.shape[axis], step), axis=axis)
    return plane
