"""ssim: the structural similarity of an image to its clean version (Wang, Bovik, Sheikh, Simoncelli 2004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter

from epitomes.checks import positive, require_real
from epitomes.validation.planes import Floats

WIDTH, REACH = 1.5, 5  # pixels: standard deviation of the window, and how far it reaches
LUMINANCE, CONTRAST = 0.01, 0.03  # the constants K1 and K2


def ssim(clean: ArrayLike, image: ArrayLike, *, peak: float = 255.0, channel_axis: int | None = None) -> float:
    """Compute the structural similarity of an image to its clean version.

    Parameters
    ----------
    clean : array_like
        The clean image, of two spatial axes.
    image : array_like
        The image to judge, of the same shape.
    peak : float, default: 255.0
        The largest value that images of this kind can have.
    channel_axis : int, optional
        Axis of the channels, over which the result is averaged. If None, the image has none.

    Returns
    -------
    float
        1 for equal images, less for others.

    Raises
    ------
    ValueError
        If the shapes differ, or the image is smaller than the window of 11 x 11 pixels.

    See Also
    --------
    psnr : The peak signal-to-noise ratio.

    Notes
    -----
    With means m, variances v and the covariance c of both images in a Gaussian window of standard deviation 1.5, it is
    the mean of ``(2 m1 m2 + C1) (2 c + C2) / ((m1**2 + m2**2 + C1) (v1 + v2 + C2))`` over all windows inside the image,
    with ``C1 = (0.01 peak)**2`` and ``C2 = (0.03 peak)**2`` [1]_.

    References
    ----------
    .. [1] Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality assessment: from error visibility to
       structural similarity", IEEE Transactions on Image Processing 13(4), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import ssim
    >>> clean = np.random.default_rng(0).normal(100, 20, (32, 32))
    >>> ssim(clean, clean)
    1.0
    """
    first, second = (np.asarray(require_real(*pair), np.float64) for pair in (("clean", clean), ("image", image)))
    if first.shape != second.shape:
        raise ValueError(f"image needs the shape of clean, {first.shape}, got {second.shape}")
    white = positive("peak", peak)
    if channel_axis is not None:
        planes = zip(np.moveaxis(first, channel_axis, 0), np.moveaxis(second, channel_axis, 0), strict=True)
        return float(np.mean([ssim(*pair, peak=white) for pair in planes]))
    if first.ndim != 2 or min(first.shape) < 2 * REACH + 1:
        raise ValueError(
            f"clean must be an image of at least {2 * REACH + 1} x {2 * REACH + 1} pixels, got {first.shape}"
        )
    m1, m2 = _blurred(first), _blurred(second)
    v1, v2, both = (_blurred(a * b) - m * n for a, b, m, n in _pairs(first, second, m1, m2))
    c1, c2 = (LUMINANCE * white) ** 2, (CONTRAST * white) ** 2
    local = (2 * m1 * m2 + c1) * (2 * both + c2) / ((m1**2 + m2**2 + c1) * (v1 + v2 + c2))
    return float(local[REACH:-REACH, REACH:-REACH].mean())


def _pairs(x: Floats, y: Floats, m: Floats, n: Floats) -> list[tuple[Floats, Floats, Floats, Floats]]:
    return [(x, x, m, m), (y, y, n, n), (x, y, m, n)]


def _blurred(image: Floats) -> Floats:
    return np.asarray(gaussian_filter(image, WIDTH, radius=REACH))
