"""ShiftInvariant: patches coded on patterns with shifts (after Thiagarajan, Ramamurthy, Spanias 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import PATCH, AlternatingBaseline
from epitomes.checks import whole
from epitomes.coders import OMP
from epitomes.epitome import Epitome
from epitomes.learn import LeastSquares, Step, alternate, cosines
from epitomes.patches import Patches
from epitomes.phi import shift_invariant


@dataclass(frozen=True, kw_only=True)
class ShiftInvariant(AlternatingBaseline):
    """Denoising with a shift-invariant dictionary: patterns a little larger than a patch, whose windows are the atoms.

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
    n_patterns : int, default: 64
        Number of patterns.
    shift : int, default: 3
        How many pixels a pattern is larger than a patch of 8 x 8 along each axis. It gives ``(shift + 1)**2`` atoms.

    See Also
    --------
    learn_patterns : Patterns at any place of a signal or image, without patches.
    ISD : One pattern, as large as a dictionary.

    Notes
    -----
    Each iteration codes the patches by `epitomes.coders.OMP` on all windows of the patterns. A patch that uses a
    shifted window is thereby aligned with the pattern, and all patterns are the solution of one least-squares problem
    over the aligned patches. The authors take one pattern after another and a singular vector.

    References
    ----------
    .. [1] J. J. Thiagarajan, K. N. Ramamurthy, A. Spanias, "Shift-invariant sparse representation of images using
       learned dictionaries", MLSP 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import ShiftInvariant
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=ShiftInvariant(n_patterns=16, schedule=((1000, 2),)))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    n_patterns: int = 64
    shift: int = 3

    label: ClassVar[str] = "shift-invariant"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("n_patterns", self.n_patterns, least=1)
        whole("shift", self.shift, least=0)

    def _start(self, scene: Scene) -> Epitome:
        return cosines(shift_invariant(self.n_patterns, (PATCH, PATCH), self.shift))

    def _steps(self, patches: Patches, start: Epitome, coder: OMP, scene: Scene) -> Iterator[Step]:
        return alternate(patches, start, coder=coder, update=LeastSquares(), threads=scene.threads)
