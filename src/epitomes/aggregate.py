"""Aggregator: average overlapping estimates of patches to an image.

Overlapping patches give up to m estimates of each pixel. Their mean is the result of patch-based denoising (Elad and
Aharon 2006, which the paper follows). Sums are computed in float64, in the order of the patches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from epitomes import blocks, kernels
from epitomes.checks import Array, as_floats, positive
from epitomes.patches import Patches

_PIXELS = 2**16  # averaged at a time, to keep temporary arrays small


class Aggregator:
    """Weighted average of overlapping estimates of patches.

    Parameters
    ----------
    patches : Patches
        Patches whose estimates will be added. They define the shape and the dtype of the image.

    See Also
    --------
    Patches : The patches of an image.

    Notes
    -----
    Blocks of any length give the same bits, if they are added in the order of the patches. An aggregator must be used
    by one thread at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Patches
    >>> from epitomes.aggregate import Aggregator
    >>> image = np.arange(12.0).reshape(3, 4)
    >>> patches = Patches(image, (2, 2))
    >>> aggregator = Aggregator(patches)
    >>> rows, means = patches.rows(0, 6)
    >>> aggregator.add(0, rows + means[:, None])
    >>> bool(np.allclose(aggregator.mean(), image))
    True
    """

    def __init__(self, patches: Patches) -> None:
        self.patches = patches
        self._total = np.zeros(patches.image.size)
        self._weight = np.zeros(patches.image.size)

    def add(self, first: int, estimates: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add estimates of consecutive patches.

        Parameters
        ----------
        first : int
            Number of the first patch.
        estimates : array_like
            Estimates of the patches from `first` on, including their means, of shape ``(b, m)``.
        weights : array_like, optional
            Weights of the estimates, of shape ``(b,)``. By default, all are 1.
        """
        rows = as_floats("estimates", estimates, ndim=2)
        if rows.shape[1] != self.patches.patch_size:
            raise ValueError(f"estimates need {self.patches.patch_size} pixels per row, got shape {rows.shape}")
        starts = self.patches.starts(first, first + len(rows))
        trust = _as_weights(np.ones(len(rows)) if weights is None else weights, rows)
        kernels.scatter(self._total, self._weight, starts, self.patches.offsets, rows, trust)

    def mean(self, noisy: ArrayLike | None = None, blend: float = 0.0) -> Array:
        """Compute the weighted mean of the estimates of each pixel.

        Parameters
        ----------
        noisy : array_like, optional
            Noisy image. Its values are used for `blend`, and for pixels without an estimate.
        blend : float, optional
            Weight of the noisy pixel, relative to an estimate of weight 1.

        Returns
        -------
        ndarray
            Image with the shape and dtype of the image of the patches.

        Raises
        ------
        ValueError
            If pixels have no estimate and `noisy` is not given.

        Notes
        -----
        The result is ``(sum + blend * noisy) / (weight + blend)``, where `sum` is the weighted sum of the estimates of
        a pixel and `weight` the sum of their weights.
        """
        share = positive("blend", blend, zero=True)
        image = self.patches.image
        if noisy is None:
            if share > 0:
                raise ValueError(f"blend {share} needs the noisy image: pass noisy, or leave blend at 0")
            self._require_covered()
            pixels = None
        else:
            pixels = as_floats("noisy", noisy)
            if pixels.shape != image.shape:
                raise ValueError(f"noisy needs the shape {image.shape} of the image, got {pixels.shape}")
            pixels = pixels.reshape(-1)
        mean = np.empty(image.size, image.dtype)
        for part in (slice(*ends) for ends in blocks.split(image.size, _PIXELS)):
            self._average(part, None if pixels is None else pixels[part], share, mean[part])
        return mean.reshape(image.shape)

    def _average(self, part: slice, noisy: Array | None, blend: float, out: Array) -> None:
        """Compute the means of some pixels in float64 and store them in the dtype of `out`."""
        total, weight = self._total[part], self._weight[part]
        with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN are refused below
            if noisy is None:
                mean = total / weight
            else:
                mean = noisy.astype(np.float64)
                np.divide(total + blend * mean, weight + blend, out=mean, where=weight != 0)
        if not np.abs(mean).max() <= np.finfo(out.dtype).max:  # written so that NaN fails too
            raise ValueError(f"the mean of the estimates is too large for {out.dtype}: scale estimates and weights")
        out[:] = mean

    def _require_covered(self) -> None:
        n_bare = self._weight.size - np.count_nonzero(self._weight)
        if not n_bare:
            return
        where = np.unravel_index(int(np.argmin(self._weight)), self.patches.image.shape)
        raise ValueError(
            f"{n_bare} of {self._weight.size} pixels have no estimate, the first at index {tuple(map(int, where))}: "
            "add the missing blocks, use a stride no longer than the patch, widen the support, or pass noisy to fill in"
        )


def _as_weights(weights: ArrayLike, rows: Array) -> Array:
    trust = as_floats("weights", weights, ndim=1, dtype=rows.dtype)
    if len(trust) != len(rows):
        raise ValueError(f"weights need one number per row of estimates, {len(rows)}, got {len(trust)}")
    if (trust < 0).any():
        raise ValueError(f"weights must be >= 0, got {trust.min()} at index {int(np.argmin(trust))}")
    return trust
