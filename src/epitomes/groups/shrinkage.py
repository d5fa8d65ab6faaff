"""Shrinkers: what is assumed of a group of similar patches, and how its members are estimated from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes import kernels
from epitomes.checks import Array, positive, whole


class Shrinker(Protocol):
    """Contract of shrinkers: settings for the kernel that estimates the members of a group together.

    See Also
    --------
    LowRank : Members differ from their mean in few directions.
    SharedAtoms : Members share few atoms of a dictionary.
    Wiener : Members vary by their covariance, and the noise by its own.

    Examples
    --------
    >>> from epitomes.groups import LowRank
    >>> LowRank(strength=2.0).shrinkage(64, 1).strength
    2.0
    """

    def shrinkage(self, m: int, channels: int) -> kernels.GroupSettings:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.GroupSettings
            Settings, with arrays prepared. Their type chooses the kernel.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class LowRank:
    """Shrink a group to low rank: members differ from their mean in few directions.

    Parameters
    ----------
    strength : float, default: 2.83
        How strongly singular values are shrunk, see Notes.
    edge : float, default: 0.0
        More of it, in squares of the largest singular value of pure noise. With ``strength=0, edge=1`` the threshold
        follows the number of members and the size of the patch.

    See Also
    --------
    SharedAtoms : The same within the span of a few atoms.
    Wiener : For noise that is correlated.

    Notes
    -----
    The singular values y of the group, less its mean patch, follow the rule of the weighted nuclear norm [1]_: y
    becomes ``(y + sqrt(y**2 - 4 * C)) / 2``, or 0 if ``y**2 < 4 * C``, with
    ``4 * C = (8 * strength * sqrt(n) + edge * (sqrt(m) + sqrt(n))**2) * level**2`` for n members of m pixels and noise
    of standard deviation ``level``. The singular values of noise alone end near ``(sqrt(m) + sqrt(n)) * level``.

    References
    ----------
    .. [1] S. Gu, L. Zhang, W. Zuo, X. Feng, "Weighted nuclear norm minimization with application to image denoising",
       CVPR 2014.

    Examples
    --------
    >>> from epitomes.groups import LowRank
    >>> LowRank()
    LowRank(strength=2.83, edge=0.0)
    """

    strength: float = 2.83
    edge: float = 0.0

    def __post_init__(self) -> None:
        positive("strength", self.strength, zero=True)
        positive("edge", self.edge, zero=True)

    def shrinkage(self, m: int, channels: int) -> kernels.Shrinkage:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.Shrinkage
            Settings without atoms.
        """
        none = np.empty((0, m), np.float32)
        return kernels.Shrinkage(none, none, 1, 0, 0.0, self.strength, self.edge, False)


@dataclass(frozen=True, kw_only=True, eq=False)
class SharedAtoms:
    """Code a group jointly: its members share few atoms of a dictionary, and their codes have low rank.

    Parameters
    ----------
    atoms : ndarray
        Dictionary ``(p, m)``. The mean of each channel is removed from the atoms, and they are scaled to norm one.
    bound : float
        Error at which the pursuit stops, for each pixel and in variances of the noise: about 1 where atoms are chosen
        on noisy members, near 0 where they are chosen on estimates.
    selection_size : int, default: 16
        Number of members, the nearest ones, on which the atoms are chosen.
    most_atoms : int, default: 20
        Largest number of atoms.
    strength : float, default: 2.2
        How strongly the codes are shrunk to low rank: see `LowRank`.
    by_rank : bool, default: False
        Whether a group weighs ``1 / (1 + r)`` in the average, with r the number of directions kept, instead of 1.

    See Also
    --------
    LowRank : Shrink in all directions.

    Notes
    -----
    Atoms are chosen by simultaneous orthogonal matching pursuit [1]_ on the guide image. The mean of each channel is
    always kept. A group that `most_atoms` leave with more error than the noise has is shrunk in directions of its own,
    as by `LowRank`.

    References
    ----------
    .. [1] J. A. Tropp, A. C. Gilbert, M. J. Strauss, "Algorithms for simultaneous sparse approximation", Signal
       Processing 86, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import Matching, SharedAtoms, estimate
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((1, 1, 24, 24)).astype(np.float32)
    >>> shrinker = SharedAtoms(atoms=rng.standard_normal((100, 36)), bound=1.0)
    >>> flat = estimate(noisy, matching=Matching(patch=(1, 6, 6)), shrinker=shrinker, level=1.0)
    >>> bool(flat.std() < 0.3)
    True
    """

    atoms: Array
    bound: float
    selection_size: int = 16
    most_atoms: int = 20
    strength: float = 2.2
    by_rank: bool = False

    def __post_init__(self) -> None:
        positive("bound", self.bound, zero=True)
        positive("strength", self.strength, zero=True)
        whole("selection_size", self.selection_size, least=1)
        whole("most_atoms", self.most_atoms, least=1)

    def shrinkage(self, m: int, channels: int) -> kernels.Shrinkage:
        """Return the settings of the kernel.

        Parameters
        ----------
        m : int
            Number of values of a patch, all channels counted.
        channels : int
            Number of channels among them.

        Returns
        -------
        kernels.Shrinkage
            Settings with unit atoms.

        Raises
        ------
        ValueError
            If the atoms have another length, or all of them are constant.
        """
        if self.atoms.ndim != 2 or self.atoms.shape[1] != m:
            raise ValueError(f"atoms need {m} pixels, as the patches, got shape {self.atoms.shape}")
        base = np.kron(np.eye(channels), np.full((1, m // channels), (m // channels) ** -0.5))
        unit = _unit(self.atoms, base)
        return kernels.Shrinkage(
            base.astype(np.float32),
            unit,
            self.selection_size,
            min(self.most_atoms, m - channels),
            self.bound * m,
            self.strength,
            0.0,
            self.by_rank,
            kernels.atom_products(unit),
        )


def _unit(atoms: Array, base: NDArray[np.float64]) -> NDArray[np.float32]:
    """Atoms without what the base explains, of norm one; those of which nothing is left are dropped."""
    rest = atoms.astype(np.float64) - np.einsum("pb,bm->pm", np.einsum("pm,bm->pb", atoms, base), base)
    norms = np.sqrt((rest**2).sum(axis=1))
    kept = norms > 1e-6 * np.sqrt((atoms.astype(np.float64) ** 2).sum(axis=1))  # nothing but rounding is left of others
    if not kept.any():
        raise ValueError("every atom is constant, which the means explain already: give a dictionary with contrast")
    return np.ascontiguousarray(rest[kept] / norms[kept, None], np.float32)
