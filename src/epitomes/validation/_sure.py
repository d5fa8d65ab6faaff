"""sure: the error of a denoised image without the clean one (Stein's unbiased risk estimate).

For white Gaussian noise, `|y - f|^2 - sigma^2 + 2 sigma^2 slope`, averaged over pixels, has the mean squared error of
f as its mean. Its own error falls with the number of pixels N: in decibels it is near `6 sigma^2 / (mse sqrt(N))`, so
small errors under strong noise need large images (Bellec and Zhang, 2021). Pixels whose noise was clipped, as in 8-bit
files, break the assumption and are left out.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_floats, positive
from epitomes.layout import Layout
from epitomes.noise.model import Noise
from epitomes.validation._probe import Denoiser, Probe, ask, probe
from epitomes.validation._psnr import decibels
from epitomes.validation.contradictions import doubts_about
from epitomes.validation.planes import Floats, as_noise, doubles, levels, unclipped

LEVEL = 0.9  # of all intervals
QUANTILE = 1.645  # a normal variable stays within so many standard deviations with that probability
PEAKS = (1.0, 255.0)  # the usual ranges of floats
TYPICAL = 0.25  # of such a range, at least, is used by images that have it
TAIL = 0.001  # share of the pixels beyond each end of an image's own range: hot ones would stretch it


@dataclass(frozen=True, kw_only=True)
class Sure:
    """The estimated mean squared error of a denoised image, and its uncertainty.

    Parameters
    ----------
    mse : float
        Estimated mean squared error. It can be negative if the error is too small to be seen in an image of this size.
    error : float
        Standard deviation of `mse`.
    psnr : float
        Estimated PSNR in dB; infinite if `mse` is not above 0.
    interval : tuple of float
        90 % confidence interval of the PSNR. Its upper end can be infinite; both ends are if there are `doubts`.
    divergence : float
        Mean slope of the denoiser: the share of the noise that it keeps, from 0 to 1.
    residual : float
        Mean square of ``noisy - restored``.
    clipped : float
        Share of the pixels that were left out because their noise was clipped.
    peak : float
        Length of the range that the PSNR refers to.
    probes : int
        Number of random probes.
    doubts : tuple of str
        What speaks against the noise model, on which all these numbers rest, in short sentences; empty if nothing does.
    span : tuple of float, optional
        Both ends of that range.

    See Also
    --------
    sure : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import sure
    >>> noisy = np.random.default_rng(0).standard_normal((64, 64))
    >>> found = sure(lambda image: 0.5 * image, noisy, 1.0)  # half of the noise is kept, a quarter of its variance
    >>> round(found.divergence, 2), round(found.mse, 2)
    (0.5, 0.25)
    """

    mse: float
    error: float
    psnr: float
    interval: tuple[float, float]
    divergence: float
    residual: float
    clipped: float
    peak: float
    probes: int
    doubts: tuple[str, ...] = ()
    span: tuple[float, float] | None = None

    @property
    def reference(self) -> str:
        """The range that the PSNR refers to, in words."""
        low, high = (0.0, self.peak) if self.span is None else self.span
        usual = (low, high) in [(0.0, 255.0), (0.0, 1.0)]
        return f"{'for the range' if usual else 'of the own range of the image'} {low:.4g} to {high:.4g}"

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values for JSON; infinite ones are None.

        Returns
        -------
        dict
            Numbers, lists and None.
        """
        items = dataclasses.asdict(self) | {"doubts": list(self.doubts)}
        items["psnr"] = _finite(self.psnr)
        items["interval"] = [_finite(end) for end in self.interval]
        items["span"] = None if self.span is None else list(self.span)
        return items

    def __str__(self) -> str:
        if self.doubts:
            return "PSNR unknown, because the noise model is in doubt: " + " ".join(self.doubts)
        low, high = self.interval
        return f"PSNR {self.psnr:.2f} dB {self.reference}, 90 % between {low:.2f} and {high:.2f}"


def sure(
    denoiser: Denoiser,
    noisy: ArrayLike,
    noise: Noise | ArrayLike,
    *,
    probes: int = 1,
    rng: RNG = 0,
    peak: float | None = None,
    channel_axis: int | None = None,
) -> Sure:
    """Estimate the PSNR of a denoiser on a noisy image, without the clean image.

    Parameters
    ----------
    denoiser : callable
        Any function from image to image. It is called ``1 + 2 * probes`` times, with floats in the units of `noisy`,
        and must return the same result each time. Everything that it learns from the image is part of it.
    noisy : array_like
        The noisy image, of any shape.
    noise : Noise or array_like
        White noise model, or standard deviation of white Gaussian noise: a number, or an array that broadcasts to the
        image.
    probes : int, optional
        Number of random probes. More narrow the interval.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed of the probes.
    peak : float, optional
        Value of white, 0 being black. If None, the range of 8-bit images is 0 to 255 and that of floats 0 to 1 or 0 to
        255 if it suits them; any other image has its own range, that of all but 0.2 % of the restored pixels.
    channel_axis : int, optional
        Axis of the channels, for noise with one level per channel. If None, channels come last.

    Returns
    -------
    Sure
        Estimated mean squared error and PSNR, with an interval. If the image contradicts the noise model, `doubts` says
        so, and the interval is infinite.

    See Also
    --------
    error_map : The error of every pixel.
    psnr : The PSNR if the clean image is known.

    Notes
    -----
    Stein's unbiased risk estimate [1]_ is the mean of ``(y - f)**2 - sigma**2 + 2 * sigma**2 * slope`` over pixels,
    with the slope of each restored pixel ``f`` against its noisy one ``y``; random probes measure the slopes [2]_. For
    Poisson-Gaussian noise, sigma is evaluated at the restored image, and the estimate is approximate.

    References
    ----------
    .. [1] C. M. Stein, "Estimation of the mean of a multivariate normal distribution", Annals of Statistics 9,
           1981.
    .. [2] S. Ramani, T. Blu, M. Unser, "Monte-Carlo SURE", IEEE Transactions on Image Processing 17 (9), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> from epitomes.validation import psnr, sure
    >>> y, x = np.mgrid[0:128, 0:128] / 8
    >>> clean = 100 + 50 * np.sign(np.sin(x) * np.sin(y))
    >>> noisy = clean + 10 * np.random.default_rng(1).standard_normal((128, 128))
    >>> denoiser = lambda image: gaussian_filter(image, 1.0)
    >>> found = sure(denoiser, noisy, 10.0)
    >>> low, high = found.interval
    >>> low < psnr(clean, denoiser(noisy)) < high
    True
    """
    image = as_floats("noisy", noisy)
    model = as_noise(noise)
    layout = None if channel_axis is None else Layout.of(image.shape, channel_axis)
    levels(model, doubles("noisy", image), layout)  # to fail before the work, not after it
    white = None if peak is None else positive("peak", peak)
    restored = ask(denoiser, image.copy())
    sigma = levels(model, restored, layout)
    answers = probe(denoiser, image, restored, sigma, probes=probes, rng=rng)
    doubts = doubts_about(model, image, restored, channel_axis)
    span = span_of(np.asarray(noisy), restored, white)
    return risk(doubles("noisy", image), restored, sigma, answers, span, doubts)


def risk(
    noisy: Floats,
    restored: Floats,
    sigma: Floats,
    answers: Probe,
    span: tuple[float, float],
    doubts: tuple[str, ...],
) -> Sure:
    """The estimate from a restored image and the answers of its denoiser to probes."""
    peak = span[1] - span[0]
    trusted = unclipped(noisy, restored, sigma)
    residual = (noisy - restored)[trusted]
    slope, response, level = answers.slope[trusted], answers.response[trusted], sigma[trusted]
    mse = float(np.mean(risk_map(residual, level, slope)))
    error = math.sqrt(_variance(residual, level, slope, response, answers.spread / answers.probes))
    reach = QUANTILE * error
    return Sure(
        mse=mse,
        error=error,
        psnr=decibels(mse, peak),
        interval=(-math.inf, math.inf) if doubts else (decibels(mse + reach, peak), decibels(mse - reach, peak)),
        divergence=float(np.mean(slope)),
        residual=float(np.mean(residual**2)),
        clipped=1 - float(np.mean(trusted)),
        peak=peak,
        probes=answers.probes,
        doubts=doubts,
        span=span,
    )


def risk_map(residual: Floats, sigma: Floats, slope: Floats) -> Floats:
    """Stein's estimate pixel by pixel: noisy, but unbiased over any set of pixels that does not depend on the noise."""
    out: Floats = residual**2 - sigma**2 + 2 * sigma**2 * slope
    return out


def _variance(residual: Floats, sigma: Floats, slope: Floats, response: Floats, spread: float) -> float:
    """Of the mean of the risk map: `4 sigma^2 r^2 + 4 sigma^4 tr(J^2) - 2 sigma^4` over N^2, and that of the probes.

    The trace is at most the squared response, and for averages and projections at most the slope; discontinuities
    inflate the former. A symmetric J doubles the variance that the spread over pixels shows.
    """
    trace = max(0.0, min(float(np.mean(slope)), float(np.mean(response))))
    own = np.mean(4 * sigma**2 * residual**2 + (4 * trace - 2) * sigma**4)
    return max(0.0, float(own) + 8 * spread) / residual.size


def span_of(noisy: NDArray[Any], restored: Floats, peak: float | None = None) -> tuple[float, float]:
    """The range that a PSNR refers to; its rule is documented in `sure`."""
    if peak is not None:
        return 0.0, peak
    if noisy.dtype.kind in "iu" and noisy.dtype.itemsize == 1:
        limits = np.iinfo(noisy.dtype)
        return float(limits.min), float(limits.max)
    large = float(np.quantile(np.abs(restored), 0.99))
    if noisy.dtype.kind == "f" and (usual := [peak for peak in PEAKS if TYPICAL * peak < large <= peak]):
        return 0.0, usual[0]
    low, high = (float(end) for end in np.quantile(restored, (TAIL, 1 - TAIL)))
    return (low, high) if high > low else (low, low + 1.0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
