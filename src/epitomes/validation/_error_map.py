"""error_map: the standard deviation of the error at every pixel, with intervals.

A shape times a scale. Errors are larger where the restored image has detail, fine or coarse, and where much was taken
away: the shape is a geometric mean of the three energies. Stein's estimate of the risk sets the scale: over the whole
image, and in windows as far as their own noise allows. Bins of pixels chosen by the shape would not do: what a
denoiser made of noise looks like detail, and among such pixels the estimate is not unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_floats, positive
from epitomes.validation._probe import Denoiser, probe
from epitomes.validation._sure import LEVEL, QUANTILE, Sure, peak_of, risk, risk_map
from epitomes.validation.planes import (
    Floats,
    as_plane,
    channels_of,
    detail,
    doubles,
    from_plane,
    levels,
    pixels_in,
    same_shape,
    smooth,
    unclipped,
)

FINE, COARSE, TAKEN = 1.0, 4.0, 1.5  # widths of the three energies, in pixels
LEAST_DETAIL, LEAST_TAKEN = 0.03, 0.2  # added to the energies, in units of sigma^2: errors never vanish
WINDOW = 10.0  # width of the windows with a scale of their own
TRUST = 0.3  # variance of the ratio between windows and the shape, as seen on photographs
MOST = 4.0  # a window's scale is at most so many times the whole image's, and at least its inverse


@dataclass(frozen=True, eq=False, kw_only=True)
class ErrorMap:
    """`restored - truth` at every pixel: its standard deviation, and an interval for the truth."""

    std: Floats  # of the shape and in the units of the image
    low: Floats  # the truth lies between low and high
    high: Floats
    level: float  # for this share of the pixels, about
    sure: Sure  # of the whole image; std squared has its mse as mean, where noise is not clipped

    def as_dict(self) -> dict[str, Any]:
        """A summary for JSON: the maps themselves are arrays."""
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
    sigma: ArrayLike,
    denoiser: Denoiser,
    *,
    probes: int = 1,
    rng: RNG = 0,
    peak: float | None = None,
    channel_axis: int | None = None,
) -> ErrorMap:
    """Estimate the error of `restored = denoiser(noisy)` pixel by pixel; the rest as for `sure`.

    The denoiser is called `2 * probes` times. A last axis of three or four is taken for colour, unless `channel_axis`
    says where the channels are.
    """
    image = as_floats("noisy", noisy)
    axis = channels_of(image.shape, channel_axis)
    noise = levels(sigma, image.shape)
    white = None if peak is None else positive("peak", peak)
    clean = same_shape("restored", restored, image.shape)
    answers = probe(denoiser, image, clean, noise, probes=probes, rng=rng)
    found = risk(doubles("noisy", image), clean, noise, answers, white or peak_of(np.asarray(noisy), clean))
    residual = image - clean
    variance = _scaled(
        _shape(*(as_plane(part, axis) for part in (clean, residual, noise))),
        as_plane(risk_map(residual, noise, answers.slope), axis),
        as_plane(noise, axis),
        as_plane(unclipped(doubles("noisy", image), clean, noise), axis),
        max(found.mse, found.error / 2),
    )
    std = from_plane(np.sqrt(variance), axis)
    return ErrorMap(std=std, low=clean - QUANTILE * std, high=clean + QUANTILE * std, level=LEVEL, sure=found)


def _shape(clean: Floats, residual: Floats, sigma: Floats) -> Floats:
    """The variance of the error up to a factor."""
    kept = np.sqrt((detail(clean, FINE) / sigma**2 + LEAST_DETAIL) * (detail(clean, COARSE) / sigma**2 + LEAST_DETAIL))
    taken = smooth((residual / sigma) ** 2, TAKEN) + LEAST_TAKEN
    out: Floats = np.sqrt(kept * taken) * sigma**2
    return out


def _scaled(shape: Floats, risks: Floats, sigma: Floats, trusted: NDArray[np.bool_], mse: float) -> Floats:
    """The shape with the mean `mse`, and with the mean of the risks in windows, as far as these can be trusted."""
    whole = shape * (mse / shape[trusted].mean())
    here = smooth(whole, WINDOW)
    noise = 2 * smooth(sigma, WINDOW) ** 4 / pixels_in(WINDOW) / here**2  # variance of the ratio of a window
    ratio = 1 + (smooth(np.where(trusted, risks, whole), WINDOW) / here - 1) * TRUST / (TRUST + noise)
    scaled = whole * np.clip(ratio, 1 / MOST, MOST)
    out: Floats = scaled * (mse / scaled[trusted].mean())
    return out
