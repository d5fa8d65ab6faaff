"""Rician noise: the magnitude of a complex signal with Gaussian noise, and its transform to standard deviation 1.

A magnitude is `z = |nu + sigma (n1 + i n2)|` with normal n1 and n2: the noise of magnitude MR images. Where the signal
nu is strong, the noise is Gaussian of level sigma. In air it is Rayleigh: its mean is 1.25 sigma, its standard
deviation 0.66 sigma. The transform f (the idea of Foi, 2011) makes the standard deviation of f(z) about 1 for every nu,
and the exact unbiased inverse maps a mean of f to the nu whose f has that mean. Both are tables, made here.

Above `LAST`, in units of sigma, `f(z) = sqrt(z^2 - 1/2) + constant`, which is exact in the limit. Below, the slope of f
is piecewise linear. The mean and variance of f are sums over the Rice density, and least squares on the slopes bring
the standard deviation to within 2.4 % of 1 (a test measures it), with a penalty on wiggles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ive

from epitomes.checks import read_only
from epitomes.noise.planes import Floats

LAST = 6.0  # sigma: the transform is a closed form above
KNOT = 0.25  # between the knots of the slope
STEP = 0.02  # of sums over the density
SMOOTH = 0.3  # weight of the second differences of the slopes
N_STEPS = 12  # of Gauss-Newton, which settles sooner
MAX_SIGNAL = 14.0  # sigma, in the table of means; above it the first terms of a series are exact to 1e-4
REACH = 9.0  # sigma beyond the signal in which a magnitude lies
AIR_MEAN = math.sqrt(math.pi / 2)  # of magnitudes without signal, in sigma
AIR_DEVIATION = math.sqrt(2 - math.pi / 2)


@dataclass(frozen=True, eq=False)
class Tables:
    """The transform at magnitudes up to `LAST`, and its mean at signals up to `MAX_SIGNAL`, in units of sigma."""

    magnitude: Floats
    transformed: Floats
    signal: Floats
    mean: Floats
    constant: float  # of the closed form


def forward(values: Floats, sigma: Floats) -> Floats:
    """The transform; sigma broadcasts to the image. Magnitudes are not negative: what is below 0 counts as 0."""
    made, z = tables(), np.maximum(values / sigma, 0.0)
    far = np.sqrt(np.maximum(z, 1.0) ** 2 - 0.5) + made.constant
    return np.where(z > LAST, far, np.interp(z, made.magnitude, made.transformed))


def expected(signal: Floats, sigma: Floats) -> Floats:
    """The mean of the transform where the signal is this."""
    made, nu = tables(), np.maximum(signal / sigma, 0.0)
    far = nu + 0.25 / np.maximum(nu, 1.0) + made.constant
    return np.where(nu > MAX_SIGNAL, far, np.interp(nu, made.signal, made.mean))


def inverse(means: Floats, sigma: Floats) -> Floats:
    """The exact unbiased inverse: the signal whose transform has these means, 0 where there is none."""
    made = tables()
    beyond = np.maximum(means - made.constant, 1.0)
    far = (beyond + np.sqrt(beyond**2 - 1.0)) / 2  # of nu + 1 / (4 nu)
    return np.asarray(sigma * np.where(means > made.mean[-1], far, np.interp(means, made.mean, made.signal)))


def deviation(signal: Floats, sigma: Floats) -> Floats:
    """Standard deviation of a magnitude where the signal is this."""
    nu = np.maximum(np.asarray(signal, np.float64) / sigma, 0.0)
    near, half = np.minimum(nu, 100.0), np.minimum(nu, 100.0) ** 2 / 4
    mean = AIR_MEAN * ((1 + 2 * half) * ive(0, half) + 2 * half * ive(1, half))
    return np.asarray(sigma * np.where(nu > 100.0, 1.0, np.sqrt(2 + near**2 - mean**2)))


def density(magnitude: Floats, signal: Floats | float) -> Floats:
    """The Rice density for sigma 1."""
    return np.asarray(magnitude * np.exp(-((magnitude - signal) ** 2) / 2) * ive(0, magnitude * signal))


@cache
def tables() -> Tables:
    """Make the tables; it takes some hundredths of a second."""
    z = np.arange(0.0, MAX_SIGNAL + REACH, STEP)
    parts = _integrated(_slopes(z))
    law = _law(z, np.arange(0.0, LAST + STEP, 0.1))
    means = law @ parts
    covariances = np.einsum("nz,za,zb->nab", law, parts, parts) - means[:, :, None] * means[:, None, :]
    f = parts @ _even(covariances)
    signal = np.concatenate([np.arange(0.0, LAST, 0.02), np.arange(LAST, MAX_SIGNAL + 0.05, 0.1)])
    inside = z <= LAST + STEP / 2
    constant = float(f[inside][-1] - math.sqrt(LAST**2 - 0.5))
    return Tables(
        magnitude=read_only(z[inside]),
        transformed=read_only(f[inside]),
        signal=read_only(signal),
        mean=read_only(_law(z, signal) @ f),
        constant=constant,
    )


def _law(z: Floats, signal: Floats) -> Floats:
    """Probabilities of magnitudes at each signal."""
    found = density(z, signal[:, None])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _slopes(z: Floats) -> Floats:
    """Hat functions of all knots, the last of which goes on as the slope of the closed form."""
    knots = np.arange(0.0, LAST + KNOT / 2, KNOT)
    hats = np.stack([np.interp(z, knots, each, right=0.0) for each in np.eye(len(knots))], axis=1)
    hats[:, -1] = np.where(z > LAST, _far_slope(np.maximum(z, LAST)), hats[:, -1] * _far_slope(LAST))
    return hats


def _far_slope(z: Floats | float) -> Floats:
    return np.asarray(z / np.sqrt(np.square(z) - 0.5))


def _integrated(slopes: Floats) -> Floats:
    steps = STEP * (slopes[1:] + slopes[:-1]) / 2
    return np.concatenate([np.zeros((1, slopes.shape[1])), np.cumsum(steps, axis=0)])


def _even(covariances: Floats) -> Floats:
    """Slopes at the knots, the last one 1, for which `sqrt(x' C x)` is nearest to 1 for all signals."""
    n = covariances.shape[1]
    x = np.ones(n)
    smooth = SMOOTH * np.diff(np.eye(n), 2, axis=0)
    for _ in range(N_STEPS):
        spread = np.sqrt(np.einsum("a,nab,b->n", x, covariances, x))
        residual = np.concatenate([spread - 1, smooth @ x])
        change = np.concatenate([covariances @ x / spread[:, None], smooth])
        x[:-1] -= np.linalg.lstsq(change[:, :-1], residual, rcond=None)[0]
    return x
