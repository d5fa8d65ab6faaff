"""Collaborative: groups shrunk in a transform along patches and members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from epitomes import kernels
from epitomes.checks import Array, one_of, positive, whole

TRANSFORMS = ("dct", "bior1.5")
MOST_MEMBERS = 64
# The low-pass filter of the biorthogonal spline wavelet 1.5 (Cohen, Daubechies, Feauveau, 1992); its high-pass filter
# is Haar's. Both are centred between the same two pixels.
LOW_PASS = np.array([3, -3, -22, 22, 128, 128, 22, -22, -3, 3]) * np.sqrt(2) / 256
HIGH_PASS = np.array([1, -1]) / np.sqrt(2)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Collaborative:
    """Shrink a group in a transform along patches and members: collaborative filtering.

    Parameters
    ----------
    patch : tuple of int
        Height and width of a patch.
    transform : {"dct", "bior1.5"}, default: "dct"
        Transform of the patches along both axes: cosines, or the biorthogonal spline wavelet 1.5 on all levels, for
        which the sides of the patch must be powers of two. Members are transformed by Haar's wavelets.
    threshold : float, optional
        Hard threshold in standard deviations of the noise. Default: an empirical Wiener filter by the guide, which
        should be an estimate.
    beta : float, default: 2.0
        Shape of the Kaiser window by which the pixels of a patch weigh; 0 means all the same.

    See Also
    --------
    SharedAtoms : A dictionary instead of a fixed transform.
    estimate : Find groups and estimate an image from them.

    Notes
    -----
    This is the step of BM3D [1]_. The group is cut to 1, 2, 4, ... members. Of its coefficients, those of at most
    ``threshold * level`` become zero; or each is multiplied by ``g**2 / (g**2 + level**2)``, with g the coefficient of
    the guide. The mean of the group is kept. The rows of the transform have norm one, so that white noise has the same
    level in each coefficient. The group weighs one over the number of coefficients that are left, or over the sum of
    the squares of the factors.

    References
    ----------
    .. [1] K. Dabov, A. Foi, V. Katkovnik, K. Egiazarian, "Image denoising by sparse 3-D transform-domain collaborative
       filtering", IEEE Transactions on Image Processing 16(8), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import Collaborative, Matching, estimate
    >>> noisy = np.random.default_rng(0).standard_normal((1, 1, 24, 24)).astype(np.float32)
    >>> shrinker = Collaborative(patch=(8, 8), threshold=2.7)
    >>> flat = estimate(noisy, matching=Matching(patch=(1, 8, 8)), shrinker=shrinker, level=1.0)
    >>> bool(flat.std() < 0.3)
    True
    """

    patch: tuple[int, int]
    transform: str = "dct"
    threshold: float | None = None
    beta: float = 2.0

    def __post_init__(self) -> None:
        one_of("transform", self.transform, TRANSFORMS)
        for side in self.patch:
            whole("each side of patch", side, least=1)
        if self.transform != "dct" and any(side & (side - 1) for side in self.patch):
            raise ValueError(f"{self.transform} needs patches with sides 1, 2, 4, 8, ..., got {self.patch}: use 'dct'")
        if self.threshold is not None:
            positive("threshold", self.threshold, zero=True)
        positive("beta", self.beta, zero=True)

    def shrinkage(self, m: int, channels: int) -> kernels.CollaborativeFilter:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.CollaborativeFilter
            Settings with the matrices of the transforms and the window.

        Raises
        ------
        ValueError
            If patches of another size are estimated.
        """
        high, wide = self.patch
        if m % (high * wide):
            raise ValueError(f"patch {self.patch} does not match patches of {m} values ({channels} x {m // channels})")
        down, across = (transform_matrix(self.transform, side) for side in self.patch)
        window = np.outer(np.kaiser(high, self.beta), np.kaiser(wide, self.beta)).ravel()
        sizes = 2 ** np.arange(MOST_MEMBERS.bit_length())
        return kernels.CollaborativeFilter(
            as_single(down),
            as_single(np.linalg.inv(down)),
            as_single(across),
            as_single(np.linalg.inv(across)),
            as_single(np.concatenate([haar_matrix(int(n)).ravel() for n in sizes])),
            0.0 if self.threshold is None else self.threshold,
            self.threshold is None,
            as_single(np.tile(window, m // (high * wide))),
        )


def transform_matrix(name: str, n: int) -> Matrix:
    """The transform of n values as a matrix whose rows have norm one, the mean first."""
    if name == "dct":
        return np.asarray(dct(np.eye(n), axis=0, norm="ortho"))
    return wavelet_matrix(n, LOW_PASS, HIGH_PASS)


def haar_matrix(n: int) -> Matrix:
    """Haar's wavelets of n values, a power of two, on all levels; orthonormal, the mean first."""
    return wavelet_matrix(n, np.abs(HIGH_PASS), HIGH_PASS)


def wavelet_matrix(n: int, low: Matrix, high: Matrix) -> Matrix:
    """All levels of a periodic wavelet transform, the coarsest first; rows are scaled to norm one."""
    smooth, details = np.eye(n), list[Matrix]()
    while len(smooth) > 1:
        details.insert(0, _filtered(smooth, high))
        smooth = _filtered(smooth, low)
    matrix = np.concatenate([smooth, *details])
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True))


def _filtered(rows: Matrix, taps: Matrix) -> Matrix:
    """Every second value of a periodic filter along the first axis, its middle between rows 2 i and 2 i + 1."""
    first = 1 - len(taps) // 2
    shifted = [np.roll(rows, -(first + k), axis=0)[::2] for k in range(len(taps))]
    return np.asarray(sum(tap * row for tap, row in zip(taps, shifted, strict=True)))


def as_single(values: Array) -> NDArray[np.float32]:
    """A contiguous float32 copy, as kernels take it."""
    return np.ascontiguousarray(values, np.float32)
