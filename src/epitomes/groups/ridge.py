"""Ridge: members of a group as linear combinations of each other."""

from __future__ import annotations

from dataclasses import dataclass

from epitomes import kernels
from epitomes.checks import positive


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Combine the members of a group linearly, by ridge regressions of each on all of them.

    Parameters
    ----------
    in_guide : float, default: 0.0
        Share of the noise that the guide holds: 1 if it is the noisy image, 0 if it is an estimate.
    extra : float, default: 0.0
        Noise that is assumed beside that which there is, a share of it. Needed on noisy guides.
    affine : bool, default: False
        Whether the factors of each combination sum to one, which keeps the mean of the group.

    See Also
    --------
    Wiener : Filters the pixels of the members instead of combining members.
    estimate : Find groups and estimate an image from them.

    Notes
    -----
    This is the step of NL-Ridge [1]_. Let the rows of Y and B be the n noisy members of m values and the same patches
    of the guide. With ``N = m * level**2 * I``, ``G = B @ B.T - in_guide * N`` and ``D = (1 + extra) * N``, the members
    become ``T @ Y`` with ``T = I - inv(G + D) @ D``: of all linear combinations the ones of least expected error, if G
    is what the clean patches have. Member j weighs ``1 / sum(T[j]**2)``, the inverse of the share of the noise that is
    left in it, limited to at most n and at least 1.

    References
    ----------
    .. [1] S. Herbreteau, C. Kervrann, "Towards a unified view of unsupervised non-local methods for image denoising:
       the NL-Ridge approach", ICIP 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import Matching, Ridge, estimate
    >>> noisy = np.random.default_rng(0).standard_normal((1, 1, 24, 24)).astype(np.float32)
    >>> shrinker = Ridge(in_guide=1.0, extra=0.05)
    >>> flat = estimate(noisy, matching=Matching(patch=(1, 6, 6)), shrinker=shrinker, level=1.0)
    >>> bool(flat.std() < 0.5)
    True
    """

    in_guide: float = 0.0
    extra: float = 0.0
    affine: bool = False

    def __post_init__(self) -> None:
        positive("extra", self.extra, zero=True)
        if positive("in_guide", self.in_guide, zero=True) > 1:
            raise ValueError(f"in_guide is a share of the noise, at most 1, got {self.in_guide}")
        if self.in_guide == 1 and self.extra == 0:
            raise ValueError("extra must be above 0 if in_guide is 1: members that equal each other have no inverse")

    def shrinkage(self, m: int, channels: int) -> kernels.RidgeCombination:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.RidgeCombination
            The same settings.
        """
        return kernels.RidgeCombination(self.in_guide, self.extra, self.affine)
