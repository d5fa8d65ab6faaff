"""Rician noise of one plane: its level, and whether the air of an MR image shows it.

The level is that for which the transformed image has noise of level 1 (Foi, 2011). Air holds no signal, and its
magnitudes have a Rayleigh distribution, which their quantiles show. Counted light can be as skewed, but its noise grows
with brightness. Rician noise has the level of its air, divided by 0.66, wherever there is signal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from epitomes.noise import _rician
from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import FlatPatches
from epitomes.noise.gaussian import estimate_gaussian, rounding_step
from epitomes.noise.planes import Floats, Plane, standardise

SIDE = 8  # pixels of the blocks among which air is looked for
DARKEST = 0.02  # share of the blocks, from which the brightness of air is guessed
AIR_RANGE = 1.3  # times that brightness: block means of air
MIN_AIR = 0.05  # share of the image
MIN_BLOCKS = 24
SHARES = np.array([0.1, 0.25, 0.75, 0.9])  # quantiles: the borders of a body, which are among air, hardly change them
RAYLEIGH_MEDIAN = math.sqrt(2 * math.log(2))  # in sigma
RAYLEIGH = np.sqrt(-2 * np.log(1 - SHARES)) / RAYLEIGH_MEDIAN
RAYLEIGH_ERROR = 0.06  # relative error of quantiles that still count as Rayleigh
AIR_ERROR = 0.03  # relative, of a level that air shows
GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples fill an interval evenly
SIGNAL = 4.0  # sigma from which magnitudes are nearly Gaussian
SIGNAL_VARIANCE = (0.6, 1.5)  # of flat patches with signal, over sigma^2
MIN_POINTS = 3  # levels of brightness with signal
MAX_STEPS = 10
SETTLED = 0.003  # relative change of the level

NEGATIVE = Doubt("rician", "The image has negative values, and magnitudes have none: Rician noise is unlikely.")


@dataclass(frozen=True)
class Air:
    """Dark areas whose values are distributed as magnitudes without signal."""

    sigma: float
    share: float  # of the image


def estimate_rician(plane: Plane) -> Estimate:
    """Estimate the level of Rician noise: that of its air or, without air, the one that makes transformed noise 1."""
    plain = estimate_gaussian(plane)
    if plain.noise.level == 0:
        return plain
    image = plane.scale * plane.pixels + plane.mean
    air = air_of(image)
    sigma = plain.noise.level if air is None else air.sigma
    for _ in range(MAX_STEPS):
        found = estimate_gaussian(standardise(_rician.forward(image, np.asarray(sigma))))
        level, interval = found.noise.level, found.noise.interval
        if air is not None or level == 0 or abs(level - 1) < SETTLED:
            break
        sigma *= level
    spread = (1 - AIR_ERROR, 1 + AIR_ERROR) if air is not None or interval is None else interval
    noise = replace(found.noise, sigma=np.asarray(sigma), interval=(sigma * spread[0], sigma * spread[1]))
    doubts = found.doubts if image.min() >= 0 else (NEGATIVE, *found.doubts)
    return Estimate(replace(noise, magnitude=True), doubts)


def shows_rician(found: FlatPatches) -> bool | Doubt:
    """Whether air and signal both show Rician noise; a doubt if the air alone does."""
    plane = found.plane
    air = air_of(plane.scale * plane.pixels + plane.mean)
    if air is None:
        return False
    brightness = plane.scale * found.points.brightness + plane.mean
    bright = plane.scale**2 * found.points.variance[brightness > SIGNAL * air.sigma] / air.sigma**2
    if bright.size >= MIN_POINTS and SIGNAL_VARIANCE[0] <= float(np.median(bright)) <= SIGNAL_VARIANCE[1]:
        return True
    text = f"Dark areas ({air.share:.0%} of the image) are distributed as the air of magnitude MR images"
    return Doubt("rician", f"{text}: if this is one, its noise is Rician.")


def air_of(image: Floats) -> Air | None:
    """The air of a magnitude image; None if it has none."""
    if image.min() < 0 or min(image.shape) < 2 * SIDE:
        return None
    down, across = (side // SIDE for side in image.shape)
    cut = image[: down * SIDE, : across * SIDE].reshape(down, SIDE, across, SIDE)
    blocks = cut.swapaxes(1, 2).reshape(-1, SIDE**2)
    blocks = blocks[(blocks > 0).mean(axis=1) > 0.9]  # masked areas are 0
    if len(blocks) < MIN_BLOCKS:
        return None
    means = blocks.mean(axis=1)
    darkest = float(np.quantile(means, DARKEST))
    dark = blocks[means < AIR_RANGE * darkest]
    share = dark.size / image.size
    if share < MIN_AIR or len(dark) < MIN_BLOCKS or darkest == 0:
        return None
    spread = np.modf(np.arange(dark.size) * GOLDEN)[0] - 0.5  # over the step of whole numbers, whose quantiles jump
    dark = dark.ravel() + rounding_step(dark) * spread
    median = float(np.median(dark))
    found = np.quantile(dark, SHARES) / median
    return Air(median / RAYLEIGH_MEDIAN, share) if np.abs(found / RAYLEIGH - 1).max() < RAYLEIGH_ERROR else None
