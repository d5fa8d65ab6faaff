"""Between: what is missing in a plane but known in the planes before and after it, along their motion.

Where both planes look alike without any motion, none is believed. Cameras shake: if the planes farther away tell that
motion as a whole speeds up or slows down, a plane in the middle is not half of the way between its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.ndimage import shift as shifted

from epitomes.restoration.inpainting.flow import CUBIC, LINEAR, find_flow, halved, moved

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

DOUBT = 4.0  # of motion: how many times better than none it must fit to count as much
BROAD = 4.0  # pixels, around which planes are compared
LEAST = 1e-9  # contrasts: differences below it are none
MOST_SHAKE = 0.3  # pixels along an axis: what is more was not found correctly


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A plane beside the missing one."""

    layers: Doubles  # (channels, height, width)
    unknown: Flags  # pixels that were not known in it
    distance: int  # in planes
    beyond: Doubles | None = None  # mean channel of the next plane, away from the missing one, if it is known

    @property
    def light(self) -> Doubles:
        """The mean of all channels, in which motion is found."""
        return np.asarray(self.layers.mean(axis=0))


def interpolated(before: Neighbour | None, after: Neighbour | None) -> tuple[Doubles, Flags]:
    """A plane between two others, or beside one, and where something is known of it."""
    if before is None or after is None:
        only = before if before is not None else after
        assert only is not None  # the caller has found one
        return only.layers, ~only.unknown
    flow = 2 * find_flow(before.light, after.light)
    share = before.distance / (before.distance + after.distance)
    along = _mixed(_moved(before, -share * flow), _moved(after, (1 - share) * flow), share)
    still = _mixed(_moved(before, None), _moved(after, None), share)
    known = along.known | still.known
    trust = still.difference / (still.difference + DOUBT * along.difference)
    trust = np.where(along.known, np.where(still.known, trust, 1.0), 0.0)
    layers = trust * along.layers + (1 - trust) * still.layers
    shake = _shake(before, after)
    if shake.any():
        layers = np.stack([shifted(layer, shake, order=CUBIC, mode="nearest") for layer in layers])
    return layers, known


@dataclass(frozen=True, eq=False)
class _Mean:
    layers: Doubles
    known: Flags
    difference: Doubles  # mean square, around each pixel


def _moved(plane: Neighbour, shift: Doubles | None) -> tuple[Doubles, Flags]:
    """A plane with every pixel moved, and where it is known."""
    if shift is None:
        return plane.layers, ~plane.unknown
    layers = np.stack([moved(layer, shift) for layer in plane.layers])
    if not plane.unknown.any():
        return layers, np.ones_like(plane.unknown)
    return layers, moved(plane.unknown.astype(np.float64), shift, LINEAR) == 0


def _mixed(one: tuple[Doubles, Flags], other: tuple[Doubles, Flags], share: float) -> _Mean:
    """The mean of two planes, by what is known of them."""
    (first, there), (second, here) = one, other
    weights = np.where(there & here, share, np.where(here, 1.0, 0.0))
    difference = np.square(first - second).mean(axis=0)
    least = LEAST * max(float(first.var()), 1e-300)
    return _Mean(first + weights * (second - first), there | here, gaussian_filter(difference, BROAD) + least)


def _shake(before: Neighbour, after: Neighbour) -> Doubles:
    """How far the plane in the middle is from half of the way, by a cubic through the two planes on either side."""
    if before.beyond is None or after.beyond is None or before.distance != 1 or after.distance != 1:
        return np.zeros(2)
    first, last = (
        4 * np.median(find_flow(halved(one), halved(other)), axis=(1, 2))
        for one, other in ((before.beyond, before.light), (after.light, after.beyond))
    )
    shake = (first - last) / 6
    return np.asarray(shake if np.abs(shake).max() <= MOST_SHAKE else np.zeros(2))
