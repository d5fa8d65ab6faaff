"""ODL: a flat dictionary by online dictionary learning (Mairal, Bach, Ponce, Sapiro 2010)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import (
    PATCH,
    DictionaryBaseline,
    first_dictionary,
    overcomplete_dct,
    training_patches,
    watch,
)
from epitomes.checks import RNG, Array, as_seed, positive, whole
from epitomes.coders import Lasso
from epitomes.learn import BlockCoordinate, Fit, Step, Update, online, run
from epitomes.learn._online import n_batches
from epitomes.learn.samples import as_source
from epitomes.patches import Patches
from epitomes.restoration.method import Callback

LAM_PER_SIGMA = 4.5  # of the lasso while learning, as for epitomes


@dataclass(frozen=True, kw_only=True)
class ODL(DictionaryBaseline):
    """Denoising with a flat dictionary by online dictionary learning.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates. Default: ``30 / sigma``, for values from 0 to 255.
    most_patches : int, default: 65000
        Patches to learn from, at most about; of larger images, those of a grid.
    n_atoms : int, default: 256
        Number of atoms, of 8 x 8 pixels.
    lam_per_sigma : float, default: 4.5
        Regularisation parameter lambda of the lasso while learning, over the standard deviation of the noise.
    n_passes : float, default: 3.0
        Passes over the patches.
    batch : int, default: 1024
        Number of patches in a step, about.

    See Also
    --------
    learn_dictionary : Learn a dictionary in this way from any patches.
    epitomes.restoration.Patchwise : The same with an epitome instead of a flat dictionary.

    Notes
    -----
    It starts from an overcomplete DCT and learns with the l1 norm. Patches are then coded by `epitomes.coders.OMP` and
    averaged as `DictionaryBaseline` says.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import ODL
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=ODL(n_atoms=64, n_passes=2))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    most_patches: int = 65_000
    n_atoms: int = 256
    lam_per_sigma: float = LAM_PER_SIGMA
    n_passes: float = 3.0
    batch: int = 1024

    label: ClassVar[str] = "ODL"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("most_patches", self.most_patches, least=1)
        whole("n_atoms", self.n_atoms, least=1)
        whole("batch", self.batch, least=1)
        positive("lam_per_sigma", self.lam_per_sigma)
        positive("n_passes", self.n_passes)

    def _learned(self, plane: Array, scene: Scene, callback: Callback | None) -> Fit:
        patches = training_patches(plane, (PATCH, PATCH), self.most_patches)
        return learn_dictionary(
            patches,
            start=overcomplete_dct(self.n_atoms).dictionary.unit,
            lam=self.lam_per_sigma,
            n_passes=self.n_passes,
            batch=self.batch,
            rng=scene.seed,
            threads=scene.threads,
            callback=watch(max(1, round(self.n_passes * n_batches(patches, self.batch))), callback),
        )


def learn_dictionary(
    patches: ArrayLike | Patches,
    n_atoms: int | None = None,
    *,
    lam: float,
    start: ArrayLike | None = None,
    n_passes: float = 5.0,
    batch: int = 4096,
    forget: float = 8.0,
    update: Update | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callable[[Step], None] | None = None,
) -> Fit:
    """Learn a flat dictionary by online dictionary learning.

    Parameters
    ----------
    patches : array_like or Patches
        Patches of an image, or signals as rows of an array of shape ``(n, m)``.
    n_atoms : int, optional
        Number of atoms. Default: as many as `start` has.
    lam : float
        Regularisation parameter lambda, ``lambda1`` of SPAMS and ``alpha`` of scikit-learn.
    start : array_like, optional
        Initial atoms of shape ``(p, m)``. Default: `n_atoms` patches, drawn at random.
    n_passes : float, default: 5.0
        Passes over the patches.
    batch : int, default: 4096
        Number of patches in a step, about.
    forget : float, default: 8.0
        How fast older batches are forgotten: at step t, about t / forget steps count.
    update : Update, optional
        Dictionary step. Default: ``BlockCoordinate()``.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed, of the first atoms and of the order.
    threads : int, optional
        Number of threads. It does not change the result.
    callback : callable, optional
        Called with each `epitomes.learn.Step`.

    Returns
    -------
    Fit
        ``fit.epitome.dictionary.unit`` are the atoms of norm 1, ``fit.history`` the progress.

    Raises
    ------
    ValueError
        If neither `n_atoms` nor `start` is given, or they do not fit the patches.

    See Also
    --------
    learn_mod : Least squares on all patches at once.
    epitomes.estimators.OnlineDictionaryLearning : The same for scikit-learn.
    epitomes.learn.online : Any phi, and steps without end.

    Notes
    -----
    It minimises the mean over the patches x of ``1/2 |x - a D|**2 + lam |a|_1`` over codes a and atoms of norm at most
    1. This is the problem of `spams.trainDL` (mode 2) and of `sklearn.decomposition.MiniBatchDictionaryLearning`;
    inside, the penalty is weighted by the norms of the atoms instead, which has the same minima.

    References
    ----------
    .. [1] J. Mairal, F. Bach, J. Ponce, G. Sapiro, "Online learning for matrix factorization and sparse coding",
       Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_dictionary
    >>> signals = np.random.default_rng(0).standard_normal((200, 16))
    >>> fit = learn_dictionary(signals, 20, lam=0.5, batch=50)
    >>> fit.epitome.dictionary.unit.shape
    (20, 16)
    """
    seed, source = as_seed(rng), as_source(patches)
    positive("lam", lam)
    positive("n_passes", n_passes)
    first = first_dictionary(source, n_atoms, start, seed)
    steps = online(
        source,
        first,
        coder=Lasso(lam=lam),
        update=BlockCoordinate() if update is None else update,
        batch=batch,
        forget=forget,
        rng=seed,
        threads=threads,
    )
    return run(steps, max_steps=max(1, round(n_passes * n_batches(source, batch))), callback=callback)
