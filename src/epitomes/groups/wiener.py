"""Wiener: groups of similar patches under noise of a known covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epitomes import kernels
from epitomes.checks import Array, as_floats, positive

_ROUNDING = 1e-6  # share of the largest entry by which mirrored entries may differ: those of float32 do


@dataclass(frozen=True, kw_only=True, eq=False)
class Wiener:
    """Filter a group by its covariance and that of the noise: for correlated noise, and channels taken together.

    Parameters
    ----------
    covariance : ndarray
        Covariance ``(m, m)`` of the noise of one patch at level 1: symmetric, without negative eigenvalues. The values
        of a patch are in the order channels, planes, rows, columns.
    ridge : float, default: 1e-5
        Share of the mean variance of the noise that is added to the diagonal of the covariance.
    in_guide : float, default: 0.0
        Share of the covariance of the noise that the guide holds: 1 if it is the noisy image, 0 if it is an estimate.
    flat : float, default: 0.0
        Groups whose pixels, all together, have a variance of at most `flat` times that of the noise become their mean.
    even : bool, default: False
        Whether all groups weigh the same in the average.

    See Also
    --------
    LowRank : For white noise.
    estimate : Find groups and estimate an image from them.

    Notes
    -----
    This is the step of NL-Bayes [1]_. Let the rows of Y and B be the n noisy members and the same patches of the guide.
    With ``N = level**2 * (covariance + ridge * trace(covariance) / m * I)`` and
    ``C = (B - mean(B)).T @ (B - mean(B)) / n - in_guide * N``, where means are over members, the members become
    ``mean(Y) + (Y - mean(Y)) @ A`` with ``A = inv(C + N) @ C``. A group weighs ``1 / (1 + trace(A))`` in the average.

    The guide should be an estimate already. On the noisy image itself C contains the noise, too, and A is about 1/2 in
    directions where there is nothing else. With ``in_guide=1`` the noise is subtracted from C; groups then need more
    members than a patch has values.

    References
    ----------
    .. [1] M. Lebrun, A. Buades, J.-M. Morel, "A nonlocal Bayesian image denoising algorithm", SIAM Journal on Imaging
       Sciences 6, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import LowRank, Matching, Wiener, estimate
    >>> noisy = np.random.default_rng(0).standard_normal((3, 1, 24, 24)).astype(np.float32)
    >>> matching, shrinker = Matching(patch=(1, 4, 4)), Wiener(covariance=np.eye(48))
    >>> guide = estimate(noisy, matching=matching, shrinker=LowRank(), level=1.0)
    >>> flat = estimate(noisy, matching=matching, shrinker=shrinker, level=1.0, guide=guide)
    >>> bool(flat.std() < 0.3)
    True
    """

    covariance: Array
    ridge: float = 1e-5
    in_guide: float = 0.0
    flat: float = 0.0
    even: bool = False

    def __post_init__(self) -> None:
        positive("ridge", self.ridge)
        positive("flat", self.flat, zero=True)
        if positive("in_guide", self.in_guide, zero=True) > 1:
            raise ValueError(f"in_guide is a share of the noise, at most 1, got {self.in_guide}")
        covariance = as_floats("covariance", self.covariance, ndim=2, dtype=np.float64)
        if covariance.shape[0] != covariance.shape[1]:
            raise ValueError(
                f"covariance needs as many rows as columns, one for each value of a patch, got shape {covariance.shape}"
            )
        apart = float(np.abs(covariance - covariance.T).max())
        if apart > _ROUNDING * np.abs(covariance).max():
            raise ValueError(
                f"covariance must be symmetric, got entries that differ by {apart:.3g} from their mirror images: "
                "give (covariance + covariance.T) / 2"
            )
        lowest = float(np.linalg.eigvalsh(covariance)[0])
        if lowest < -self.ridge / 2 * np.trace(covariance) / len(covariance):  # the ridge must outweigh it
            raise ValueError(
                f"covariance must have no negative eigenvalues, got {lowest:.3g}: set them to zero, or raise ridge"
            )

    def shrinkage(self, m: int, channels: int) -> kernels.WienerFilter:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.WienerFilter
            Settings with the ridge added to the covariance.

        Raises
        ------
        ValueError
            If the covariance belongs to patches of another length.
        """
        if len(self.covariance) != m:
            raise ValueError(
                f"covariance needs shape {(m, m)} for patches of {m} values ({channels} x {m // channels}), got "
                f"{np.shape(self.covariance)}: compute it for this patch and these channels"
            )
        covariance = np.asarray(self.covariance, np.float64)
        noise = (covariance + covariance.T) / 2 + self.ridge * np.trace(covariance) / m * np.eye(m)
        return kernels.WienerFilter(noise, self.in_guide, self.flat, self.even)
