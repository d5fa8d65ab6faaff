"""What a prepared dictionary can do. The native engines and the NumPy reference have this shape."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Packed = tuple[NDArray[np.int32], NDArray[np.int32], Array]  # counts (n,), atoms (nnz,), values (nnz,), row after row
Start = tuple[NDArray[np.int64], NDArray[np.int32], Array]  # a CSR matrix: row begins (n + 1,), atoms, values
Stop = NDArray[np.uint8]  # one byte that another thread may set to end the work early; what comes back is incomplete


class Rows(NamedTuple):
    """Patches in memory."""

    rows: Array  # (n, m)
    mask: NDArray[np.uint8] | None  # (n, m), not zero where a pixel is known


class Windows(NamedTuple):
    """Patches that are windows of an image, numbered on a grid: a line of windows per value of `tops`, all columns."""

    image: Array  # (height, width, channels)
    tops: NDArray[np.int64]
    first: int
    last: int
    centred: bool


Source = Rows | Windows


class Groups(NamedTuple):
    """Groups of similar patches: a patch is its place in a planar image and the offsets of its pixels from there.

    Sums have a layout of their own, in which place `shift` is the first.
    """

    noisy: NDArray[np.float32]  # flat: the patches that are estimated
    guide: NDArray[np.float32]  # flat: the patches that choose the atoms
    offsets: NDArray[np.int64]  # (m,)
    sum_offsets: NDArray[np.int64]  # (m,)
    shift: int
    places: NDArray[np.int32]  # (n, n_matches), nearest first
    counts: NDArray[np.int32]  # (n,): members of each group
    levels: NDArray[np.float32]  # (n,): standard deviation of the noise in each group


class Shrinkage(NamedTuple):
    """What is done to a group: project its members on few atoms, the same for all, then shrink singular values.

    Nothing is projected without atoms, or where all that voters may choose leave more error than the noise has. The
    singular values y of the members' codes, less their mean, become `(y + sqrt(y^2 - 4 C)) / 2` with
    `C = 2 strength sqrt(n) level^2`, or 0 where `y^2 < 4 C`.
    """

    base: NDArray[np.float32]  # (b, m): orthonormal rows that every group keeps
    atoms: NDArray[np.float32]  # (p, m): unit, orthogonal to the base
    n_voters: int  # nearest members that choose atoms
    most_atoms: int  # that they may choose
    bound: float  # they choose while their mean squared error is above this many variances of the noise
    strength: float
    by_rank: bool  # estimates weigh 1 / (1 + directions kept), or all the same


class Engine(Protocol):
    """Codes on unit atoms."""

    @property
    def structural(self) -> bool: ...  # whether windows can be given: they need pictures, and must be faster than rows

    def pursue(self, source: Source, residual: float, n_nonzero: int, least_squares: bool, stop: Stop) -> Packed: ...

    def lasso(
        self, source: Source, lam: float, tol: float, positive: bool, start: Start | None, stop: Stop
    ) -> Packed: ...

    def lasso_lars(self, source: Source, lam: float, tol: float, positive: bool, stop: Stop) -> Packed: ...

    def path(
        self, row: Array, lam: float, tol: float, positive: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], Array]: ...

    def correlate(self, source: Source, keep: bool = True) -> Array: ...
