"""psnr: the peak signal-to-noise ratio, for images whose clean version is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import positive, require_real


def psnr(clean: ArrayLike, image: ArrayLike, *, peak: float = 255.0) -> float:
    """Compute the peak signal-to-noise ratio of an image whose clean version is known.

    Parameters
    ----------
    clean : array_like
        The clean image.
    image : array_like
        The image to judge, of the same shape. It is neither rounded nor clipped.
    peak : float, default: 255.0
        The largest value that images of this kind can have: 255 for 8 bits, 1 for floats between 0 and 1.

    Returns
    -------
    float
        Decibels; infinite for equal images.

    Raises
    ------
    ValueError
        If the shapes differ, or `peak` is not above 0.

    See Also
    --------
    sure : Estimate it without the clean image.

    Notes
    -----
    It is ``10 * log10(peak**2 / mean((clean - image)**2))``, computed in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import psnr
    >>> clean = np.zeros((8, 8))
    >>> round(psnr(clean, clean + 25.5), 6)
    20.0
    """
    first, second = require_real("clean", clean), require_real("image", image)
    if first.shape != second.shape:
        raise ValueError(f"image needs the shape of clean, {first.shape}, got {second.shape}")
    error = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return decibels(float(np.mean(error**2)), positive("peak", peak))


def decibels(mse: float, peak: float) -> float:
    """The peak signal-to-noise ratio for a mean squared error; infinite if the error is not above 0."""
    return 10 * math.log10(peak**2 / mse) if mse > 0 else math.inf
