"""Spectra of correlated noise: from a kernel, from a sample of pure noise, and the filters that whiten.

A spectrum is the variance of the noise at every frequency, in the order of `numpy.fft.fft2`. Its mean is the variance
of a pixel: white noise of standard deviation sigma has `sigma^2` everywhere. Images are assumed to be periodic, so
pixels near a border, within the correlation length of the noise, are whitened with pixels of the opposite border.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, as_shape, positive, whole
from epitomes.noise.planes import Floats

VANISHING = 1e-10  # of the largest value of a spectrum: below it noise cannot be whitened
SYMMETRIC = 1e-6  # of the largest value: the spectrum of real noise is the same at opposite frequencies


def kernel_spectrum(kernel: ArrayLike, shape: Sequence[int], *, sigma: float = 1.0) -> Floats:
    """Compute the spectrum of white noise that was filtered with a kernel.

    Parameters
    ----------
    kernel : array_like
        Filter ``(h, w)`` that the noise went through.
    shape : sequence of int
        Shape ``(H, W)`` of the image, at least that of the kernel.
    sigma : float, optional
        Standard deviation of the white noise before the filter.

    Returns
    -------
    ndarray
        Variance at every frequency, ``(H, W)``, in the order of `numpy.fft.fft2`.

    See Also
    --------
    sample_spectrum : Measure a spectrum on a sample of pure noise.
    Noise.from_spectrum : Build a noise model from a spectrum.

    Notes
    -----
    The result is ``|sigma fft2(kernel)|^2``.

    Examples
    --------
    >>> from epitomes.noise import kernel_spectrum
    >>> kernel_spectrum([[0.5, 0.5]], (2, 4)).round(2)
    array([[1. , 0.5, 0. , 0.5],
           [1. , 0.5, 0. , 0.5]])
    """
    weights = np.asarray(as_floats("kernel", kernel, ndim=2), np.float64)
    lengths = _at_least(shape, weights.shape, "kernel")
    return np.asarray(np.square(np.abs(positive("sigma", sigma) * np.fft.fft2(weights, lengths))))


def sample_spectrum(sample: ArrayLike, shape: Sequence[int], *, reach: int = 12) -> Floats:
    """Measure the spectrum of noise on a sample of pure noise, such as a dark frame.

    Parameters
    ----------
    sample : array_like
        Grey image of pure noise, with more than `reach` pixels along both axes; about ten times as many are better.
    shape : sequence of int
        Shape ``(H, W)`` of the images that the spectrum is for, at least ``2 * reach + 1`` along both axes.
    reach : int, optional
        Largest distance, in pixels, of correlated pixels.

    Returns
    -------
    ndarray
        Variance at every frequency, ``(H, W)``, in the order of `numpy.fft.fft2`.

    See Also
    --------
    kernel_spectrum : Compute a spectrum from a known filter.
    Noise.from_spectrum : Build a noise model from a spectrum.

    Notes
    -----
    The spectrum is the Fourier transform of the sample covariances up to `reach`, multiplied by a Parzen window, so
    that it is smooth and never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Noise, sample_spectrum
    >>> dark = 3.0 * np.random.default_rng(0).standard_normal((200, 200))
    >>> noise = Noise.from_spectrum(sample_spectrum(dark, (64, 64)))
    >>> round(noise.level, 1)
    3.0
    """
    pixels = np.asarray(as_floats("sample", sample, ndim=2), np.float64)
    far = whole("reach", reach, least=1)
    lengths = _at_least(shape, (2 * far + 1, 2 * far + 1), f"reach {far}")
    if min(pixels.shape) <= far:
        raise ValueError(f"sample needs more than {far} pixels along both axes for that reach, got {pixels.shape}")
    padded = [side + far for side in pixels.shape]
    covariance = np.fft.irfft2(np.square(np.abs(np.fft.rfft2(pixels - pixels.mean(), padded))), padded) / pixels.size
    lags = np.arange(-far, far + 1)
    x = np.abs(lags) / (far + 1)
    fade = np.where(x <= 0.5, 1 - 6 * x**2 * (1 - x), 2 * (1 - x) ** 3)
    around = np.zeros(lengths)
    around[np.ix_(lags, lags)] = covariance[np.ix_(lags, lags)] * np.outer(fade, fade)
    return np.asarray(np.maximum(np.fft.fft2(around).real, 0.0))


def normalised(power: ArrayLike) -> tuple[Floats, float]:
    """A spectrum with mean 1 and the standard deviation of a pixel, from the variance at every frequency; checked."""
    values = np.array(as_floats("spectrum", power, ndim=2), np.float64)
    largest = float(values.max())
    if values.min() < 0 or largest == 0:
        raise ValueError(f"spectrum holds variances, which are positive, got {values.min():g} to {largest:g}")
    mirrored = np.roll(values[::-1, ::-1], (1, 1), axis=(0, 1))
    if np.abs(values - mirrored).max() > SYMMETRIC * largest:
        raise ValueError(
            "spectrum differs at opposite frequencies, which is impossible for real noise: is it in the order of fft2?"
        )
    values /= largest
    vanishing = values <= VANISHING
    vanishing[0, 0] = False  # the mean of the image needs no noise
    if lost := int(vanishing.sum()):
        raise ValueError(
            f"spectrum vanishes at {lost} of {values.size} frequencies, where noise cannot be whitened: add the white "
            "part that real noise has, for example from rounding or read-out"
        )
    variance = float(values.mean())
    return values / variance, float(np.sqrt(variance) * np.sqrt(largest))


def whitening_filter(spectrum: Floats) -> Floats:
    """What each frequency is multiplied by to whiten noise of that spectrum, for `numpy.fft.rfft2`.

    The mean of the image is left alone if the spectrum vanishes there.
    """
    power = spectrum[:, : spectrum.shape[1] // 2 + 1].copy()
    if power[0, 0] <= VANISHING * spectrum.max():
        power[0, 0] = 1.0
    return np.asarray(1 / np.sqrt(power))


def filtered(images: Array, response: Floats) -> Floats:
    """Images, along the last two axes, with each frequency multiplied by the response."""
    shape = images.shape[-2:]
    return np.asarray(np.fft.irfft2(np.fft.rfft2(np.asarray(images, np.float64)) * response, shape))


def _at_least(shape: Sequence[int], least: tuple[int, ...], reason: str) -> tuple[int, ...]:
    lengths = as_shape("shape", shape, ndim=2)
    if any(side < needed for side, needed in zip(lengths, least, strict=True)):
        raise ValueError(f"shape {lengths} is smaller than {least}, which {reason} needs")
    return lengths
