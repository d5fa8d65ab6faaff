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


NO_GRAM = np.empty((0, 0), np.float32)


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
    gram: NDArray[np.float32] = NO_GRAM  # what `atom_products` made of the atoms; without it the kernel makes its own


class WienerFilter(NamedTuple):
    """Estimation of a group: apply the Wiener filter of the covariance of its guide patches and of the noise.

    With `N = level^2 noise` and C the covariance of the guide patches of the members less `in_guide N`, members Y
    become `mean Y + (Y - mean Y) A` with `A = (C + N)^-1 C`. Estimates have weight `1 / (1 + trace A)`, or 1 if `even`.
    A group whose pixels all together have a variance of at most `flat level^2` becomes their mean, as if A had trace 1.
    """

    noise: NDArray[np.float64]  # (m, m): covariance of the noise of a patch at level 1, positive definite
    in_guide: float = 0.0  # share of the noise that the guide holds: 1 if it is the noisy image
    flat: float = 0.0  # 0: no group is
    even: bool = False


class RidgeCombination(NamedTuple):
    """Estimation of a group: each member becomes a linear combination of all members.

    With `N = m level^2 I`, `D = (1 + extra) N` and G the products of the guide patches of the members less
    `in_guide N`, members Y become `(I - Z) Y` with `Z = (G + D)^-1 D`; if `affine`, Z less `Z 1 1' Z / (1' Z 1)`, so
    that the factors of a combination sum to one. A member has weight `1 / t`, with t the sum of the squares of its
    factors, or the nearest number between `1 / n` and 1 for n members.
    """

    in_guide: float  # share of the noise that the guide holds: 1 if it is the noisy image
    extra: float
    affine: bool


class CollaborativeFilter(NamedTuple):
    """Estimation of a group: shrink the coefficients of a transform along patches and members.

    Members are cut to the nearest 1, 2, 4, ... of them. Coefficients of at most `threshold level` become zero, or all
    are multiplied by `g^2 / (g^2 + level^2)` with g those of the guide if `wiener`. The mean of the group is kept.
    Estimates weigh `window / t`, with t the number of coefficients left, or the sum of the squares of the factors.
    """

    down: NDArray[np.float32]  # (height, height): transform along the columns of a patch
    down_back: NDArray[np.float32]  # its inverse
    across: NDArray[np.float32]  # (width, width): along its rows
    across_back: NDArray[np.float32]
    along: NDArray[np.float32]  # flat: orthonormal matrices for 1, 2, 4, ... members, one after another
    threshold: float
    wiener: bool
    window: NDArray[np.float32]  # (m,)


class ConditionalMean(NamedTuple):
    """Estimation of a group with unknown pixels: conditional means under a Gaussian, given the known pixels.

    With mu and C the mean and covariance of the guide patches of the members, plus `level^2` on the diagonal of C, and
    o the pixels of a member with a finite variance v, the member y becomes
    `mu + (y_o - mu_o) (C_oo + diag(v_o))^-1 C_o:`. Only the nearest members are estimated. All estimates have weight 1.
    """

    variances: NDArray[np.float32]  # flat, as the images: of the noise of each pixel; infinite if the pixel is unknown
    most: int  # largest number of members that are estimated


GroupSettings = Shrinkage | WienerFilter | RidgeCombination | CollaborativeFilter | ConditionalMean


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
