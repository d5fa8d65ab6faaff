"""What the flat patches of a plane show: their noise at each level of brightness, from which either model is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from epitomes.noise.correlation import NoiseCorrelation, correlation_doubt, plane_correlation
from epitomes.noise.doubts import Doubt
from epitomes.noise.level_function import LevelLine, LevelPoints, fit_line, level_points
from epitomes.noise.patch_rows import WIDTH
from epitomes.noise.planes import Flags, Floats, Plane
from epitomes.noise.valid_pixels import clipped_pixels, constant_pixels
from epitomes.noise.weak_texture import PatchStatistics, noise_floor, patch_statistics

MIN_PATCHES = 1000  # with fewer, the image is tiny
MAX_CLIPPED = 0.1  # share of clipped pixels from which the others are not trusted
CLIPPING_MARGIN = 3.0  # standard deviations from a limit within which noise is cut off
NEAR_SHARE = 0.25  # share of patches, the nearest to a limit, whose noise is that at the limit
DRAWING_SHARE = 0.5  # share of constant pixels from which an image without other valid pixels is a drawing
MIN_VALID_SHARE = 0.01  # share of the patches that must remain without clipped and constant pixels

CONSTANT = Doubt("constant", "The image is constant: it holds no noise.")
NOISELESS = Doubt("noiseless", "Flat areas of the image hold no noise at all, as in drawings.")


@dataclass(frozen=True, eq=False)
class FlatPatches:
    """Measurements of a plane, in its units of mean 0 and standard deviation 1."""

    plane: Plane
    statistics: PatchStatistics
    points: LevelPoints
    line: LevelLine
    correlation: NoiseCorrelation | None  # None if the plane is tiny
    doubts: tuple[Doubt, ...]  # about the plane, whatever the model


def flat_patches(plane: Plane) -> FlatPatches | Doubt:
    """Measure a plane; a doubt says why it holds no noise."""
    if plane.scale == 0:
        return CONSTANT
    limits, clipped = clipped_pixels(plane.pixels)
    constant = constant_pixels(plane.pixels)
    valid = ~(clipped | (constant & ~_dark_counts(plane.pixels, limits)))
    statistics = _away_from(limits, patch_statistics(plane.pixels, valid))
    if too_few := len(statistics) < min(MIN_PATCHES, MIN_VALID_SHARE * plane.pixels.size):
        if constant.mean() > DRAWING_SHARE:
            return NOISELESS
        valid = np.ones_like(valid)
        statistics = patch_statistics(plane.pixels, valid)
    points = level_points(statistics)
    if not points.variance.size:
        return NOISELESS
    tiny = len(statistics) < MIN_PATCHES
    correlation = None if tiny else plane_correlation(plane.pixels, valid)
    doubts = []
    if clipped.mean() > MAX_CLIPPED or (too_few and limits):
        text = f"{clipped.mean():.0%} of the pixels are clipped at the lowest or highest value: noise is cut off there."
        doubts.append(Doubt("clipped", text))
    if tiny:
        text = f"The image is tiny: {len(statistics)} patches of {WIDTH} x {WIDTH} pixels are too few."
        doubts.append(Doubt("tiny", text))
    if (doubt := correlation_doubt(correlation)) is not None:
        doubts.append(doubt)
    return FlatPatches(plane, statistics, points, fit_line(points), correlation, tuple(doubts))


def _dark_counts(pixels: Floats, limits: list[float]) -> Flags:
    """Pixels without a single count: many equal ones side by side are noise, unless the image is clipped there."""
    darkest = float(pixels.min())
    return np.zeros(pixels.shape, np.bool_) if darkest in limits else pixels == darkest


def _away_from(limits: list[float], statistics: PatchStatistics) -> PatchStatistics:
    """Patches whose noise is complete: near a limit half of it is cut off, and looks like little noise."""
    for _ in range(3 if limits else 0):
        inside = np.ones(len(statistics), np.bool_)
        for limit in limits if len(statistics) else []:
            distance = np.abs(statistics.mean - limit)
            near = statistics.where(distance <= np.quantile(distance, NEAR_SHARE))
            inside &= distance > CLIPPING_MARGIN * math.sqrt(noise_floor(near).variance)
        if inside.sum() < MIN_PATCHES:
            break
        statistics = statistics.where(inside)
    return statistics
