"""error_map: the standard deviation of the error at every pixel, with intervals.

It is a shape times a scale. Errors are larger where the restored image has detail, fine or coarse, and where much was
removed: the shape is a geometric mean of the three energies. Stein's estimate of the risk sets the scale, over the
whole image and in windows, as far as their own noise allows. Bins of pixels selected by the shape would not do: noise
that a denoiser kept looks like detail, and over such pixels the estimate is biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_floats, positive
from epitomes.noise.model import Noise
from epitomes.validation._probe import Denoiser, probe
from epitomes.validation._sure import LEVEL, QUANTILE, Sure, risk, risk_map, span_of
from epitomes.validation.contradictions import doubts_about
from epitomes.validation.planes import (
    Floats,
    as_noise,
    as_plane,
    detail,
    doubles,
    from_plane,
    levels,
    pixels_in,
    plane_layout,
    same_shape,
    smooth,
    unclipped,
)

FINE, COARSE, REMOVED = 1.0, 4.0, 1.5  # widths of the three energies, in pixels
LEAST_DETAIL, LEAST_REMOVED = 0.03, 0.2  # added to the energies, in units of sigma^2: errors never vanish
WINDOW = 10.0  # width of the windows with a scale of their own
RATIO_VARIANCE = 0.3  # variance of the ratio between windows and the shape, as seen on photographs
LEAST_RISK = 1e-6  # mean squared error over that of the noise: smaller ones cannot be seen
MAX_RATIO = 4.0  # of a window's scale to that of the whole image; at least its inverse


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorMap:
    """Standard deviation of ``restored - truth`` at every pixel, and an interval for the truth.

    Parameters
    ----------
    std : ndarray
        Standard deviation of the error, of the shape and in the units of the image.
    low, high : ndarray
        Ends of the interval for the truth.
    level : float
        Share of the pixels whose truth lies in its interval, approximately.
    sure : Sure
        Estimate for the whole image. The mean of ``std**2`` is its `mse`, where noise is not clipped.

    See Also
    --------
    error_map : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import error_map
    >>> noisy = np.random.default_rng(0).standard_normal((64, 64))
    >>> found = error_map(noisy, 0.5 * noisy, 1.0, lambda image: 0.5 * image)
    >>> found.std.shape, found.level
    ((64, 64), 0.9)
    """

    std: Floats
    low: Floats
    high: Floats
    level: float
    sure: Sure

    def as_dict(self) -> dict[str, Any]:
        """Return a summary as plain values for JSON, without the maps.

        Returns
        -------
        dict
            Numbers and dictionaries of numbers.
        """
        shares = (0.05, 0.5, 0.95)
        quantiles = np.quantile(self.std, shares)
        return {
            "level": self.level,
            "std_mean": float(self.std.mean()),
            "std_quantiles": {f"{share:g}": float(value) for share, value in zip(shares, quantiles, strict=True)},
            "sure": self.sure.as_dict(),
        }

    def __str__(self) -> str:
        least, most = np.quantile(self.std, (0.05, 0.95))
        return f"error of a pixel {np.median(self.std):.3g} (median), {least:.3g} to {most:.3g} for most"


def error_map(
    noisy: ArrayLike,
    restored: ArrayLike,
    noise: Noise | ArrayLike,
    denoiser: Denoiser,
    *,
    probes: int = 1,
    rng: RNG = 0,
    peak: float | None = None,
    channel_axis: int | None = None,
    spatial: int | None = None,
) -> ErrorMap:
    """Estimate the error of a denoised image pixel by pixel, without the clean image.

    Parameters
    ----------
    noisy : array_like
        The noisy image, volume or stack. Planes need at least 16 pixels along both axes.
    restored : array_like
        The result ``denoiser(noisy)``.
    noise : Noise or array_like
        White noise model, or standard deviation of white Gaussian noise.
    denoiser : callable
        Function from image to image, called ``2 * probes`` times; see `sure`.
    probes : int, optional
        Number of random probes.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed of the probes.
    peak : float, optional
        Value of white; see `sure`.
    channel_axis : int, optional
        Axis of the channels. If None, no axis holds channels.
    spatial : int, optional
        Number of spatial axes. If None, all axes but that of the channels.

    Returns
    -------
    ErrorMap
        Standard deviation of the error of every pixel, and 90 % intervals for the truth. Do not use them if
        ``sure.doubts`` says that the image contradicts the noise model.

    See Also
    --------
    sure : The error of the whole image.
    audit : Judge a result without its denoiser.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> from epitomes.validation import error_map
    >>> y, x = np.mgrid[0:128, 0:128] / 8
    >>> clean = 100 + 50 * np.sign(np.sin(x) * np.sin(y))
    >>> noisy = clean + 10 * np.random.default_rng(0).standard_normal((128, 128))
    >>> denoiser = lambda image: gaussian_filter(image, 1.0)
    >>> found = error_map(noisy, denoiser(noisy), 10.0, denoiser)
    >>> inside = (found.low <= clean) & (clean <= found.high)
    >>> bool(0.85 < inside.mean() < 0.95)
    True
    """
    image = as_floats("noisy", noisy)
    layout = plane_layout(image.shape, channel_axis, spatial)
    white = None if peak is None else positive("peak", peak)
    clean = same_shape("restored", restored, image.shape)
    model = as_noise(noise)
    sigma = levels(model, clean, layout)
    answers = probe(denoiser, image, clean, sigma, probes=probes, rng=rng)
    doubts = doubts_about(model, image, clean, channel_axis)
    span = span_of(np.asarray(noisy), clean, white)
    found = risk(doubles("noisy", image), clean, sigma, answers, span, doubts)
    residual = image - clean
    variance = _scaled(
        _shape(*(as_plane(part, layout) for part in (clean, residual, sigma))),
        as_plane(risk_map(residual, sigma, answers.slope), layout),
        as_plane(sigma, layout),
        as_plane(unclipped(doubles("noisy", image), clean, sigma), layout),
        max(found.mse, found.error / 2, LEAST_RISK * float(np.mean(sigma**2))),
    )
    std = from_plane(np.sqrt(variance), layout)
    return ErrorMap(std=std, low=clean - QUANTILE * std, high=clean + QUANTILE * std, level=LEVEL, sure=found)


def _shape(clean: Floats, residual: Floats, sigma: Floats) -> Floats:
    """The variance of the error up to a factor."""
    kept = np.sqrt((detail(clean, FINE) / sigma**2 + LEAST_DETAIL) * (detail(clean, COARSE) / sigma**2 + LEAST_DETAIL))
    removed = smooth((residual / sigma) ** 2, REMOVED) + LEAST_REMOVED
    out: Floats = np.sqrt(kept * removed) * sigma**2
    return out


def _scaled(shape: Floats, risks: Floats, sigma: Floats, trusted: NDArray[np.bool_], mse: float) -> Floats:
    """The shape with the mean `mse`, and in windows with the mean of the risks, as far as these can be trusted."""
    whole = shape * (mse / shape[trusted].mean())
    here = smooth(whole, WINDOW)
    noise = 2 * smooth(sigma, WINDOW) ** 4 / pixels_in(WINDOW) / here**2  # variance of the ratio of a window
    windows = smooth(np.where(trusted, risks, whole), WINDOW) / here
    ratio = 1 + (windows - 1) * RATIO_VARIANCE / (RATIO_VARIANCE + noise)
    scaled = whole * np.clip(ratio, 1 / MAX_RATIO, MAX_RATIO)
    out: Floats = scaled * (mse / scaled[trusted].mean())
    return out
