"""ShiftInvariant: patches coded on patterns with shifts (after Thiagarajan, Ramamurthy, Spanias 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import PATCH, DictionaryBaseline, training_patches, watch
from epitomes.checks import Array, whole
from epitomes.coders import OMP
from epitomes.learn import Fit, LeastSquares, alternate, cosines, run
from epitomes.phi import shift_invariant
from epitomes.restoration.method import Callback


@dataclass(frozen=True, kw_only=True)
class ShiftInvariant(DictionaryBaseline):
    """Denoising with a shift-invariant dictionary: patterns a little larger than a patch, whose windows are the atoms.

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
    n_patterns : int, default: 64
        Number of patterns.
    shift : int, default: 3
        How many pixels a pattern is larger than a patch of 8 x 8 along each axis. It gives ``(shift + 1)**2`` atoms.
    n_steps : int, default: 10
        Number of iterations.

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
    >>> estimate = denoise(noisy, 5.0, method=ShiftInvariant(n_patterns=16, n_steps=2))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    most_patches: int = 65_000
    n_patterns: int = 64
    shift: int = 3
    n_steps: int = 10

    label: ClassVar[str] = "shift-invariant"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("most_patches", self.most_patches, least=1)
        whole("n_patterns", self.n_patterns, least=1)
        whole("shift", self.shift, least=0)
        whole("n_steps", self.n_steps, least=1)

    def _learned(self, plane: Array, scene: Scene, callback: Callback | None) -> Fit:
        patches = training_patches(plane, (PATCH, PATCH), self.most_patches)
        start = cosines(shift_invariant(self.n_patterns, (PATCH, PATCH), self.shift))
        coder = OMP(residual=self._bound(patches.patch_size))
        steps = alternate(patches, start, coder=coder, update=LeastSquares(), threads=scene.threads)
        return run(steps, max_steps=self.n_steps, callback=watch(self.n_steps, callback))
