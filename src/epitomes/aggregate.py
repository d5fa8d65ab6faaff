"""Aggregator: from estimates of patches back to an image, every pixel the weighted mean of its estimates.

Overlapping patches give each pixel up to m estimates; their mean is what patch-based denoising returns (Elad and
Aharon 2006, which the paper follows). Sums are in float64 and in the order of the patches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import kernels
from epitomes.checks import Array, as_floats, positive
from epitomes.patches import Patches


class Aggregator:
    """Adds up blocks of estimates over the pixels of one image.

    Blocks of any length give the same bits as long as they come in the order of the patches. One aggregator belongs to
    one thread: others compute estimates, this one adds them.
    """

    def __init__(self, patches: Patches) -> None:
        self.patches = patches
        self._total = np.zeros(patches.image.size)
        self._weight = np.zeros(patches.image.size)

    def add(self, first: int, estimates: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add estimates `(b, m)` of the patches from `first` on, means included; `weights` `(b,)`: 1 unless given."""
        rows = as_floats("estimates", estimates, ndim=2)
        if rows.shape[1] != self.patches.patch_size:
            raise ValueError(f"estimates need {self.patches.patch_size} pixels per row, got shape {rows.shape}")
        starts = self.patches.starts(first, first + len(rows))
        trust = _as_weights(np.ones(len(rows)) if weights is None else weights, rows)
        kernels.scatter(self._total, self._weight, starts, self.patches.offsets, rows, trust)

    def mean(self, noisy: ArrayLike | None = None, blend: float = 0.0) -> Array:
        """`(sum + blend * noisy) / (weight + blend)` per pixel, in the dtype of the image.

        `blend` is the weight of the noisy pixel beside its estimates (each 1 if not said otherwise). Pixels that no
        estimate covers keep the noisy value; without `noisy` they are an error.
        """
        share = positive("blend", blend, zero=True)
        bare = self._weight == 0
        if noisy is None:
            if share > 0:
                raise ValueError(f"blend {share} needs the noisy image: pass noisy, or leave blend at 0")
            self._require_covered(bare)
            with np.errstate(invalid="ignore"):  # inf / inf is refused below, in words
                return self._finished(self._total / self._weight)
        shape = self.patches.image.shape
        pixels = as_floats("noisy", noisy)
        if pixels.shape != shape:
            raise ValueError(f"noisy needs the shape {shape} of the image, got {pixels.shape}")
        mean = pixels.reshape(-1).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            np.divide(self._total + share * mean, self._weight + share, out=mean, where=~bare)
        return self._finished(mean)

    def _require_covered(self, bare: NDArray[np.bool_]) -> None:
        if not bare.any():
            return
        where = np.unravel_index(int(np.argmax(bare)), self.patches.image.shape)
        raise ValueError(
            f"{int(bare.sum())} of {bare.size} pixels have no estimate, the first at index {tuple(map(int, where))}: "
            "add the missing blocks, use a stride no longer than the patch, widen the support, or pass noisy to fill in"
        )

    def _finished(self, mean: NDArray[np.float64]) -> Array:
        image = self.patches.image
        if not np.abs(mean).max() <= np.finfo(image.dtype).max:  # written so that NaN, from inf / inf, fails too
            raise ValueError(f"the mean of the estimates is too large for {image.dtype}: scale estimates and weights")
        mean = mean.reshape(image.shape)
        return mean.astype(np.float32) if image.dtype == np.float32 else mean


def _as_weights(weights: ArrayLike, rows: Array) -> Array:
    trust = as_floats("weights", weights, ndim=1, dtype=rows.dtype)
    if len(trust) != len(rows):
        raise ValueError(f"weights need one number per row of estimates, {len(rows)}, got {len(trust)}")
    if (trust < 0).any():
        raise ValueError(f"weights must be >= 0, got {trust.min()} at index {int(np.argmin(trust))}")
    return trust
