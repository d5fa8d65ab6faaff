"""The interface of a prepared dictionary, which the native engines and the NumPy reference implement."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Packed = tuple[NDArray[np.int32], NDArray[np.int32], Array]  # counts (n,), atoms (nnz,), values (nnz,), row by row
Start = tuple[NDArray[np.int64], NDArray[np.int32], Array]  # a CSR matrix: row pointers (n + 1,), atoms, values
Stop = NDArray[np.uint8]  # one byte that another thread sets to stop the work early; the result is then incomplete


class Rows(NamedTuple):
    """Patches in memory."""

    rows: Array  # (n, m)
    mask: NDArray[np.uint8] | None  # (n, m), non-zero for known pixels


class Windows(NamedTuple):
    """Patches that are windows of an image: for each row position in `tops`, a line of windows at all columns."""

    image: Array  # (height, width, channels)
    tops: NDArray[np.int64]
    first: int
    last: int
    centred: bool


Source = Rows | Windows


class Groups(NamedTuple):
    """Groups of similar patches. A patch is given by its place in a planar image and the offsets of its pixels.

    Sums have their own layout, in which place `shift` is the first.
    """

    noisy: NDArray[np.float32]  # flat: the image that is estimated
    guide: NDArray[np.float32]  # flat: the image on which atoms are selected, or covariances computed
    offsets: NDArray[np.int64]  # (m,)
    sum_offsets: NDArray[np.int64]  # (m,)
    shift: int
    places: NDArray[np.int32]  # (n, n_matches), nearest first
    counts: NDArray[np.int32]  # (n,): number of members of each group
    levels: NDArray[np.float32]  # (n,): standard deviation of the noise in each group


class Shrinkage(NamedTuple):
    """Estimation of a group: project its members onto a few common atoms, then shrink singular values.

    The projection is omitted if there are no atoms, or if the largest number of atoms leaves an error above the noise
    level. The singular values y of the codes of the members, minus their mean, become `(y + sqrt(y^2 - 4 C)) / 2` with
    `4 C = (8 strength sqrt(n) + edge (sqrt(k) + sqrt(n))^2) level^2` for n members and k codes, or 0 if `y^2 < 4 C`.
    """

    base: NDArray[np.float32]  # (b, m): orthonormal rows that are used in every group
    atoms: NDArray[np.float32]  # (p, m): unit atoms, orthogonal to the base
    n_voters: int  # number of nearest members on which atoms are selected
    most_atoms: int  # largest number of selected atoms
    bound: float  # atoms are selected while the mean squared error is above this many variances of the noise
    strength: float
    edge: float  # in squares of the largest singular value of pure noise, about
    by_rank: bool  # weights of estimates: 1 / (1 + rank), or all equal


class WienerFilter(NamedTuple):
    """Estimation of a group: apply the Wiener filter of the covariance of its guide patches and of the noise.

    With C the covariance of the guide patches of the members and `N = level^2 noise`, members Y become
    `mean Y + (Y - mean Y) A` with `A = (C + N)^-1 C`. Estimates have weight `1 / (1 + trace A)`.
    """

    noise: NDArray[np.float64]  # (m, m): covariance of the noise of a patch at level 1, positive definite


class ConditionalMean(NamedTuple):
    """Estimation of a group with unknown pixels: conditional means under a Gaussian, given the known pixels.

    With mu and C the mean and covariance of the guide patches of the members, plus `level^2` on the diagonal of C, and
    o the pixels of a member with a finite variance v, the member y becomes
    `mu + (y_o - mu_o) (C_oo + diag(v_o))^-1 C_o:`. Only the nearest members are estimated. All estimates have weight 1.
    """

    variances: NDArray[np.float32]  # flat, as the images: of the noise of each pixel; infinite if the pixel is unknown
    most: int  # largest number of members that are estimated


GroupSettings = Shrinkage | WienerFilter | ConditionalMean


class Engine(Protocol):
    """Unit atoms, prepared for coding."""

    @property
    def structural(self) -> bool: ...  # whether windows are accepted: only with pictures, and if faster than rows

    def pursue(self, source: Source, residual: float, n_nonzero: int, least_squares: bool, stop: Stop) -> Packed: ...

    def lasso(
        self, source: Source, lam: float, tol: float, positive: bool, start: Start | None, stop: Stop
    ) -> Packed: ...

    def lasso_lars(self, source: Source, lam: float, tol: float, positive: bool, stop: Stop) -> Packed: ...

    def path(
        self, row: Array, lam: float, tol: float, positive: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], Array]: ...

    def correlate(self, source: Source, keep: bool = True) -> Array: ...
