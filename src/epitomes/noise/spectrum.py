"""Noise that is not white, but whose spectrum is known: whiten, denoise, colour again.

    white = whitened(image, spectrum)
    clean = white.back(denoise(white.image, white.sigma).image)

A spectrum is the variance of the noise at every frequency, in the order of `numpy.fft.fft2`, and its mean is the
variance of a pixel: white noise has `sigma^2` everywhere. `kernel_spectrum` makes one from the blur that the noise went
through, `sample_spectrum` from a piece of pure noise. The image is taken to go on periodically, so the borders, to the
width of the noise's correlation, are whitened by pixels of the opposite border. What is weak in the noise is made
strong in the picture: the less white the noise, the less natural the picture that the denoiser sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, as_shape, positive, whole
from epitomes.noise.door import Floats

VANISHING = 1e-10  # of the largest value of a spectrum: below it noise cannot be whitened
SYMMETRIC = 1e-6  # of the largest value: the spectrum of real noise is the same at opposite frequencies


@dataclass(frozen=True, eq=False)
class Whitened:
    """An image with white noise, and the way back."""

    image: Floats  # float64 always: whitening mixes large and small numbers
    sigma: float  # of its noise; the variance of a pixel stays what it was
    gain: Floats  # by which frequencies were multiplied, half of them, as in `numpy.fft.rfft2`
    dtype: np.dtype[Any]  # of the image as it was, or the float type that holds it

    def back(self, image: ArrayLike) -> Array:
        """`image`, which is whitened, for example denoised, as it would be without whitening."""
        pixels = as_floats("image", image)
        if pixels.shape != self.image.shape:
            raise ValueError(f"image needs shape {self.image.shape}, as the whitened one, got {pixels.shape}")
        return np.asarray(_filtered(pixels, 1 / self.gain), self.dtype)


def whitened(image: ArrayLike, spectrum: ArrayLike) -> Whitened:
    """Multiply each frequency of a grey image by what makes its noise white. `back` undoes it to the last digits.

    The mean of the image needs no noise: it is left alone if the spectrum is 0 there.
    """
    pixels = as_floats("image", image, ndim=2)
    power = np.array(as_floats("spectrum", spectrum, ndim=2), np.float64)
    if power.shape != pixels.shape:
        raise ValueError(
            f"spectrum needs shape {pixels.shape}, as the image, got {power.shape}: one value per frequency"
        )
    largest = float(power.max())
    if power.min() < 0 or largest == 0:
        raise ValueError(f"spectrum holds variances, which are positive, got {power.min():g} to {largest:g}")
    mirrored = np.roll(power[::-1, ::-1], (1, 1), axis=(0, 1))
    if np.abs(power - mirrored).max() > SYMMETRIC * largest:
        raise ValueError(
            "spectrum differs at opposite frequencies, which no real noise does: is it in the order of fft2?"
        )
    power /= largest
    variance = float(power.mean())
    if power[0, 0] <= VANISHING:
        power[0, 0] = variance
    if (lost := int((power <= VANISHING).sum())) > 0:
        raise ValueError(
            f"spectrum vanishes at {lost} of {power.size} frequencies, where noise cannot be made white: add the white "
            "part that real noise has, for example of rounding or reading"
        )
    gain = np.sqrt(variance / power)[:, : power.shape[1] // 2 + 1]
    return Whitened(_filtered(pixels, gain), math.sqrt(variance) * math.sqrt(largest), gain, pixels.dtype)


def kernel_spectrum(kernel: ArrayLike, shape: Sequence[int], *, sigma: float = 1.0) -> Floats:
    """Of white noise of standard deviation `sigma` that was filtered with a kernel: `|sigma * fft2(kernel)|^2`."""
    weights = np.asarray(as_floats("kernel", kernel, ndim=2), np.float64)
    lengths = _at_least(shape, weights.shape, "kernel")
    return np.asarray(np.square(np.abs(positive("sigma", sigma) * np.fft.fft2(weights, lengths))))


def sample_spectrum(noise: ArrayLike, shape: Sequence[int], *, reach: int = 12) -> Floats:
    """From a piece of pure noise, such as a dark frame, for images of `shape`.

    Covariances of pixels up to `reach` apart, faded towards it (Parzen), so that the spectrum is smooth and never
    negative. Give about ten times the reach of the correlation; the sample should be larger by as much again.
    """
    sample = np.asarray(as_floats("noise", noise, ndim=2), np.float64)
    far = whole("reach", reach, least=1)
    lengths = _at_least(shape, (2 * far + 1, 2 * far + 1), f"reach {far}")
    if min(sample.shape) <= far:
        raise ValueError(f"noise needs more than {far} pixels along both axes for that reach, got shape {sample.shape}")
    padded = [side + far for side in sample.shape]
    covariance = np.fft.irfft2(np.square(np.abs(np.fft.rfft2(sample - sample.mean(), padded))), padded) / sample.size
    lags = np.arange(-far, far + 1)
    x = np.abs(lags) / (far + 1)
    fade = np.where(x <= 0.5, 1 - 6 * x**2 * (1 - x), 2 * (1 - x) ** 3)
    around = np.zeros(lengths)
    around[np.ix_(lags, lags)] = covariance[np.ix_(lags, lags)] * np.outer(fade, fade)
    return np.asarray(np.maximum(np.fft.fft2(around).real, 0.0))


def _at_least(shape: Sequence[int], least: tuple[int, ...], reason: str) -> tuple[int, ...]:
    lengths = as_shape("shape", shape, ndim=2)
    if any(side < needed for side, needed in zip(lengths, least, strict=True)):
        raise ValueError(f"shape {lengths} is smaller than {least}, which {reason} needs")
    return lengths


def _filtered(pixels: Array, gain: Floats) -> Floats:
    return np.asarray(np.fft.irfft2(np.fft.rfft2(np.asarray(pixels, np.float64)) * gain, pixels.shape))
