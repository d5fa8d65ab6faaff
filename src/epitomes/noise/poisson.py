"""Poisson-Gaussian noise: counts of light, and a camera that reads them.

A pixel is `gain * Poisson(counts) + offset + read_noise * normal`. Its mean is `gain * counts + offset`, its variance
`gain * (mean - offset) + read_noise^2`: a line over the mean, which flat patches of different brightness show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import positive
from epitomes.noise.brightness import Line, Points, line, points
from epitomes.noise.door import Floats, planes
from epitomes.noise.weak import measured
from epitomes.noise.windows import WIDTH

CONFIDENT = 1.645  # standard errors on either side: 90 %
LEFT_OVER = 0.06  # texture in flat patches lifts variances by up to so much, and bright or dark ones more than others
FEWEST_BINS = 4
GROWTH = 2.5  # variance of the brightest over the darkest patches: less does not show the slope well


@dataclass(frozen=True)
class PoissonGaussian:
    """`gain * Poisson + offset + read_noise * normal`; with gain 0, Gaussian noise alone."""

    gain: float  # brightness per count
    offset: float = 0.0  # brightness without light
    read_noise: float = 0.0  # standard deviation, in the units of the image

    def __post_init__(self) -> None:
        positive("gain", self.gain, zero=True)
        positive("read_noise", self.read_noise, zero=True)
        positive("the size of offset", abs(self.offset), zero=True)
        if self.gain == 0 and self.read_noise == 0:
            raise ValueError("gain and read_noise are both 0, which is an image without noise: one must be positive")

    def variance(self, mean: ArrayLike) -> Floats:
        """Of a pixel with that mean; `mean` as an array gives a map of variances."""
        light = np.maximum(np.asarray(mean, np.float64) - self.offset, 0.0)
        return np.asarray(self.gain * light + self.read_noise**2)


@dataclass(frozen=True)
class PoissonFit:
    """The model, and whether to believe it."""

    model: PoissonGaussian
    gain_low: float  # 90 % interval
    gain_high: float  # infinite if brightness is too even to tell
    reliable: bool
    reason: str  # why not; empty if reliable


def fit_poisson_gaussian(image: ArrayLike, *, offset: float | None = None) -> PoissonFit:
    """The noise of a grey image whose brightness is linear in light (no gamma) and not clipped.

    One image shows the line `gain * mean + b` alone, and `b = read_noise^2 - gain * offset`. If you know the offset (of
    a dark frame, the mean), give it. Otherwise the simpler of two explanations is taken: no offset if b is positive, no
    read noise if it is negative. Where noise does not grow with brightness, the model has no gain.
    """
    (plane,) = planes(image, None, least=2 * WIDTH)
    bins = points(measured(plane.pixels, np.ones(plane.pixels.shape, np.bool_)))
    if plane.scale == 0 or not bins.variance.any():
        raise ValueError("image holds no noise in its flat places: give it as it came from the camera")
    bins = Points(bins.level + plane.middle / plane.scale, bins.variance, bins.error)  # units of scale, zero in place
    fit = line(bins)
    reason = doubt(fit, bins)
    spread = CONFIDENT * fit.error + _left_over(fit, bins)
    low, high = (plane.scale * max(0.0, slope) for slope in (fit.slope - spread, fit.slope + spread))
    return PoissonFit(_model(fit, bins, offset, plane.scale), low, high, not reason, reason)


def growth(fit: Line, bins: Points) -> float:
    """Variance of the brightest over that of the darkest patches that agree with the line; 1 if none do."""
    levels = bins.level[fit.agree]
    if not levels.size or (darkest := float(fit.variance(levels.min()))) <= 0:
        return math.inf if levels.size and fit.slope > 0 else 1.0
    return float(fit.variance(levels.max())) / darkest


def _left_over(fit: Line, bins: Points) -> float:
    """How much texture in the bright or the dark patches alone can change the slope."""
    levels = bins.level[fit.agree]
    if levels.size < 2 or (span := float(np.ptp(levels))) == 0:
        return math.inf
    return LEFT_OVER * float(fit.variance(levels).max()) / span


def doubt(fit: Line, bins: Points) -> str:
    """Why the line may not be that of light; empty if it is."""
    if len(bins.level) < FEWEST_BINS:
        return f"too few patches: {len(bins.level)} levels of brightness, {FEWEST_BINS} are needed"
    if 2 * fit.agree.sum() < len(bins.level):
        return f"texture is everywhere: {fit.agree.sum()} of {len(bins.level)} levels of brightness lie on the line"
    if fit.slope - CONFIDENT * fit.error <= 0:
        return "the noise does not grow with brightness: see estimate_noise"
    if (times := growth(fit, bins)) < GROWTH:
        return f"flat patches are too much alike in brightness ({times:.1f} times the variance): the gain is uncertain"
    return ""


def _model(fit: Line, bins: Points, offset: float | None, scale: float) -> PoissonGaussian:
    """The line as a camera; `offset` is in the units of the image, the line in units of `scale`."""
    if fit.slope <= 0:
        even = float(np.median(bins.variance[bins.variance > 0]))
        return PoissonGaussian(0.0, 0.0 if offset is None else offset, scale * math.sqrt(even))
    gain = scale * fit.slope
    if offset is not None:
        return PoissonGaussian(gain, offset, scale * math.sqrt(max(fit.at_zero + fit.slope * offset / scale, 0.0)))
    if fit.at_zero >= 0:
        return PoissonGaussian(gain, 0.0, scale * math.sqrt(fit.at_zero))
    return PoissonGaussian(gain, -scale * fit.at_zero / fit.slope, 0.0)
