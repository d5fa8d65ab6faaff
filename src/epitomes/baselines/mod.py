"""MOD: a flat dictionary by the method of optimal directions (Engan, Aase, Husøy 1999)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import PATCH, AlternatingBaseline, busy_rows, first_dictionary, overcomplete_dct
from epitomes.checks import RNG, as_seed, whole
from epitomes.coders import OMP, Coder
from epitomes.epitome import Epitome
from epitomes.learn import Fit, LeastSquares, Step, alternate, run
from epitomes.learn.samples import as_source
from epitomes.patches import Patches


@dataclass(frozen=True, kw_only=True)
class MOD(AlternatingBaseline):
    """Denoising with a flat dictionary by the method of optimal directions.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates. Default: ``30 / sigma``, for values from 0 to 255.
    schedule : tuple of pairs, default: ((4000, 10), (8000, 6), (16000, 3), (65000, 1))
        Numbers of patches and of iterations with them, one pair after another. Fewer patches, of a coarser grid, serve
        for the first iterations.
    n_atoms : int, default: 256
        Number of atoms, of 8 x 8 pixels.

    See Also
    --------
    learn_mod : Learn a dictionary in this way from any patches.
    KSVD : One atom after another.

    Notes
    -----
    It starts from an overcomplete DCT. Each iteration codes the patches by `epitomes.coders.OMP` and then takes
    ``D = (A'A)^-1 A'X``. Patches are coded and averaged as `DictionaryBaseline` says.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import MOD
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=MOD(n_atoms=64, schedule=((1000, 2),)))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    n_atoms: int = 256

    label: ClassVar[str] = "MOD"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_atoms", self.n_atoms, least=1)

    def _start(self, scene: Scene) -> Epitome:
        return overcomplete_dct(self.n_atoms)

    def _steps(self, patches: Patches, start: Epitome, coder: OMP, scene: Scene) -> Iterator[Step]:
        rows = busy_rows(patches, coder.residual)
        return alternate(rows, start, coder=coder, update=LeastSquares(), threads=scene.threads)


def learn_mod(
    patches: ArrayLike | Patches,
    n_atoms: int | None = None,
    *,
    coder: Coder,
    start: ArrayLike | None = None,
    n_steps: int = 20,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callable[[Step], None] | None = None,
) -> Fit:
    """Learn a flat dictionary by the method of optimal directions (MOD).

    Parameters
    ----------
    patches : array_like or Patches
        Patches of an image, or signals as rows of an array of shape ``(n, m)``.
    n_atoms : int, optional
        Number of atoms. Default: as many as `start` has.
    coder : Coder
        Sparse coder, such as ``OMP(n_nonzero=5)``.
    start : array_like, optional
        Initial atoms of shape ``(p, m)``. Default: `n_atoms` patches, drawn at random.
    n_steps : int, default: 20
        Number of iterations.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed of the first atoms.
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
    learn_dictionary : Online, for many patches.
    epitomes.learn.LeastSquares : The dictionary step.

    Notes
    -----
    Codes A and ``D = (A'A)^-1 A'X`` in turn [1]_.

    References
    ----------
    .. [1] K. Engan, S. O. Aase, J. H. Husøy, "Method of optimal directions for frame design", ICASSP 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import learn_mod
    >>> from epitomes.coders import OMP
    >>> signals = np.random.default_rng(0).standard_normal((200, 16))
    >>> fit = learn_mod(signals, 20, coder=OMP(n_nonzero=3), n_steps=3)
    >>> fit.history[-1].objective < fit.history[0].objective
    True
    """
    whole("n_steps", n_steps, least=1)
    source = as_source(patches)
    first = first_dictionary(source, n_atoms, start, as_seed(rng))
    steps = alternate(source, first, coder=coder, update=LeastSquares(), threads=threads)
    return run(steps, max_steps=n_steps, callback=callback)
