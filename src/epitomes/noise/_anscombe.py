"""The generalised Anscombe transform: Poisson-Gaussian noise becomes nearly Gaussian, with standard deviation 1.

In counts, `x = (z - offset) / gain` and `s = read_noise / gain`, the transform is `f(x) = 2 sqrt(x + 3/8 + s^2)`, and 0
where the root would be of a negative number. A denoiser then returns about the mean of f, which is not f of the mean:
the plain inverse is biased. The exact unbiased inverse (Makitalo and Foi, 2011, 2013) takes a mean of f back to the
counts whose f has that mean. We tabulate this mean over the Poisson-Gaussian law and read the table backwards.

Below some three counts the noise after the transform is less than 1 (0.85 at one count, 0.68 at half a count), and a
denoiser told 1 smooths too much: add neighbouring pixels first if you can.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from epitomes.checks import Array, as_floats, read_only
from epitomes.noise.door import Floats
from epitomes.noise.poisson import PoissonGaussian

MANY = 100.0  # variance in counts from which the series of the mean is exact, to some 1e-5 counts
MOST = 1e12  # counts in the table; above it the first terms of the series are exact
NODES = 4000  # of the table, geometric
WIDEST = 9.0  # standard deviations of the normal law that are summed
FINEST = 401  # points of that sum


def anscombe(image: ArrayLike, model: PoissonGaussian) -> Array:
    """The image with noise of standard deviation 1, nearly: float32 for float32 and short integers, else float64.

    Without gain the noise is Gaussian, and only divided by its standard deviation.
    """
    pixels = as_floats("image", image)
    return _forward(_floats(pixels), model).astype(pixels.dtype)


def inverse_anscombe(stabilised: ArrayLike, model: PoissonGaussian) -> Array:
    """The image whose transform has the mean `stabilised`; exact and unbiased, never below the offset.

    For estimates of the mean, as denoisers give. It does not undo `anscombe` pixel by pixel: nothing unbiased can.
    """
    values = as_floats("stabilised", stabilised)
    if model.gain == 0:
        return np.asarray(_floats(values) * model.read_noise + model.offset, values.dtype)
    counts = _counts(_floats(values), model.read_noise / model.gain)
    return np.asarray(model.gain * counts + model.offset, values.dtype)


def _floats(pixels: Array) -> Floats:
    return np.asarray(pixels, np.float64)


def _forward(pixels: Floats, model: PoissonGaussian) -> Floats:
    if model.gain == 0:
        return (pixels - model.offset) / model.read_noise
    return _root((pixels - model.offset) / model.gain, model.read_noise / model.gain)


def _root(counts: Floats, reading: float) -> Floats:
    return np.asarray(2 * np.sqrt(np.maximum(counts + 0.375 + reading**2, 0.0)))


def _counts(means: Floats, reading: float) -> Floats:
    """The counts whose transform has these means; 0 where the mean is less than that of darkness."""
    counts, tabulated = _table(reading)
    near = np.interp(means**2, tabulated**2, counts)  # over squares the table is nearly a line
    far = means**2 / 4 - 0.125 - reading**2
    return np.asarray(np.where(means < tabulated[-1], np.where(means > 0, near, 0.0), far))


@lru_cache(maxsize=16)
def _table(reading: float) -> tuple[Floats, Floats]:
    """Counts, and the mean of the transform at each of them."""
    counts = np.expm1(np.linspace(0.0, np.log(MOST), NODES))
    few = counts + reading**2 < MANY
    means = np.concatenate([_summed(counts[few], reading), _series(counts[~few], reading)])
    return read_only(counts), read_only(means)


def _summed(counts: Floats, reading: float) -> Floats:
    """`sum_k Poisson(k; counts) * E f(k + reading * normal)`."""
    if not counts.size:
        return counts
    k = np.arange(int(counts.max() + 12 * np.sqrt(counts.max()) + 30))
    law = np.exp(xlogy(k, counts[:, None]) - counts[:, None] - gammaln(k + 1))
    return np.asarray(law @ (_read(k.astype(np.float64), reading) if reading else _root(k.astype(np.float64), 0.0)))


def _read(k: Floats, reading: float) -> Floats:
    """`E f(k + reading * normal)`: an integral over the root itself, in which all is smooth where f has its corner."""
    middle = k + 0.375 + reading**2
    low = np.sqrt(np.maximum(middle - WIDEST * reading, 0.0))
    high = np.sqrt(middle + WIDEST * reading)
    root = np.linspace(low, high, FINEST)
    density = np.exp(-(((root**2 - middle) / reading) ** 2) / 2) / (math.sqrt(2 * math.pi) * reading)
    return np.asarray((4 * root**2 * density).sum(axis=0) * (high - low) / (FINEST - 1))


def _series(counts: Floats, reading: float) -> Floats:
    """The same by the moments of the Poisson-Gaussian law, up to the sixth: for large variances."""
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
