"""Windows that lie between the pixels: sub-pixel shifts, rotations and scales as more atoms of the same epitome.

The atoms of an index-table phi come first, as they are, so the map stays injective and well conditioned. Then come,
for each motion, the windows moved by it, wherever they lie fully inside a picture. Values between pixels are
interpolated linearly along each axis, so every entry of D is a weighted mean of neighbouring pixels of E.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, vstack

from epitomes.checks import as_floats, positive
from epitomes.phi._windows import spatial_axes
from epitomes.phi.gather import GatherPhi, Index
from epitomes.phi.matrix import MatrixPhi
from epitomes.phi.protocol import require_table

Floats = NDArray[np.float64]
NEAR = 1e-9  # a position nearer to a pixel than this is on it: sines and cosines are not exact


def subpixel(phi: GatherPhi, shifts: ArrayLike) -> MatrixPhi:
    """The atoms of `phi`, then all windows moved by each of the `shifts`: `(k, rank of the patch)`, in pixels."""
    _require_pictures("subpixel", phi)
    rank = len(phi.patch_shape)
    moves = as_floats("shifts", shifts, ndim=2, dtype=np.float64)
    if moves.shape[1] != rank:
        raise ValueError(f"shifts needs {rank} columns, one per axis of the patch, got shape {moves.shape}")
    for shift in moves:
        if (np.abs(shift - np.rint(shift)) < NEAR).all():
            raise ValueError(f"the shift {tuple(shift.tolist())} is whole pixels: leave it out, phi has those windows")
    centred, centre = _pixels(phi)
    return _with_windows(phi, [(f"shifted by {tuple(s.tolist())}", centre + centred + s) for s in moves])


def rotated(phi: GatherPhi, degrees: Sequence[float]) -> MatrixPhi:
    """The atoms of `phi`, then all windows turned anticlockwise about their centres by each of the angles.

    Patches need two axes, or three with channels last. Quarter turns are exact, as in `turned`.
    """
    _require_pictures("rotated", phi)
    if spatial_axes(phi) != 2:
        raise ValueError(
            f"rotated needs patches of two axes, or of three with channels last, got patch_shape {phi.patch_shape}"
        )
    centred, centre = _pixels(phi)
    moves = []
    for angle in as_floats("degrees", degrees, ndim=1, dtype=np.float64).tolist():
        if angle % 360 == 0:
            raise ValueError(f"the rotation by {angle} degrees moves nothing: leave it out, phi has those windows")
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turn = np.eye(len(phi.patch_shape))
        turn[:2, :2] = [[cos, sin], [-sin, cos]]
        moves.append((f"turned by {angle} degrees", centre + centred @ turn.T))
    return _with_windows(phi, moves)


def scaled(phi: GatherPhi, factors: Sequence[float]) -> MatrixPhi:
    """The atoms of `phi`, then all windows that are each of the factors times as wide as the patch.

    A factor above one shows more of the epitome in a patch, below one less. Channels keep their scale.
    """
    _require_pictures("scaled", phi)
    centred, centre = _pixels(phi)
    moves = []
    for value in as_floats("factors", factors, ndim=1, dtype=np.float64).tolist():
        factor = positive("each of factors", value)
        if factor == 1:
            raise ValueError("the factor 1 moves nothing: leave it out, phi has those windows")
        each = np.where(np.arange(centre.size) < spatial_axes(phi), factor, 1.0)
        moves.append((f"scaled by {factor}", centre + centred * each))
    return _with_windows(phi, moves)


def _require_pictures(name: str, phi: GatherPhi) -> None:
    if not isinstance(phi, GatherPhi):
        raise TypeError(f"{name} needs an index-table phi such as windows(...), got {type(phi).__name__}")


def _pixels(phi: GatherPhi) -> tuple[Floats, Floats]:
    """The pixels that an atom holds as positions about the centre of the patch, `(m, rank)`, and the centre."""
    mask = np.ones(phi.patch_shape, bool) if phi.support is None else phi.support
    centre = (np.array(phi.patch_shape) - 1) / 2
    return np.argwhere(mask) - centre, centre


def _with_windows(phi: GatherPhi, moves: list[tuple[str, Floats]]) -> MatrixPhi:
    n_pixels = math.prod(phi.epitome_shape)
    n_entries = phi.n_atoms * phi.patch_size
    copies = (np.ones(n_entries), phi.index.reshape(-1), np.arange(n_entries + 1))
    blocks = [csr_array(copies, shape=(n_entries, n_pixels))]
    for name, positions in moves:
        whole = np.rint(positions)
        exact = np.where(np.abs(positions - whole) < NEAR, whole, positions)
        found = [_interpolated(picture, exact, n_pixels) for picture in phi.pictures]
        if not any(block.shape[0] for block in found):
            raise ValueError(
                f"no window of {phi.patch_shape} pixels {name} lies inside a picture of {phi!r}: enlarge the epitome"
            )
        blocks += [block for block in found if block.shape[0]]
    return MatrixPhi(vstack(blocks, format="csr"), phi.epitome_shape, phi.patch_shape, phi.support)


def _interpolated(picture: Index, positions: Floats, n_pixels: int) -> csr_array:
    """The rows of R for all whole shifts of the window at `positions`, `(m, rank)`, that stay inside the picture."""
    low = np.ceil(-positions.min(axis=0))
    high = np.floor(np.array(picture.shape) - 1 - positions.max(axis=0))
    if (high < low).any():
        return csr_array((0, n_pixels))
    lengths = (high - low).astype(int) + 1
    n_windows, m = math.prod(lengths.tolist()), len(positions)
    require_table("the interpolated windows", n_windows * 2**picture.ndim, m)
    starts = np.indices(lengths).reshape(picture.ndim, -1, 1) + low.astype(np.intp).reshape(-1, 1, 1)
    corner = np.floor(positions).astype(np.intp)
    share = positions - corner
    entries, columns, weights = [], [], []
    for step in product((0, 1), repeat=picture.ndim):
        weight = np.where(step, share, 1 - share).prod(axis=1)
        used = np.flatnonzero(weight)  # a corner of no weight may lie outside the picture
        entries.append(used)
        columns.append(picture[tuple(starts + (corner + step)[used].T[:, None, :])])
        weights.append(weight[used])
    seen = _distinct(np.concatenate(columns, axis=1), picture)
    rows = np.arange(len(seen))[:, None] * m + np.concatenate(entries)
    values = np.broadcast_to(np.concatenate(weights), seen.shape)
    where = (rows.reshape(-1), seen.reshape(-1))
    return coo_array((values.reshape(-1), where), shape=(len(seen) * m, n_pixels)).tocsr()


def _distinct(seen: Index, picture: Index) -> Index:
    """The rows of `seen` without repetitions: a periodic picture can show one small window in several places."""
    if np.unique(picture).size == picture.size:
        return seen
    first = np.unique(seen, axis=0, return_index=True)[1]
    return seen[np.sort(first)]
