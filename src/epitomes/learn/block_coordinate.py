"""BlockCoordinate: the dictionary step of online dictionary learning, one atom after another, for flat dictionaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epitomes.checks import whole
from epitomes.epitome import Epitome
from epitomes.learn.moments import Moments
from epitomes.learn.objective import cost
from epitomes.learn.update import Updated
from epitomes.phi import GatherPhi


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
        D = phi(epitome.pixels.astype(np.float64))
        gram, weights = moments.gram, np.diagonal(moments.gram)
        for _ in range(self.n_sweeps):
            for j in np.flatnonzero(weights > 0):
                # Not by BLAS, whose threads would determine the order of the sum.
                towards = moments.cross[j] - (gram[j, :, None] * D).sum(axis=0) + weights[j] * D[j]
                length = float(np.sqrt(np.sum(towards**2)))
                keep = max(0.0, 1.0 - lam * moments.mass[j] / length) if length > 0 else 0.0
                D[j] = keep / weights[j] * towards
        value = cost(D, moments, lam)
        return Updated(Epitome(phi.average(D).astype(epitome.pixels.dtype), phi), value)
