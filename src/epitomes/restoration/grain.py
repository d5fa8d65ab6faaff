"""Grain: a share of what denoising removed, put back for those who like it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import as_dtype, positive, require_real


def put_back(noisy: ArrayLike, restored: ArrayLike, share: float) -> NDArray[Any]:
    """Put a share of the removed noise back, such as film grain that should not vanish.

    Parameters
    ----------
    noisy : array_like
        Image before denoising.
    restored : array_like
        Image after it, of the same shape.
    share : float
        Between 0, which returns the denoised image, and 1, which returns the noisy one.

    Returns
    -------
    ndarray
        ``restored + share * (noisy - restored)``, with the dtype of `restored`.

    Raises
    ------
    ValueError
        If the shapes differ, or `share` is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.restoration.grain import put_back
    >>> put_back(np.uint8([10, 30]), np.uint8([20, 20]), 0.3)
    array([17, 23], dtype=uint8)
    """
    before, after = require_real("noisy", noisy), require_real("restored", restored)
    if before.shape != after.shape:
        raise ValueError(f"noisy and restored must have the same shape, got {before.shape} and {after.shape}")
    if positive("share", share, zero=True) > 1:
        raise ValueError(f"share must be between 0 and 1, got {share:g}")
    removed = np.subtract(before, after, dtype=np.float64)
    return as_dtype(after + share * removed, after.dtype)
