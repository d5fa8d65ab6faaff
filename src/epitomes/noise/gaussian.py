"""The level of white Gaussian noise in one plane, with an interval and doubts."""

from __future__ import annotations

import math

import numpy as np

from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import MIN_PATCHES, NOISELESS, FlatPatches, flat_patches
from epitomes.noise.level_function import CONFIDENT, grows, growth_in_words
from epitomes.noise.model import Noise
from epitomes.noise.planes import Floats, Plane
from epitomes.noise.regions import noisier_region, region_doubt
from epitomes.noise.weak_texture import noise_floor

TEXTURE_BIAS = 0.03  # relative: texture that remains in flat patches raises the estimate by up to this
TEXTURED_SHARE = 0.02  # if a smaller share of patches agrees on the noise, texture is everywhere
ROUNDING_RATIO = 0.6  # noise below this share of a rounding step is mostly rounding
SAMPLE = 2**16  # pixels that show the rounding step


def estimate_gaussian(plane: Plane) -> Estimate:
    """Estimate the noise level of a plane."""
    found = flat_patches(plane)
    return nothing(found) if isinstance(found, Doubt) else gaussian_noise(found)


def gaussian_noise(found: FlatPatches) -> Estimate:
    """The noise level of the flattest patches, or of a region whose noise is larger."""
    statistics, scale = found.statistics, found.plane.scale
    if (floor := noise_floor(statistics)).variance == 0:
        return nothing(NOISELESS)
    doubts = list(found.doubts)
    if len(statistics) >= MIN_PATCHES:
        if grows(found.line, found.points):
            words = growth_in_words(found.line, found.points)
            text = f"The noise grows with brightness{words}: a Poisson-Gaussian model fits better."
            doubts.append(Doubt("growth", text))
        elif (regions := noisier_region(statistics, floor, found.plane.pixels.shape[1])) is not None:
            doubts.append(region_doubt(regions, floor, scale))
            floor = regions.noisier
        if floor.share < TEXTURED_SHARE:
            doubts.append(Doubt("texture", "Texture is everywhere: the noise may be weaker than estimated."))
        if (ratio := math.sqrt(floor.variance) / rounding_step(found.plane.pixels)) < ROUNDING_RATIO:
            text = f"The image is quantised: the noise is {ratio:.2f} of a rounding step, and mostly rounding."
            doubts.append(Doubt("quantised", text))
    sigma, error = scale * math.sqrt(floor.variance), floor.error / 2
    low = 0.0 if floor.share < TEXTURED_SHARE else max(0.0, sigma * (1 - CONFIDENT * error - TEXTURE_BIAS))
    noise = Noise(
        sigma=np.asarray(sigma),
        interval=(low, sigma * (1 + CONFIDENT * error)),
        correlation=found.correlation,
        estimated=True,
    )
    return Estimate(noise, tuple(doubts))


def nothing(doubt: Doubt) -> Estimate:
    """The estimate for a plane without noise."""
    return Estimate(Noise(interval=(0.0, 0.0), estimated=True), (doubt,))


def rounding_step(pixels: Floats) -> float:
    """The distance of neighbouring grey values if the image was rounded, otherwise nearly 0."""
    sample = pixels.ravel()[:: -(-pixels.size // SAMPLE)]
    values = np.unique(sample)
    rounded = 1 < len(values) < len(sample) / 8
    return float(np.diff(values).min()) if rounded else np.finfo(float).tiny
