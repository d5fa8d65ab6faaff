"""Resampled windows: sub-pixel shifts, rotations and scales as further atoms of the same epitome.

The atoms of the original map come first and are unchanged, so the map stays injective and well conditioned. For each
transform, they are followed by all transformed windows that lie inside a picture. Values between pixels are
interpolated linearly along each axis: an entry of the dictionary is a weighted mean of neighbouring pixels of the
epitome.
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
NEAR = 1e-9  # positions this close to a pixel are moved onto it, because sines and cosines are not exact


def subpixel(phi: GatherPhi, shifts: ArrayLike) -> MatrixPhi:
    """Add windows that are shifted by fractions of a pixel.

    Parameters
    ----------
    phi : GatherPhi
        Map to extend.
    shifts : array_like
        Shifts in pixels, of shape ``(k, n_axes)``, with one column per axis of the patch.

    Returns
    -------
    MatrixPhi
        Map whose first atoms are those of `phi`, followed by the shifted windows for each of the `k` shifts.

    Raises
    ------
    ValueError
        If a shift is a whole number of pixels along all axes: `phi` already has these windows.

    See Also
    --------
    rotated : Add rotated windows.
    scaled : Add enlarged or reduced windows.

    Notes
    -----
    Values between pixels are interpolated linearly along each axis.

    Examples
    --------
    >>> from epitomes.phi import subpixel, windows
    >>> phi = subpixel(windows((3,), (2,)), [[0.5]])
    >>> phi([0.0, 2.0, 6.0])
    array([[0., 2.],
           [2., 6.],
           [1., 4.]])
    """
    _require_pictures("subpixel", phi)
    rank = len(phi.patch_shape)
    moves = as_floats("shifts", shifts, ndim=2, dtype=np.float64)
    if moves.shape[1] != rank:
        raise ValueError(f"shifts needs {rank} columns, one per axis of the patch, got shape {moves.shape}")
    for shift in moves:
        if (np.abs(shift - np.rint(shift)) < NEAR).all():
            raise ValueError(f"the shift {tuple(shift.tolist())} is whole pixels: omit it, phi has those windows")
    centred, centre = _pixels(phi)
    return _with_windows(phi, [(f"shifted by {tuple(s.tolist())}", centre + centred + s) for s in moves])


def rotated(phi: GatherPhi, degrees: Sequence[float]) -> MatrixPhi:
    """Add windows that are rotated about their centres.

    Parameters
    ----------
    phi : GatherPhi
        Map to extend. Its patches need two axes, or three with channels last.
    degrees : sequence of float
        Angles in degrees, anticlockwise. Multiples of 90 need no interpolation and are exact.

    Returns
    -------
    MatrixPhi
        Map whose first atoms are those of `phi`, followed by the rotated windows for each angle.

    Raises
    ------
    ValueError
        If an angle is a multiple of 360 degrees, or if no rotated window fits in a picture.

    See Also
    --------
    turned : Quarter turns and mirror images of all atoms, without a matrix.

    Notes
    -----
    Values between pixels are interpolated linearly along each axis.

    Examples
    --------
    >>> from epitomes.phi import rotated, windows
    >>> plain = windows((12, 12), (4, 4))
    >>> plain.n_atoms, rotated(plain, [30, 60]).n_atoms
    (81, 179)
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
            raise ValueError(f"the rotation by {angle} degrees moves nothing: omit it, phi has those windows")
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turn = np.eye(len(phi.patch_shape))
        turn[:2, :2] = [[cos, sin], [-sin, cos]]
        moves.append((f"turned by {angle} degrees", centre + centred @ turn.T))
    return _with_windows(phi, moves)


def scaled(phi: GatherPhi, factors: Sequence[float]) -> MatrixPhi:
    """Add windows that are larger or smaller than a patch, resampled to the size of a patch.

    Parameters
    ----------
    phi : GatherPhi
        Map to extend.
    factors : sequence of float
        Width of the windows relative to the patch. A factor above 1 shows a larger part of the epitome. Channels are
        not scaled.

    Returns
    -------
    MatrixPhi
        Map whose first atoms are those of `phi`, followed by the scaled windows for each factor.

    Raises
    ------
    ValueError
        If a factor is 1 or not positive, or if no scaled window fits in a picture.

    See Also
    --------
    subpixel : Add windows that are shifted by fractions of a pixel.

    Notes
    -----
    Values between pixels are interpolated linearly along each axis.

    Examples
    --------
    >>> from epitomes.phi import scaled, windows
    >>> phi = scaled(windows((4,), (2,)), [2.0])
    >>> phi([0.0, 2.0, 4.0, 6.0])  # the last atom has a spacing of two pixels
    array([[0., 2.],
           [2., 4.],
           [4., 6.],
           [1., 5.]])
    """
    _require_pictures("scaled", phi)
    centred, centre = _pixels(phi)
    moves = []
    for value in as_floats("factors", factors, ndim=1, dtype=np.float64).tolist():
        factor = positive("each of factors", value)
        if factor == 1:
            raise ValueError("the factor 1 moves nothing: omit it, phi has those windows")
        each = np.where(np.arange(centre.size) < spatial_axes(phi), factor, 1.0)
        moves.append((f"scaled by {factor}", centre + centred * each))
    return _with_windows(phi, moves)


def _require_pictures(name: str, phi: GatherPhi) -> None:
    if not isinstance(phi, GatherPhi):
        raise TypeError(f"{name} needs an index-table phi such as windows(...), got {type(phi).__name__}")


def _pixels(phi: GatherPhi) -> tuple[Floats, Floats]:
    """Compute the positions of the pixels of an atom from the centre of the patch, `(m, n_axes)`, and the centre."""
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
    """Compute the rows of R for all integer shifts of the window at `positions`, `(m, n_axes)`, inside the picture."""
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
        used = np.flatnonzero(weight)  # a corner of zero weight may lie outside the picture
        entries.append(used)
        columns.append(picture[tuple(starts + (corner + step)[used].T[:, None, :])])
        weights.append(weight[used])
    seen = _distinct(np.concatenate(columns, axis=1), picture)
    rows = np.arange(len(seen))[:, None] * m + np.concatenate(entries)
    values = np.broadcast_to(np.concatenate(weights), seen.shape)
    where = (rows.reshape(-1), seen.reshape(-1))
    return coo_array((values.reshape(-1), where), shape=(len(seen) * m, n_pixels)).tocsr()


def _distinct(seen: Index, picture: Index) -> Index:
    """Remove repeated rows of `seen`: a periodic picture can show one small window in several places."""
    if np.unique(picture).size == picture.size:
        return seen
    first = np.unique(seen, axis=0, return_index=True)[1]
    return seen[np.sort(first)]
