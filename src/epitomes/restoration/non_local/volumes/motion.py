"""Motion between neighbouring planes, by blocks, and boxes that follow it.

Motion is in whole pixels, and boxes are shifted as a whole, so noise stays white. It is searched from coarse to fine,
on estimates and not on noisy planes. Still blocks are preferred where the difference is small, so that noise does not
move what stands still, and so are blocks that move like their neighbours: what one has found, those beside it try.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.groups._bands import Box
from epitomes.groups.matching import Reference

BLOCK = 8  # pixels: motion is known for every block of this side
TILE = 16  # pixels: references in a tile follow the same motion
REACH = 4  # pixels each way, on the coarsest scale
SCALES = 3
SPARSE = 16  # pixels: of larger squares every second row is compared
MOST_PRICED = 8  # pixels: longer ones cost no more
SWEEPS = 2  # times that blocks try the shifts of their neighbours, on each scale

Image = NDArray[np.float32]  # (height, width)
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Squares:
    """What blocks are compared by, and how strongly still ones, and those that move as those around, are preferred."""

    side: int  # pixels
    price: float  # of a pixel of motion, in variances of the noise
    unlike: float = 0.0  # price of a pixel by which a block and those around it move differently; 0: each by itself


ON_PILOTS = Squares(36, 0.03, 0.03)
ON_ESTIMATES = Squares(20, 0.003, 0.01)  # less noise is left in them


@dataclass(frozen=True, eq=False)
class Motion:
    """Where the blocks of a plane are found in another one."""

    shift: NDArray[np.intp]  # (2, blocks down, blocks across): rows and columns

    def at(self, row: int, column: int) -> tuple[int, int]:
        """The shift of the block that holds a pixel."""
        down, across = self.shift[:, row // BLOCK, column // BLOCK]
        return int(down), int(across)


def find_motion(plane: Image, other: Image, squares: Squares) -> Motion:
    """Search each block of a plane, by the square around it, in another plane."""
    scales = [(plane, other)]
    while len(scales) < SCALES and min(scales[-1][0].shape) >= 4 * BLOCK:
        scales.append((_halved(scales[-1][0]), _halved(scales[-1][1])))
    middles = [np.arange(BLOCK // 2, size + BLOCK // 2, BLOCK) for size in plane.shape]  # a last block may be cut off
    shift = np.zeros((2, len(middles[0]), len(middles[1])), np.intp)
    for scale in reversed(range(len(scales))):
        reach = REACH if scale == len(scales) - 1 else 1
        at = Squares(max(6, squares.side >> scale), squares.price / 4**scale, squares.unlike / 4**scale)
        shift = _refined(*scales[scale], [middle >> scale for middle in middles], shift, reach, at, scale)
        if scale:
            shift = 2 * shift
    return Motion(shift)


def _refined(
    plane: Image, other: Image, middles: list[Index], shift: Index, reach: int, squares: Squares, scale: int
) -> NDArray[np.intp]:
    """The best of the shifts around those of the coarser scale, of none at all, and of those that neighbours found."""
    half = squares.side // 2
    margin = half + reach + int(np.abs(shift).max()) + 1
    padded, beyond = np.pad(plane, half, mode="edge"), np.pad(other, margin, mode="edge")
    tops, lefts = (np.minimum(at, size - 1) - half for at, size in zip(middles, plane.shape, strict=True))
    side, step = 2 * half, 1 + (squares.side >= SPARSE)

    def costs(candidates: Index) -> NDArray[np.float32]:
        rows, columns = tops[:, None] + candidates[:, 0] + margin, lefts + candidates[:, 1] + margin
        difference = kernels.compare_squares(padded, beyond, tops + half, lefts + half, rows, columns, side, step)
        return np.asarray(difference + squares.price * _length(candidates, scale))

    best, least = np.zeros_like(shift), costs(np.zeros_like(shift)[None])[0]
    moves = np.mgrid[-reach : reach + 1, -reach : reach + 1].transpose(1, 2, 0)
    for line in moves[..., None, None]:  # not all at once: of large planes they would fill the memory
        candidates = shift + line
        best, least = _least(np.append(best[None], candidates, 0), np.append(least[None], costs(candidates), 0))
    for _ in range(SWEEPS if squares.unlike else 0):
        neighbours = _neighbours(best)
        candidates = np.append(best[None], neighbours, 0)
        own = np.append(least[None], costs(neighbours), 0)
        unlike = _length(candidates[:, None] - neighbours, scale).mean(axis=1)
        best, least = _least(candidates, own + squares.unlike * unlike, own)
    return np.asarray(best)


def _least(
    candidates: Index, by: NDArray[np.floating], costs: NDArray[np.floating] | None = None
) -> tuple[Index, NDArray[np.floating]]:
    """The candidate of each block, `(2, down, across)`, that is least by something; the first of equal ones."""
    first = by.argmin(axis=0)[None]
    taken = np.take_along_axis(by if costs is None else costs, first, 0)[0]
    return np.take_along_axis(candidates, first[:, None], 0)[0], taken


def _length(shift: Index, scale: int) -> Index:
    """Of shifts `(..., 2, blocks down, blocks across)`, in pixels of the finest scale; long ones are as one."""
    return np.asarray(np.minimum(MOST_PRICED, np.abs(shift).sum(axis=-3) << scale))


def _neighbours(shift: Index) -> Index:
    """The shifts of the blocks above, below, left and right of each, `(4, 2, blocks down, blocks across)`."""
    padded = np.pad(shift, ((0, 0), (1, 1), (1, 1)), mode="edge")
    beside, above = padded[:, 1:-1], padded[:, :, 1:-1]
    return np.stack([above[:, :-2], above[:, 2:], beside[:, :, :-2], beside[:, :, 2:]])


def _halved(image: Image) -> Image:
    """Means of 2 x 2 pixels; a last odd row or column is left out."""
    height, width = (size // 2 * 2 for size in image.shape)
    return np.asarray(image[:height, :width].reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3)))


def follow(
    box: Box, motions: Sequence[tuple[Motion | None, Motion | None]], reference: Reference, shape: tuple[int, int]
) -> Box:
    """The box shifted along the motion of its middle, from the plane of the references to those around it.

    `motions` are those of all planes, to the plane before and after each. A box that would leave its plane stays at the
    border.
    """
    start = [(int(at[0]) + int(at[-1])) // 2 for at in (reference.tops, reference.lefts)]
    low = -box.rows.start, -box.columns.start
    high = shape[0] - box.rows.stop, shape[1] - box.columns.stop
    shifts = list(box.shifts)
    for step, side in ((-1, 0), (1, 1)):
        at, shift = reference.plane, (0, 0)
        while box.first <= at + step < box.first + len(shifts) and (motion := motions[at][side]) is not None:
            here = [min(max(start[axis] + shift[axis], 0), shape[axis] - 1) for axis in (0, 1)]
            moved = motion.at(*here)
            shift = shift[0] + moved[0], shift[1] + moved[1]
            at += step
            shifts[at - box.first] = tuple(min(max(shift[axis], low[axis]), high[axis]) for axis in (0, 1))
    return replace(box, shifts=tuple(shifts))
