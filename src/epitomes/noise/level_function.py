"""Noise level function: the variance of the noise against brightness, from flat patches, and the line through it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from epitomes.noise.doubts import Doubt
from epitomes.noise.patch_rows import Indices
from epitomes.noise.planes import Flags, Floats
from epitomes.noise.weak_texture import MIN_PATCHES, PatchStatistics, noise_floor

MAX_BINS = 24
PATCHES_PER_BIN = 1000  # at least
SYSTEMATIC_ERROR = 0.03  # relative error of a variance, from texture that remains in flat patches
OUTLIER = 2.5  # standard errors from the line
N_REFITS = 5  # least-squares fits to the inliers, which settle sooner
CONFIDENT = 1.645  # standard errors on either side of a 90 % interval
MIN_BINS = 4  # needed to trust a line
MIN_GROWTH = 2.5  # variance of the brightest over the darkest patches from which the slope is well determined
MAX_TEXTURE = 5.0  # energy of flat patches in the directions of texture over that of the noise, at most bins
MAX_UNEXPLAINED = 0.25  # share of the misfit of one level that a line must not leave, for the noise to grow
TWO_LEVELS = 1.25  # times the misfit of the line: two levels that misfit less explain the noise as well


@dataclass(frozen=True, eq=False)
class LevelPoints:
    """Noise variance at several levels of brightness."""

    brightness: Floats
    variance: Floats
    error: Floats  # standard error of the variance, relative to it
    texture: Floats  # energy in the strong directions of texture over that in the weak ones; 1 for noise alone


@dataclass(frozen=True, eq=False)
class LevelLine:
    """The line `variance = slope * brightness + intercept`."""

    slope: float
    intercept: float
    covariance: Floats | None  # of slope and intercept; None if the inliers do not determine the line
    inliers: Flags  # points that agree with the line

    @property
    def slope_error(self) -> float:
        """Standard error of the slope."""
        return math.inf if self.covariance is None else math.sqrt(float(self.covariance[0, 0]))

    def variance(self, brightness: Floats | float) -> Floats:
        return np.asarray(self.slope * np.asarray(brightness) + self.intercept)


def brightness_bins(statistics: PatchStatistics) -> Indices:
    """The bin of each patch. All bins hold equally many patches, so that each can have flat ones."""
    n_bins = min(MAX_BINS, max(1, len(statistics) // PATCHES_PER_BIN))
    edges = np.quantile(statistics.mean, np.linspace(0, 1, n_bins + 1)[1:-1])
    return np.searchsorted(edges, statistics.mean, side="right")


def level_points(statistics: PatchStatistics) -> LevelPoints:
    """One point per bin of brightness, dark ones first; bins with constant patches have none."""
    number = brightness_bins(statistics)
    rows = []
    for inside in (statistics.where(number == each) for each in np.unique(number)):
        floor = noise_floor(inside)
        if len(inside) >= min(MIN_PATCHES, len(statistics)) and floor.variance > 0:
            rows.append((floor.mean, floor.variance, math.hypot(floor.error, SYSTEMATIC_ERROR), floor.texture))
    return LevelPoints(*np.array(rows, np.float64).reshape(-1, 4).T)


def fit_line(points: LevelPoints) -> LevelLine:
    """The line that most points agree with: the best of all lines through two points or one, refined on its inliers."""
    candidates = [(0.0, float(value)) for value in points.variance]
    for first, second in combinations(range(len(points.brightness)), 2):
        if distance := points.brightness[second] - points.brightness[first]:
            slope = float((points.variance[second] - points.variance[first]) / distance)
            candidates.append((slope, float(points.variance[first] - slope * points.brightness[first])))
    slope, intercept = min(candidates, key=lambda line: _costs(_misfit(points, *line)).sum())
    for _ in range(N_REFITS):
        inliers = np.abs(_misfit(points, slope, intercept)) <= OUTLIER
        weight = inliers / (points.error * _expected(points, slope, intercept))
        A = np.stack([points.brightness * weight, weight], axis=1)
        if np.linalg.matrix_rank(A) < 2:
            return LevelLine(slope, intercept, None, inliers)
        slope, intercept = (float(value) for value in np.linalg.lstsq(A, points.variance * weight, rcond=None)[0])
    return LevelLine(slope, intercept, np.asarray(np.linalg.inv(A.T @ A), np.float64), inliers)


def grows(line: LevelLine, points: LevelPoints) -> bool:
    """Whether the noise grows with brightness: the line explains what neither one level nor two levels explain.

    Two levels are those of two regions, such as the air and the body of a scan. Texture raises the variance of some
    points, but hardly ever so that all points lie on a growing line.
    """
    n = len(points.brightness)
    if n < MIN_BINS or line.slope - CONFIDENT * line.slope_error <= 0 or np.median(points.texture) > MAX_TEXTURE:
        return False
    cost = float(_costs(_misfit(points, line.slope, line.intercept)).sum())
    of_level = np.stack([_costs(_misfit(points, 0.0, float(level))) for level in points.variance])  # (level, point)
    one = float(of_level.sum(axis=1).min())
    order = np.argsort(points.brightness)
    below = np.cumsum(of_level[:, order], axis=1)[:, :-1]
    two = float((below.min(axis=0) + (of_level.sum(axis=1)[:, None] - below).min(axis=0)).min())
    return one >= n and cost <= MAX_UNEXPLAINED * one and TWO_LEVELS * cost <= two


def growth(line: LevelLine, points: LevelPoints) -> float:
    """Variance of the brightest over that of the darkest inliers; 1 without inliers, infinite from zero variance."""
    levels = points.brightness[line.inliers]
    if not levels.size or (darkest := float(line.variance(levels.min()))) <= 0:
        return math.inf if levels.size and line.slope > 0 else 1.0
    return float(line.variance(levels.max())) / darkest


def growth_in_words(line: LevelLine, points: LevelPoints) -> str:
    """The growth in parentheses, or nothing where it is infinite."""
    times = growth(line, points)
    return f" ({times:.1f} times in variance)" if math.isfinite(times) else ""


def line_doubt(line: LevelLine, points: LevelPoints) -> Doubt | None:
    """Why the line may not be that of Poisson-Gaussian noise; None if it is."""
    n, agreeing = len(points.brightness), int(line.inliers.sum())
    if n < MIN_BINS:
        text = f"There are too few flat patches: they show {n} of the {MIN_BINS} levels of brightness that are needed."
        return Doubt("few levels", text)
    if 2 * agreeing < n:
        return Doubt("texture", f"Texture is everywhere: {agreeing} of {n} levels of brightness lie on the noise line.")
    if line.slope - CONFIDENT * line.slope_error <= 0:
        return Doubt("no growth", "The noise does not grow with brightness: a Gaussian model fits better.")
    if growth(line, points) < MIN_GROWTH:
        words = growth_in_words(line, points)
        return Doubt("narrow", f"Flat areas differ too little in brightness{words}: the gain is uncertain.")
    return None


def _expected(points: LevelPoints, slope: float, intercept: float) -> Floats:
    """Variances on the line; positive, so that relative errors keep their meaning."""
    least = max(1e-3 * float(np.max(points.variance)), np.finfo(float).tiny)
    return np.asarray(np.maximum(slope * points.brightness + intercept, least))


def _misfit(points: LevelPoints, slope: float, intercept: float) -> Floats:
    """Distances from the line in standard errors."""
    expected = _expected(points, slope, intercept)
    return np.asarray((points.variance - expected) / (points.error * expected))


def _costs(misfit: Floats) -> Floats:
    """Robust squares: texture can raise a variance and nothing lowers it, so only the cost above is capped."""
    above = np.minimum(np.maximum(misfit, 0.0), OUTLIER) ** 2
    below = np.maximum(-misfit, 0.0)
    return np.asarray(above + np.where(below > OUTLIER, OUTLIER * (2 * below - OUTLIER), below**2))
