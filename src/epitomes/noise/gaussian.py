"""The level of white Gaussian noise in one plane, with an interval and doubts."""

from __future__ import annotations

import math

import numpy as np

from epitomes.noise.combine import Estimate
from epitomes.noise.correlation import NoiseCorrelation, correlation_doubt, plane_correlation
from epitomes.noise.doubts import Doubt
from epitomes.noise.level_function import CONFIDENT, fit_line, growth_in_words, level_points, line_doubt
from epitomes.noise.model import Noise
from epitomes.noise.patch_rows import WIDTH
from epitomes.noise.planes import Floats, Plane
from epitomes.noise.valid_pixels import clipped_pixels, constant_pixels
from epitomes.noise.weak_texture import PatchStatistics, noise_floor, patch_statistics

TEXTURE_BIAS = 0.03  # relative: texture that remains in flat patches raises the estimate by up to this
TEXTURED_SHARE = 0.02  # if a smaller share of patches agrees on the noise, texture is everywhere
MIN_PATCHES = 1000  # with fewer, the image is tiny
MAX_CLIPPED = 0.1  # share of clipped pixels from which the others are not trusted
CLIPPING_MARGIN = 3.0  # standard deviations from a limit within which noise is cut off
DRAWING_SHARE = 0.5  # share of constant pixels from which an image without other valid pixels is a drawing
MIN_VALID_SHARE = 0.01  # share of the patches that must remain without clipped and constant pixels
ROUNDING_RATIO = 0.6  # noise below this share of a rounding step is mostly rounding
SAMPLE = 2**16  # pixels that show the rounding step

CONSTANT = Doubt("constant", "The image is constant: it holds no noise.")
NOISELESS = Doubt("noiseless", "Flat areas of the image hold no noise at all, as in drawings.")


def estimate_gaussian(plane: Plane) -> Estimate:
    """Estimate the noise level of a plane."""
    if plane.scale == 0:
        return nothing(CONSTANT)
    limits, clipped = clipped_pixels(plane.pixels)
    constant = constant_pixels(plane.pixels)
    valid = ~(clipped | constant)
    statistics = _away_from(limits, patch_statistics(plane.pixels, valid))
    if too_few := len(statistics) < min(MIN_PATCHES, MIN_VALID_SHARE * plane.pixels.size):
        if constant.mean() > DRAWING_SHARE:
            return nothing(NOISELESS)
        valid = np.ones_like(valid)
        statistics = patch_statistics(plane.pixels, valid)
    if (floor := noise_floor(statistics)).variance == 0:
        return nothing(NOISELESS)
    sigma, error = math.sqrt(floor.variance), floor.error / 2
    tiny = len(statistics) < MIN_PATCHES
    correlation = None if tiny else plane_correlation(plane.pixels, valid)
    doubts = []
    if clipped.mean() > MAX_CLIPPED or (too_few and limits):
        text = f"{clipped.mean():.0%} of the pixels are clipped at the lowest or highest value: noise is cut off there."
        doubts.append(Doubt("clipped", text))
    if tiny or correlation is None:
        text = f"The image is tiny: {len(statistics)} patches of {WIDTH} x {WIDTH} pixels are too few."
        doubts.append(Doubt("tiny", text))
    else:
        doubts += _doubts(plane.pixels, statistics, sigma, floor.share, correlation)
    low = 0.0 if floor.share < TEXTURED_SHARE else max(0.0, sigma * (1 - CONFIDENT * error - TEXTURE_BIAS))
    level, *interval = (value * plane.scale for value in (sigma, low, sigma * (1 + CONFIDENT * error)))
    noise = Noise(sigma=np.asarray(level), interval=(interval[0], interval[1]), correlation=correlation, estimated=True)
    return Estimate(noise, tuple(doubts))


def nothing(doubt: Doubt) -> Estimate:
    """The estimate for a plane without noise."""
    return Estimate(Noise(interval=(0.0, 0.0), estimated=True), (doubt,))


def _away_from(limits: list[float], statistics: PatchStatistics) -> PatchStatistics:
    """Patches whose noise is complete: near a limit half of it is cut off, and looks like little noise."""
    for _ in range(3 if limits else 0):
        margin = CLIPPING_MARGIN * math.sqrt(noise_floor(statistics).variance) if len(statistics) else 0.0
        inside = np.all([np.abs(statistics.mean - limit) > margin for limit in limits], axis=0)
        if inside.sum() < MIN_PATCHES:
            break
        statistics = statistics.where(inside)
    return statistics


def _doubts(
    pixels: Floats, statistics: PatchStatistics, sigma: float, share: float, correlation: NoiseCorrelation
) -> list[Doubt]:
    doubts = []
    if share < TEXTURED_SHARE:
        doubts.append(Doubt("texture", "Texture is everywhere: the noise may be weaker than estimated."))
    if sigma < ROUNDING_RATIO * (step := _rounding_step(pixels)):
        text = f"The image is quantised: the noise is {sigma / step:.2f} of a rounding step, and mostly rounding."
        doubts.append(Doubt("quantised", text))
    if (doubt := correlation_doubt(correlation)) is not None:
        doubts.append(doubt)
    points = level_points(statistics)
    line = fit_line(points)
    if line_doubt(line, points) is None:
        words = growth_in_words(line, points)
        text = f"The noise grows with brightness{words}: a Poisson-Gaussian model fits better."
        doubts.append(Doubt("growth", text))
    return doubts


def _rounding_step(pixels: Floats) -> float:
    """The distance of neighbouring grey values if the image was rounded, otherwise 0."""
    sample = pixels.ravel()[:: -(-pixels.size // SAMPLE)]
    values = np.unique(sample)
    return float(np.diff(values).min()) if 1 < len(values) < len(sample) / 8 else 0.0
