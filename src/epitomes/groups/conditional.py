"""Conditional: groups of similar patches with unknown pixels, which the known ones foretell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.checks import whole


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditional:
    """Complete a group: each member is the conditional mean of a Gaussian, given its known pixels.

    Parameters
    ----------
    variances : ndarray
        Variance of the noise of each pixel, float32, of the shape of the image, or of one of its channels if these are
        estimated one by one. Infinite where the pixel is unknown; its value in the image is then not used.
    most : int, default: 16
        Number of members, the nearest ones, that are estimated. The others help to say how members vary.

    See Also
    --------
    estimate : Find groups and estimate an image from them.
    Wiener : The same where all pixels are known, with correlated noise.

    Notes
    -----
    Let mu and C be the mean and covariance of the guide patches of the members, with ``level**2`` added to the diagonal
    of C: the variance that the guide cannot show, because it is an estimate. With o the known pixels of a member y and
    v their variances, the member becomes ``mu + C[:, o] @ inv(C[o, o] + diag(v[o])) @ (y[o] - mu[o])``. This is the
    step of expectation maximisation for Gaussians with missing data, with one Gaussian for each group [1]_.

    References
    ----------
    .. [1] G. Yu, G. Sapiro, S. Mallat, "Solving inverse problems with piecewise linear estimators: from Gaussian
       mixture models to structured sparsity", IEEE Transactions on Image Processing 21, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import Matching, estimate
    >>> from epitomes.groups.conditional import Conditional
    >>> slope = np.add.outer(np.arange(24.0), np.arange(24.0)).astype(np.float32)[None, None]
    >>> hidden = np.random.default_rng(0).random(slope.shape) < 0.5
    >>> guide = np.where(hidden, slope + 1, slope)
    >>> shrinker = Conditional(variances=np.where(hidden, np.inf, 0.01).astype(np.float32))
    >>> found = estimate(slope, matching=Matching(patch=(1, 6, 6)), shrinker=shrinker, level=0.1, guide=guide)
    >>> bool(np.abs(found - slope)[hidden].mean() < 0.3)
    True
    """

    variances: NDArray[np.float32]
    most: int = 16

    def __post_init__(self) -> None:
        whole("most", self.most, least=1)
        if self.variances.dtype != np.float32:
            raise TypeError(f"variances must be float32, as the image, got {self.variances.dtype}")
        if not (self.variances >= 0).all():  # written so that NaN fails, too
            raise ValueError("variances must be at least 0, or infinite where a pixel is unknown")

    def shrinkage(self, m: int, channels: int) -> kernels.ConditionalMean:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.ConditionalMean
            Settings with the variances in one row.
        """
        return kernels.ConditionalMean(np.ascontiguousarray(self.variances).reshape(-1), self.most)
