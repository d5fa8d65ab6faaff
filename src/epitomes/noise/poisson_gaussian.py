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
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import FlatPatches, flat_patches
from epitomes.noise.gaussian import nothing
from epitomes.noise.level_function import CONFIDENT, LevelLine, LevelPoints, line_doubt
from epitomes.noise.model import Noise
from epitomes.noise.planes import Plane

TEXTURE_BIAS = 0.06  # relative: texture in flat patches raises a variance by up to this, at any level of brightness


def estimate_poisson_gaussian(plane: Plane, offset: float | None) -> Estimate:
    """Estimate gain, offset and read noise of a plane; gain 0 where the noise does not grow with brightness."""
    found = flat_patches(plane)
    if isinstance(found, Doubt):
        return nothing(found)
    estimate = poisson_gaussian_noise(found, offset)
    doubt = line_doubt(found.line, found.points)
    return estimate if doubt is None else replace(estimate, doubts=(doubt, *estimate.doubts))


def poisson_gaussian_noise(found: FlatPatches, offset: float | None = None) -> Estimate:
    """The parameters of the noise line, without doubts about the line itself."""
    line, points, scale = found.line, found.points, found.plane.scale
    gain, zero, sigma = _parameters(line, points, offset, found.plane)
    spread = CONFIDENT * line.slope_error + _slope_bias(line, points)
    noise = Noise(
        gain=np.asarray(gain),
        offset=np.asarray(zero),
        sigma=np.asarray(sigma),
        brightness=np.asarray(found.plane.mean),
        gain_interval=(scale * max(0.0, line.slope - spread), scale * max(0.0, line.slope + spread)),
        correlation=found.correlation,
        estimated=True,
    )
    interval = _interval(noise.level, _mean_variance_error(line, points))
    return Estimate(replace(noise, interval=interval), found.doubts)


def _parameters(line: LevelLine, points: LevelPoints, offset: float | None, plane: Plane) -> tuple[float, float, float]:
    """Gain, offset and read noise in the units of the image, as `offset` is; the line is in those of the plane."""
    scale = plane.scale
    if line.slope <= 0:
        typical = float(np.median(points.variance))
        return 0.0, 0.0 if offset is None else offset, scale * math.sqrt(typical)
    gain, intercept = scale * line.slope, line.intercept - line.slope * plane.mean / scale
    if offset is not None:
        return gain, offset, scale * math.sqrt(max(intercept + line.slope * offset / scale, 0.0))
    if intercept >= 0:
        return gain, 0.0, scale * math.sqrt(intercept)
    return gain, -scale * intercept / line.slope, 0.0


def _slope_bias(line: LevelLine, points: LevelPoints) -> float:
    """How much texture in the bright or the dark patches only can change the slope."""
    levels = points.brightness[line.inliers]
    if levels.size < 2 or (span := float(np.ptp(levels))) == 0:
        return math.inf
    return TEXTURE_BIAS * float(line.variance(levels).max()) / span


def _mean_variance_error(line: LevelLine, points: LevelPoints) -> float:
    """Relative standard error of the variance on the line at the mean of the plane; of one point without a slope."""
    if line.slope <= 0 or line.covariance is None or line.intercept <= 0:
        return float(np.median(points.error))
    return math.sqrt(max(0.0, float(line.covariance[1, 1]))) / line.intercept


def _interval(level: float, variance_error: float) -> tuple[float, float]:
    """90 % interval of the level; texture can only have raised it."""
    low = 1 - TEXTURE_BIAS - CONFIDENT * variance_error
    return level * math.sqrt(max(0.0, low)), level * math.sqrt(1 + CONFIDENT * variance_error)
