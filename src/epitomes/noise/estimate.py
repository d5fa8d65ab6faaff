"""estimate_noise: the standard deviation of white noise, from one image, with an interval and a word of doubt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from epitomes.noise.brightness import line, points
from epitomes.noise.correlation import correlation_of
from epitomes.noise.door import Flags, Floats, Plane, planes
from epitomes.noise.poisson import doubt, growth
from epitomes.noise.usable import limits, without_noise
from epitomes.noise.weak import Floor, Measured, floor, measured
from epitomes.noise.windows import WIDTH

CONFIDENT = 1.645  # standard errors on either side: 90 %
LEFT_OVER = 0.03  # of sigma: texture in flat patches lifts the estimate by up to so much
TEXTURED = 0.02  # if a smaller share of the patches agrees on the noise, texture is everywhere
FEW = 1000  # patches: fewer make a tiny image
CUT_OFF = 0.1  # share of pixels at a limit from which the rest is not trusted
MARGIN = 3.0  # sigmas: noise that near a limit is cut off
DRAWN = 0.5  # share of pixels that equal all their neighbours, if nothing else is left
LEFT = 0.01  # share of the image that must remain when limits and areas without noise are left out
ROUGH = 0.6  # of a rounding step: below it, noise is mostly rounding
SAMPLE = 2**16  # pixels that show the rounding step


@dataclass(frozen=True)
class NoiseEstimate:
    """The noise level in the units of the image, and whether to believe it."""

    sigma: float
    low: float  # 90 % interval; 0 where texture hides the noise and only a bound from above is known
    high: float
    reliable: bool
    reason: str  # why not; empty if reliable
    channels: tuple[NoiseEstimate, ...] = ()  # of a colour image, one each; then sigma is their root mean square


def estimate_noise(image: ArrayLike, *, channel_axis: int | None = None) -> NoiseEstimate:
    """Standard deviation of the white noise in an image of any real dtype and scale.

    The noise is all that flat places hold: what the camera made before you got the image counts, too. Each channel of a
    colour image is looked at alone. Large images are sampled, always alike; memory is a few copies of the image.
    """
    found = tuple(_estimate(plane) for plane in planes(image, channel_axis, least=WIDTH))
    if channel_axis is None:
        return found[0]
    sigma, low, high = (
        math.hypot(*values) / math.sqrt(len(found)) for values in zip(*map(_numbers, found), strict=True)
    )
    reason = "; ".join(f"channel {place}: {one.reason}" for place, one in enumerate(found) if one.reason)
    return NoiseEstimate(sigma, low, high, not reason, reason, found)


def _numbers(one: NoiseEstimate) -> tuple[float, float, float]:
    return one.sigma, one.low, one.high


def _estimate(plane: Plane) -> NoiseEstimate:
    if plane.scale == 0:
        return NoiseEstimate(0.0, 0.0, 0.0, False, "the image is constant")
    ends, at_end = limits(plane.pixels)
    drawn = without_noise(plane.pixels)
    usable = ~(at_end | drawn)
    found = _clear_of(ends, measured(plane.pixels, usable))
    nothing = NoiseEstimate(0.0, 0.0, 0.0, False, "flat areas of the image hold no noise at all")
    if left_out := len(found) < min(FEW, LEFT * plane.pixels.size):
        if drawn.mean() > DRAWN:
            return nothing
        usable = np.ones_like(usable)
        found = measured(plane.pixels, usable)
    if (low := floor(found)).variance == 0:
        return nothing
    sigma, error = math.sqrt(low.variance), low.error / 2
    doubts = _doubts(plane.pixels, usable, found, low)
    if at_end.mean() > CUT_OFF or (left_out and ends):
        doubts.insert(0, f"clipped: {at_end.mean():.0%} of the pixels have the lowest or highest value")
    below = 0.0 if low.share < TEXTURED else max(0.0, sigma * (1 - CONFIDENT * error - LEFT_OVER))
    bounds = (sigma * plane.scale, below * plane.scale, sigma * (1 + CONFIDENT * error) * plane.scale)
    return NoiseEstimate(*bounds, not doubts, "; ".join(doubts))


def _clear_of(ends: list[float], found: Measured) -> Measured:
    """Patches whose noise is whole: near a limit half of it is cut off, and looks like little noise."""
    for _ in range(3 if ends else 0):
        margin = MARGIN * math.sqrt(floor(found).variance) if len(found) else 0.0
        inside = np.all([np.abs(found.level - end) > margin for end in ends], axis=0)
        if inside.sum() < FEW:
            break
        found = found.where(inside)
    return found


def _doubts(pixels: Floats, usable: Flags, found: Measured, low: Floor) -> list[str]:
    doubts, sigma = [], math.sqrt(low.variance)
    if len(found) < FEW:
        return [f"tiny: {len(found)} patches of {WIDTH} x {WIDTH} pixels are too few"]
    if low.share < TEXTURED:
        doubts.append("texture is everywhere: the noise may be less")
    if sigma < ROUGH * (step := _step(pixels)):
        doubts.append(f"quantised: the noise is {sigma / step:.2f} of a rounding step, and rounding is most of it")
    if warning := correlation_of(pixels, usable).warning:
        doubts.append(warning)
    bins = points(found)
    if not doubt(fit := line(bins), bins):
        times = growth(fit, bins)
        doubts.append(f"the noise grows with brightness, {times:.1f} times in variance: see fit_poisson_gaussian")
    return doubts


def _step(pixels: Floats) -> float:
    """The distance of neighbouring grey values if the image was rounded, else 0."""
    sample = pixels.ravel()[:: -(-pixels.size // SAMPLE)]
    values = np.unique(sample)
    return float(np.diff(values).min()) if 1 < len(values) < len(sample) / 8 else 0.0
