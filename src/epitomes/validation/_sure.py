"""sure: the error of a denoised image without the clean one (Stein's unbiased risk estimate).

For white Gaussian noise, `|y - f|^2 - sigma^2 + 2 sigma^2 slope`, averaged over pixels, has the mean squared error of
f as its mean. Its own error falls with the number of pixels N: in decibels it is near `6 sigma^2 / (mse sqrt(N))`, so
faint errors under strong noise need large images. `interval` says what can be known (Bellec and Zhang, 2021). Pixels
whose noise was cut off at the ends of the range, as in 8-bit files, break the assumption and are left out.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_floats, positive
from epitomes.validation._probe import Denoiser, Probe, ask, probe
from epitomes.validation.planes import Floats, doubles, levels, unclipped

LEVEL = 0.9  # of all intervals
QUANTILE = 1.645  # a normal variable stays within so many standard deviations with that probability
PEAKS = (1.0, 255.0, 65535.0)  # the usual ranges of floats


@dataclass(frozen=True, kw_only=True)
class Sure:
    """The estimated mean squared error, and how sure it is."""

    mse: float  # below 0 where the error is too small to be seen in an image of this size
    error: float  # standard deviation of mse
    psnr: float  # in dB; infinite if mse is not above 0
    interval: tuple[float, float]  # of the PSNR, 90 %; the upper end may be infinite
    divergence: float  # mean slope: the share of the noise that is kept, 0 to 1
    residual: float  # mean square of noisy - restored
    clipped: float  # share of the pixels left out, near an end of the range where noise was cut off
    peak: float  # that the PSNR refers to
    probes: int

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; infinite ones are None."""
        items = dataclasses.asdict(self)
        items["psnr"] = _finite(self.psnr)
        items["interval"] = [_finite(end) for end in self.interval]
        return items

    def __str__(self) -> str:
        low, high = self.interval
        return f"PSNR {self.psnr:.2f} dB, 90 % between {low:.2f} and {high:.2f} (peak {self.peak:g})"


def sure(
    denoiser: Denoiser,
    noisy: ArrayLike,
    sigma: ArrayLike,
    *,
    probes: int = 1,
    rng: RNG = 0,
    peak: float | None = None,
) -> Sure:
    """Estimate the PSNR of `denoiser(noisy)` from the noisy image alone.

    `denoiser` is any function from image to image; it is called `1 + 2 * probes` times, with floats in the units of
    `noisy`. It must do the same each time, so fix its seed, and everything that it learns from the image is part of it.
    `sigma` is the standard deviation of the white Gaussian noise: one number, or a map. `peak` is the value of white:
    by default the largest number of an integer type of up to 16 bits; else the least of 1, 255 and 65535 that holds
    99 % of the restored pixels; beyond these, the range of the restored pixels.
    """
    image = as_floats("noisy", noisy)
    noise = levels(sigma, image.shape)
    white = None if peak is None else positive("peak", peak)
    restored = ask(denoiser, image.copy())
    answers = probe(denoiser, image, restored, noise, probes=probes, rng=rng)
    return risk(doubles("noisy", image), restored, noise, answers, white or peak_of(np.asarray(noisy), restored))


def risk(noisy: Floats, restored: Floats, sigma: Floats, answers: Probe, peak: float) -> Sure:
    """The estimate from a result and the answers to probes."""
    trusted = unclipped(noisy, restored, sigma)
    residual = (noisy - restored)[trusted]
    slope, response, level = answers.slope[trusted], answers.response[trusted], sigma[trusted]
    mse = float(np.mean(risk_map(residual, level, slope)))
    error = math.sqrt(_variance(residual, level, slope, response, answers.spread / answers.probes))
    return Sure(
        mse=mse,
        error=error,
        psnr=psnr(mse, peak),
        interval=(psnr(mse + QUANTILE * error, peak), psnr(mse - QUANTILE * error, peak)),
        divergence=float(np.mean(slope)),
        residual=float(np.mean(residual**2)),
        clipped=1 - float(np.mean(trusted)),
        peak=peak,
        probes=answers.probes,
    )


def risk_map(residual: Floats, sigma: Floats, slope: Floats) -> Floats:
    """Stein's estimate pixel by pixel: noise, but unbiased wherever the choice of pixels does not depend on it."""
    out: Floats = residual**2 - sigma**2 + 2 * sigma**2 * slope
    return out


def _variance(residual: Floats, sigma: Floats, slope: Floats, response: Floats, spread: float) -> float:
    """Of the mean of the risk map: `4 sigma^2 r^2 + 4 sigma^4 tr(J^2) - 2 sigma^4` over N^2, and that of the probes.

    The trace is at most the squared response, and for averages and projections at most the slope; jumps inflate the
    former. A symmetric J doubles the variance that the spread over pixels shows.
    """
    trace = max(0.0, min(float(np.mean(slope)), float(np.mean(response))))
    own = np.mean(4 * sigma**2 * residual**2 + (4 * trace - 2) * sigma**4)
    return max(0.0, float(own) + 8 * spread) / residual.size


def psnr(mse: float, peak: float) -> float:
    """In dB; infinite for an error that is not above 0."""
    return 10 * math.log10(peak**2 / mse) if mse > 0 else math.inf


def peak_of(noisy: NDArray[Any], restored: Floats) -> float:
    """The value of white where none is given; the rule is in `sure`."""
    if noisy.dtype.kind in "iu" and noisy.dtype.itemsize <= 2:
        return float(np.iinfo(noisy.dtype).max)
    large = float(np.quantile(np.abs(restored), 0.99))
    span = float(np.ptp(restored))
    return next((peak for peak in PEAKS if large <= peak), span)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
