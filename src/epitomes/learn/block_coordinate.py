"""BlockCoordinate: the dictionary step of online dictionary learning, one atom after another, for flat dictionaries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.checks import whole
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.objective import cost
from epitomes.learn.update import Updated
from epitomes.phi import GatherPhi

Floats = NDArray[np.float64]

AT_ONCE = 16  # atoms whose common product is computed at once


@dataclass(frozen=True, kw_only=True)
class BlockCoordinate:
    """Minimise the objective over one atom after another: the update of online dictionary learning.

    It needs atoms that share no pixels, as those of `epitomes.phi.flat`.

    Parameters
    ----------
    n_sweeps : int, optional
        Number of passes over the atoms in one dictionary step.

    See Also
    --------
    PreconditionedFista : For any phi.
    epitomes.baselines.learn_dictionary : Online dictionary learning.

    Notes
    -----
    With ``u_j = (A'X)_j - sum_{i != j} (A'A)_ji d_i``, the best atom is
    ``d_j = max(0, 1 - lam mass_j / |u_j|) u_j / (A'A)_jj``. Mairal et al. [1]_ constrain the norms of the atoms
    instead of weighting the penalty by them, and project ``u_j / (A'A)_jj`` on the unit ball. Both problems have the
    same minima up to the scale of the atoms (Eq. 1 and 2 of the paper).

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, "Online learning for matrix factorization and sparse coding",
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import BlockCoordinate, online, smooth_noise
    >>> from epitomes.phi import flat
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> step = next(online(patches, smooth_noise(flat(8, (4, 4))), coder=Lasso(lam=1.0), update=BlockCoordinate()))
    >>> step.progress.index
    1
    """

    n_sweeps: int = 1

    def __post_init__(self) -> None:
        whole("n_sweeps", self.n_sweeps, least=1)

    def step(self, epitome: Epitome, moments: Moments, lam: float, *, threads: int | None = None) -> Updated:
        """Update all used atoms, `n_sweeps` times.

        Parameters
        ----------
        epitome : Epitome
            Epitome to improve. Its atoms must not share pixels.
        moments : Moments
            Moments of the coded patches.
        lam : float
            Regularisation parameter lambda.
        threads : int, optional
            Number of threads. Not used: the atoms are a sequence.

        Returns
        -------
        Updated
            The improved epitome and its objective.

        Raises
        ------
        ValueError
            If atoms share pixels.
        """
        phi = epitome.phi
        if not isinstance(phi, GatherPhi) or phi.counts.max() > 1:
            raise ValueError(
                f"BlockCoordinate needs atoms that share no pixels, got {phi!r}: use phi=flat(...), or another update"
            )
        D = np.asarray(phi(epitome.pixels.astype(np.float64)), np.float64)
        for _ in range(self.n_sweeps):
            for first, last in blocks.split(len(D), AT_ONCE):
                _sweep(D, moments, lam, first, last)
        value = cost(D, moments, lam)
        return Updated(Epitome(phi.average(D).astype(epitome.pixels.dtype), phi), value)


def _sweep(D: Floats, moments: Moments, lam: float, first: int, last: int) -> None:
    """Change the atoms `first` to `last - 1` in place, one after another.

    What all atoms give together is one product; what changes within the block is added atom by atom.
    """
    gram, before = moments.gram[first:last], D[first:last].copy()
    all_atoms = np.empty_like(before)
    kernels.multiply(gram, D, all_atoms)
    towards = moments.cross[first:last] - all_atoms
    within = np.ascontiguousarray(gram[:, first:last])
    weights, mass = np.diagonal(within), moments.mass[first:last]
    for j in range(last - first):
        if not weights[j] > 0:
            continue
        pull = towards[j] + weights[j] * before[j]
        length = math.sqrt(float(np.sum(pull * pull)))
        keep = max(0.0, 1.0 - lam * mass[j] / length) if length > 0 else 0.0
        better = keep / weights[j] * pull
        towards[j + 1 :] -= within[j + 1 :, j, None] * (better - before[j])
        D[first + j] = better
