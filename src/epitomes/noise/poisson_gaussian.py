"""Poisson-Gaussian noise of one plane: gain, offset and read noise from the noise level function.

The variance is a line over the mean, `gain * (mean - offset) + sigma^2`, which flat patches of different brightness
show. One image determines the line `gain * mean + b` only, with `b = sigma^2 - gain * offset`. If the offset is not
known, the simpler of two explanations is taken: no offset if b is positive, no read noise if it is negative.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from epitomes.noise.combine import Estimate
from epitomes.noise.correlation import correlation_doubt, plane_correlation
from epitomes.noise.gaussian import CONSTANT, MIN_PATCHES, NOISELESS, nothing
from epitomes.noise.level_function import CONFIDENT, LevelLine, LevelPoints, fit_line, level_points, line_doubt
from epitomes.noise.model import Noise
from epitomes.noise.planes import Plane
from epitomes.noise.weak_texture import patch_statistics

TEXTURE_BIAS = 0.06  # relative: texture in flat patches raises a variance by up to this, at any level of brightness


def estimate_poisson_gaussian(plane: Plane, offset: float | None) -> Estimate:
    """Estimate gain, offset and read noise of a plane; gain 0 where the noise does not grow with brightness."""
    if plane.scale == 0:
        return nothing(CONSTANT)
    valid = np.ones(plane.pixels.shape, np.bool_)  # zeros among counts are not clipped
    statistics = patch_statistics(plane.pixels, valid)
    points = level_points(statistics)
    if not points.variance.any():
        return nothing(NOISELESS)
    brightness = plane.mean / plane.scale  # in units of the scale, like the points and the line
    points = LevelPoints(points.brightness + brightness, points.variance, points.error)
    line = fit_line(points)
    gain, zero, sigma = _parameters(line, points, offset, plane.scale)
    spread = CONFIDENT * line.slope_error + _slope_bias(line, points)
    noise = Noise(
        gain=np.asarray(gain),
        offset=np.asarray(zero),
        sigma=np.asarray(sigma),
        brightness=np.asarray(plane.mean),
        gain_interval=(plane.scale * max(0.0, line.slope - spread), plane.scale * max(0.0, line.slope + spread)),
        correlation=plane_correlation(plane.pixels, valid) if len(statistics) >= MIN_PATCHES else None,
        estimated=True,
    )
    interval = _interval(noise.level, _variance_error(line, points, brightness))
    doubts = (line_doubt(line, points), correlation_doubt(noise.correlation))
    return Estimate(replace(noise, interval=interval), tuple(doubt for doubt in doubts if doubt is not None))


def _parameters(line: LevelLine, points: LevelPoints, offset: float | None, scale: float) -> tuple[float, float, float]:
    """Gain, offset and read noise in the units of the image, as `offset` is; the line is in units of `scale`."""
    if line.slope <= 0:
        typical = float(np.median(points.variance[points.variance > 0]))
        return 0.0, 0.0 if offset is None else offset, scale * math.sqrt(typical)
    gain = scale * line.slope
    if offset is not None:
        return gain, offset, scale * math.sqrt(max(line.intercept + line.slope * offset / scale, 0.0))
    if line.intercept >= 0:
        return gain, 0.0, scale * math.sqrt(line.intercept)
    return gain, -scale * line.intercept / line.slope, 0.0


def _slope_bias(line: LevelLine, points: LevelPoints) -> float:
    """How much texture in the bright or the dark patches only can change the slope."""
    levels = points.brightness[line.inliers]
    if levels.size < 2 or (span := float(np.ptp(levels))) == 0:
        return math.inf
    return TEXTURE_BIAS * float(line.variance(levels).max()) / span


def _variance_error(line: LevelLine, points: LevelPoints, brightness: float) -> float:
    """Relative standard error of the variance on the line at `brightness`; that of a single point without a slope."""
    expected = float(line.variance(brightness))
    if line.slope <= 0 or line.covariance is None or expected <= 0:
        return float(np.median(points.error))
    at = np.array([brightness, 1.0])
    return math.sqrt(max(0.0, float(at @ line.covariance @ at))) / expected


def _interval(level: float, variance_error: float) -> tuple[float, float]:
    """90 % interval of the level; texture can only have raised it."""
    low = 1 - TEXTURE_BIAS - CONFIDENT * variance_error
    return level * math.sqrt(max(0.0, low)), level * math.sqrt(1 + CONFIDENT * variance_error)
