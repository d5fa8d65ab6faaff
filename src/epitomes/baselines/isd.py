"""ISD: the image-signature dictionary, one small periodic image whose windows are the atoms (Aharon and Elad 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from epitomes.baselines.baseline import Scene
from epitomes.baselines.by_dictionary import PATCH, AlternatingBaseline, Schedule, require_sizes
from epitomes.checks import whole
from epitomes.coders import OMP
from epitomes.epitome import Epitome
from epitomes.learn import LeastSquares, ProjectedGradient, Step, alternate, natural, online
from epitomes.learn._online import n_batches
from epitomes.patches import Patches
from epitomes.phi import GatherPhi, windows

BATCH = 1024  # patches in a stochastic step
FORGET = 8.0  # of older batches, in stochastic steps
SHIPPED = (42, 42)  # the epitome of natural images from which learning starts
ITERATIONS = 10  # of conjugate gradients in a step: more did not help, since the codes change anyway


@dataclass(frozen=True, kw_only=True)
class ISD(AlternatingBaseline):
    """Denoising with an image-signature dictionary: the atoms are all windows of one small periodic image.

    Parameters
    ----------
    peak : float, optional
        Value of white. It sets the default of `blend`.
    residual_factor : float, default: 1.15
        The factor C in the bound of the error of a patch of m pixels, ``m * (C * sigma)**2``.
    blend : float, optional
        Weight of the noisy pixel beside its estimates. Default: ``30 / sigma``, for values from 0 to 255.
    schedule : tuple of pairs, default: ((4000, 20), (16000, 6))
        Numbers of patches and of passes over them, one pair after another. Fewer patches, of a coarser grid, serve for
        the first passes.
    side : int, default: 60
        Height and width of the signature. It has as many atoms as pixels. Learning starts from the shipped epitome of
        natural images, of 42 x 42 pixels, cut or repeated.
    sizes : tuple of int, default: (8,)
        Widths of the patches that are coded with the signature. The result is the mean over them. The first is also
        that of the patches to learn from.
    stochastic : bool, default: False
        Whether each pass takes a gradient step per batch of patches, or solves one least-squares problem.

    See Also
    --------
    epitomes.restoration.Patchwise : The paper's method: one or several epitomes, learned with the l1 norm.
    KSVD : A flat dictionary.

    Notes
    -----
    With R_k the window at pixel k of the signature E, a patch is ``x = sum_k a_k R_k E`` with few coefficients, found
    by `epitomes.coders.OMP`. For fixed codes the error is quadratic in E: with ``W_i = sum_k a_ik R_k``, the signature
    solves ``(sum_i W_i' W_i) E = sum_i W_i' x_i`` [1]_, or takes steps along ``W_i' (x_i - W_i E)``, summed over a
    batch, with batches before it counted less and a step length found by line search.

    References
    ----------
    .. [1] M. Aharon, M. Elad, "Sparse and redundant modeling of image content using an image-signature-dictionary",
       SIAM Journal on Imaging Sciences 1(3), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.baselines import ISD
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=ISD(side=16, schedule=((1000, 2),)))
    >>> bool(np.std(estimate - clean) < 3)
    True
    """

    schedule: Schedule = ((4_000, 20), (16_000, 6))
    side: int = 60
    sizes: tuple[int, ...] = (PATCH,)
    stochastic: bool = False

    label: ClassVar[str] = "ISD"
    least_side: ClassVar[int] = PATCH

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("side", self.side, least=1)
        require_sizes(self.sizes, self.side)

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        """Return how many spatial axes are worked on at once; refuse what does not fit.

        Parameters
        ----------
        shape : tuple of int
            Shape of a picture, channels last if there are any.
        channels : bool
            Whether the last axis holds channels.

        Returns
        -------
        int
            2: volumes are denoised plane by plane.

        Raises
        ------
        ValueError
            If the picture is a signal, or smaller than a patch.
        """
        axes = super().prepare(shape, channels)
        spatial = shape[: len(shape) - channels][-axes:]
        if min(spatial) < max(self.sizes):
            raise ValueError(
                f"patches of {max(self.sizes)} pixels do not fit in an image of {spatial}: use smaller sizes"
            )
        return axes

    def _phi(self, size: int) -> GatherPhi:
        return windows((self.side, self.side), (size, size), border="periodic")

    def _start(self, scene: Scene) -> Epitome:
        pixels = natural(windows(SHIPPED, (PATCH, PATCH))).pixels.astype(np.float64)
        room = [(0, max(0, self.side - length)) for length in SHIPPED]
        return Epitome(np.pad(pixels, room, mode="wrap")[: self.side, : self.side], self._phi(self.sizes[0]))

    def _n_steps(self, patches: Patches, count: int) -> int:
        """A pass is one step, or one for each batch."""
        return count * (n_batches(patches, BATCH) if self.stochastic else 1)

    def _steps(self, patches: Patches, start: Epitome, coder: OMP, scene: Scene) -> Iterator[Step]:
        if not self.stochastic:
            return alternate(
                patches, start, coder=coder, update=LeastSquares(n_steps=ITERATIONS), threads=scene.threads
            )
        return online(
            patches,
            start,
            coder=coder,
            update=ProjectedGradient(n_steps=1),
            batch=BATCH,
            forget=FORGET,
            rng=scene.seed,
            threads=scene.threads,
        )

    def _coding(self, epitome: Epitome) -> tuple[Epitome, ...]:
        """The same signature with windows of every size."""
        return tuple(Epitome(epitome.pixels, self._phi(size)) for size in self.sizes)
