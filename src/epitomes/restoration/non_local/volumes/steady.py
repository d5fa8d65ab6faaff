"""Steady: planes draw closer to their neighbours along their motion, where these tell the same.

Whole estimates are averaged, not groups, so it costs little, and what still flickers is what groups of one plane and of
the next see differently. Estimates may be moved by parts of pixels, as their noise need not stay white. A neighbour
that differs by more than errors do shows something else, or its motion was not found: there it counts for nothing. Blur
and ghosts come from averages without such weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from epitomes.groups._bands import Slice
from epitomes.restoration.non_local.volumes.motion import BLOCK, Image, Motion
from epitomes.restoration.non_local.volumes.stream import Plane

SHARE = 1 / 3  # of a neighbour that is just the same
AROUND = 1.0  # pixels: standard deviation of the window in which planes are compared
ERROR = 0.06  # mean square difference that counts 1 / e, in variances of the noise and per unit of contrast
STEPS = 2  # to parts of pixels
WINDOW = 2.5  # pixels: standard deviation of the window in which motion is the same
LEAST_SLOPE = 0.02  # mean square that is added to those of slopes: where there are none, nothing moves
LONGEST = 0.5  # pixels: of a step along an axis
FARTHEST = 1.5  # pixels from the motion of the block, beyond which that is taken instead
LINEAR, CUBIC = 1, 3  # order of splines

Shift = NDArray[np.float32]  # (2, height, width): rows and columns


def steadied(planes: Iterator[Plane], contrast: float) -> Iterator[Plane]:
    """The same planes, each with something of the planes before and after it; `contrast` is in units of the noise.

    The fainter the noise, the larger the part of it that errors are.
    """
    before, here = None, next(planes)
    for after in planes:
        yield _drawn(here, before, after, ERROR * contrast)
        before, here = here, after
    yield _drawn(here, before, None, ERROR * contrast)


def _drawn(here: Plane, before: Plane | None, after: Plane | None, error: float) -> Plane:
    """A plane drawn to its neighbours; motion is that of the first channel."""
    found = here.current
    for neighbour, motion in ((before, here.before), (after, here.after)):
        if neighbour is None or motion is None:
            continue
        shift = finer(here.current[0], neighbour.current[0], motion)
        moved, inside = _moved(neighbour.current, shift)
        change = moved - here.current
        difference = np.max([gaussian_filter(np.square(channel), AROUND) for channel in change], axis=0)
        weight = np.where(inside, np.float32(SHARE) * np.exp(-difference / np.float32(error)), np.float32(0))
        found = found + weight * change
    return replace(here, current=found)


def finer(plane: Image, other: Image, motion: Motion) -> Shift:
    """Motion to parts of a pixel, for every pixel: by least squares around it (Lucas and Kanade 1981)."""
    height, width = plane.shape
    start = motion.shift.repeat(BLOCK, axis=1).repeat(BLOCK, axis=2)[:, :height, :width].astype(np.float32)
    places, shift = np.indices(plane.shape, np.float32), start
    for _ in range(STEPS):
        moved = map_coordinates(other, places + shift, order=LINEAR, mode="nearest")
        change, (down, across) = moved - plane, np.gradient((moved + plane) / 2)
        products = down * down, across * across, down * across, down * change, across * change
        yy, xx, xy, ye, xe = (gaussian_filter(each, WINDOW, truncate=2.0) for each in products)
        yy, xx = yy + np.float32(LEAST_SLOPE), xx + np.float32(LEAST_SLOPE)
        step = np.stack([xy * xe - xx * ye, xy * ye - yy * xe]) / (yy * xx - xy * xy)
        shift = shift + step.clip(-LONGEST, LONGEST)
    return np.where(np.abs(shift - start).max(axis=0) <= FARTHEST, shift, start)


def _moved(image: Slice, shift: Shift) -> tuple[Slice, NDArray[np.bool_]]:
    """A plane as it lies in another one, and where that is inside of it."""
    places = np.indices(image.shape[1:], np.float32) + shift
    last = np.array(image.shape[1:])[:, None, None] - 1
    inside = np.asarray(np.all((places >= 0) & (places <= last), axis=0))
    return np.stack([map_coordinates(channel, places, order=CUBIC, mode="nearest") for channel in image]), inside
