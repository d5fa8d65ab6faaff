"""The generalised Anscombe transform: Poisson-Gaussian noise becomes nearly Gaussian, with standard deviation 1.

With counts `x = (z - offset) / gain` and reading noise `s = sigma / gain`, the transform is
`f(x) = 2 sqrt(x + 3/8 + s^2)`, continued below `x = -s^2` by its tangent, so that no pixel is clipped. A denoiser then
returns about the mean of f, which is not f of the mean, so the algebraic inverse is biased. The exact unbiased inverse
(Makitalo and Foi, 2011, 2013) maps a mean of f to the counts whose f has that mean. This mean is tabulated over the
Poisson-Gaussian distribution, and the table is read backwards. An offset that is known roughly leaves pixels below it:
these are negative counts, whose only noise is that of reading.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, xlogy

from epitomes.checks import Array, as_floats, read_only
from epitomes.noise.parameters import for_image
from epitomes.noise.planes import Floats

if TYPE_CHECKING:
    from epitomes.noise.model import Noise

MIN_SERIES_VARIANCE = 100.0  # variance in counts from which the series of the mean is exact, to some 1e-5 counts
MAX_COUNTS = 1e12  # in the table; above it the first terms of the series are exact
N_NODES = 4000  # of the table, geometric
MAX_DEVIATION = 9.0  # standard deviations of the normal distribution that are integrated
N_POINTS = 120  # of that integral
N_NEGATIVE = 400  # nodes of the table below zero counts
LINEAR_BELOW = 0.375  # x + 3/8 + s^2 below which the transform is a line, the tangent
MAX_TABLES = 64  # one per ratio of read noise to gain


def anscombe(image: ArrayLike, noise: Noise) -> Array:
    """Transform an image with Poisson-Gaussian noise so that its noise has a standard deviation of about 1.

    Parameters
    ----------
    image : array_like
        Image of any shape, channels last.
    noise : Noise
        White noise model. Where its gain is 0 the noise is Gaussian, and the image is only shifted and scaled.

    Returns
    -------
    ndarray
        The transformed image: float32 for float32 and short integers, otherwise float64.

    See Also
    --------
    inverse_anscombe : The exact unbiased inverse.
    Noise.stabilise : The same for every kind of noise.

    Notes
    -----
    With ``x = (image - offset) / gain`` and ``s = sigma / gain``, the result is ``2 sqrt(x + 3/8 + s^2)``, continued
    by its tangent below ``x = -s^2``. Below some three counts its noise is weaker than 1 (0.85 at one count, 0.68 at
    half a count), so denoising at level 1 smooths too much: bin neighbouring pixels first if you can.

    References
    ----------
    .. [1] J.-L. Starck, F. Murtagh, A. Bijaoui, "Image Processing and Data Analysis", Cambridge, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Noise, anscombe
    >>> counts = np.random.default_rng(0).poisson(20.0, (100, 100))
    >>> round(float(anscombe(counts, Noise.poisson_gaussian(1.0)).std()), 1)
    1.0
    """
    pixels = as_floats("image", image)
    return np.asarray(forward(_floats(pixels), *_model(noise, pixels.shape)), pixels.dtype)


def inverse_anscombe(values: ArrayLike, noise: Noise) -> Array:
    """Invert the Anscombe transform of a denoised image, exactly and without bias.

    Parameters
    ----------
    values : array_like
        Estimates of the mean of the transformed image, as denoisers give them.
    noise : Noise
        The noise model that was passed to `anscombe`.

    Returns
    -------
    ndarray
        The image whose transform has the mean `values`. Where it is below the offset, its noise is the read noise.

    See Also
    --------
    anscombe : The transform.

    Notes
    -----
    It does not undo `anscombe` pixel by pixel: no unbiased inverse does.

    References
    ----------
    .. [1] M. Makitalo, A. Foi, "Optimal inversion of the generalized Anscombe transformation for Poisson-Gaussian
           noise", IEEE Transactions on Image Processing 22 (1), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Noise, anscombe, inverse_anscombe
    >>> noise = Noise.poisson_gaussian(1.0)
    >>> counts = np.random.default_rng(0).poisson(0.8, (300, 300))
    >>> round(float(inverse_anscombe(anscombe(counts, noise).mean(), noise)), 1)
    0.8
    """
    means = as_floats("values", values)
    return np.asarray(inverse(_floats(means), *_model(noise, means.shape)), means.dtype)


def _model(noise: Noise, shape: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Gain, offset and sigma, ready to broadcast to an image of `shape`."""
    if noise.spectrum is not None:
        raise ValueError("the Anscombe transform needs white noise, and this one has a spectrum: use noise.stabilise")
    gain, offset, sigma = (for_image(name, getattr(noise, name), shape) for name in ("gain", "offset", "sigma"))
    if not ((gain > 0) | (sigma > 0)).all():
        raise ValueError("gain and sigma of the noise are both 0, which is no noise: one of them must be positive")
    return gain, offset, sigma


def forward(values: Floats, gain: Floats, offset: Floats, sigma: Floats) -> Floats:
    """The transform; the parameters broadcast to the image."""
    gaussian = gain == 0
    if gaussian.all():
        return np.asarray((values - offset) / sigma)
    unit = np.where(gaussian, sigma, gain)
    counts = (values - offset) / unit
    return np.asarray(np.where(gaussian, counts, _root(counts, np.where(gaussian, 0.0, sigma / unit))))


def inverse(means: Floats, gain: Floats, offset: Floats, sigma: Floats) -> Floats:
    """The exact unbiased inverse; the parameters broadcast to the image."""
    gaussian = gain == 0
    if gaussian.all():
        return np.asarray(means * sigma + offset)
    unit = np.where(gaussian, sigma, gain)
    reading = np.where(gaussian, np.nan, sigma / unit)
    ratios = np.unique(reading[~np.isnan(reading)])
    if len(ratios) > MAX_TABLES:
        raise ValueError(
            f"sigma / gain has {len(ratios)} different values, and at most {MAX_TABLES} are supported: use one read "
            "noise per channel or for the whole image"
        )
    if reading.ndim == 0:
        counts = _counts(means, float(reading))
    else:
        counts = means.copy()
        for ratio in ratios:
            here = np.broadcast_to(reading == ratio, means.shape)
            counts[here] = _counts(means[here], float(ratio))
    return np.asarray(unit * counts + offset)


def _floats(pixels: Array) -> Floats:
    return np.asarray(pixels, np.float64)


def _root(counts: Floats, reading: Floats | float) -> Floats:
    shifted = counts + 0.375 + reading**2
    root = 2 * np.sqrt(np.maximum(shifted, LINEAR_BELOW))
    return np.asarray(root + np.minimum(shifted - LINEAR_BELOW, 0.0) / math.sqrt(LINEAR_BELOW))


def _counts(means: Floats, reading: float) -> Floats:
    """The counts whose transform has these means."""
    counts, tabulated = _table(reading)
    dark_counts, dark_means = _dark_table(reading)
    near = np.interp(means**2, tabulated**2, counts)  # over squares the table is nearly a line
    far = means**2 / 4 - 0.125 - reading**2
    linear = (means - dark_means[0]) * math.sqrt(LINEAR_BELOW) + dark_counts[0]
    dark = np.where(means > dark_means[0], np.interp(means, dark_means, dark_counts), linear)
    return np.asarray(np.where(means < tabulated[0], dark, np.where(means < tabulated[-1], near, far)))


@lru_cache(maxsize=MAX_TABLES)
def _table(reading: float) -> tuple[Floats, Floats]:
    """Counts, and the mean of the transform at each of them."""
    counts = np.expm1(np.linspace(0.0, np.log(MAX_COUNTS), N_NODES))
    few = counts + reading**2 < MIN_SERIES_VARIANCE
    means = np.concatenate([_summed(counts[few], reading), _series(counts[~few], reading)])
    return read_only(counts), read_only(means)


@lru_cache(maxsize=MAX_TABLES)
def _dark_table(reading: float) -> tuple[Floats, Floats]:
    """The same for negative counts, down to where the transform of all that is read is the tangent."""
    counts = np.linspace(-(reading**2) - MAX_DEVIATION * reading - 1, 0.0, N_NEGATIVE)
    return read_only(counts), read_only(_read(counts, reading))


def _summed(counts: Floats, reading: float) -> Floats:
    """`sum_k Poisson(k; counts) * E f(k + reading * normal)`."""
    if not counts.size:
        return counts
    k = np.arange(int(counts.max() + 12 * np.sqrt(counts.max()) + 30))
    law = np.exp(xlogy(k, counts[:, None]) - counts[:, None] - gammaln(k + 1))
    return np.asarray(law @ _read(k.astype(np.float64), reading))


def _read(x: Floats, reading: float) -> Floats:
    """`E f(x + reading * normal)`: integrated over the root, and in closed form over the line below it."""
    if reading == 0:
        return _root(x, 0.0)
    corner = -(x + 0.375 + reading**2 - LINEAR_BELOW) / reading  # the normal value at which the line begins
    low = np.clip(corner, -MAX_DEVIATION, MAX_DEVIATION)[:, None]
    node, weight = np.polynomial.legendre.leggauss(N_POINTS)
    normal = low + (MAX_DEVIATION - low) * (node + 1) / 2
    above = _root(x[:, None] + reading * normal, reading) * _density(normal) @ weight
    slope = 1 / math.sqrt(LINEAR_BELOW)
    below = (2 / slope - slope * reading * corner) * ndtr(corner) - slope * reading * _density(corner)
    return np.asarray(above * (MAX_DEVIATION - low[:, 0]) / 2 + below)


def _density(normal: Floats) -> Floats:
    return np.asarray(np.exp(-(normal**2) / 2) / math.sqrt(2 * math.pi))


def _series(counts: Floats, reading: float) -> Floats:
    """The same from the moments of the Poisson-Gaussian distribution, up to the sixth, for large variances."""
    m = counts + 0.375 + reading**2
    v = counts + reading**2
    fourth = 3 * v**2 + counts
    fifth = 10 * counts * v + counts
    sixth = 15 * v**3 + 15 * counts * v + 10 * counts**2 + counts
    terms = (
        *(1.0, -v / (8 * m**2), counts / (16 * m**3), -5 * fourth / (128 * m**4)),
        *(7 * fifth / (256 * m**5), -21 * sixth / (1024 * m**6)),
    )
    return np.asarray(2 * np.sqrt(m) * sum(terms))
