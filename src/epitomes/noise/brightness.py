"""Noise against brightness: variances of flat patches in bins of like brightness, and the line through them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from epitomes.noise.door import Flags, Floats
from epitomes.noise.weak import FEWEST, Measured, floor

BINS = 24  # at most
PER_BIN = 1000  # patches, at least
SYSTEMATIC = 0.03  # relative error of a variance: texture that is left in flat patches
OUTLIER = 2.5  # standard errors
ROUNDS = 5  # of least squares: who agrees settles sooner


@dataclass(frozen=True, eq=False)
class Points:
    level: Floats  # brightness of flat patches, bin by bin
    variance: Floats  # of their noise
    error: Floats  # of the variance, relative


@dataclass(frozen=True, eq=False)
class Line:
    """`variance = slope * level + at_zero`."""

    slope: float
    at_zero: float
    error: float  # standard error of the slope; infinite if fewer than two levels agree
    agree: Flags  # which points lie on it

    def variance(self, level: Floats | float) -> Floats:
        return np.asarray(self.slope * np.asarray(level) + self.at_zero)


def points(found: Measured) -> Points:
    """One point per bin. Bins hold equally many patches, so that each can have flat ones."""
    count = min(BINS, max(1, len(found) // PER_BIN))
    edges = np.quantile(found.level, np.linspace(0, 1, count + 1)[1:-1])
    number = np.searchsorted(edges, found.level, side="right")
    rows = []
    for inside in (found.where(number == place) for place in range(count)):
        if len(inside) >= FEWEST:  # equal levels can leave a bin empty
            low = floor(inside)
            rows.append((low.level, low.variance, math.hypot(low.error, SYSTEMATIC)))
    return Points(*np.array(rows, np.float64).reshape(-1, 3).T)


def line(given: Points) -> Line:
    """The line that most points agree with: the best through two points or level with one, then least squares."""
    through = [(0.0, float(value)) for value in given.variance]
    for first, second in combinations(range(len(given.level)), 2):
        if distance := given.level[second] - given.level[first]:
            slope = float((given.variance[second] - given.variance[first]) / distance)
            through.append((slope, float(given.variance[first] - slope * given.level[first])))
    slope, at_zero = min(through, key=lambda one: _cost(_misfit(given, *one)))
    for _ in range(ROUNDS):
        agree = np.abs(_misfit(given, slope, at_zero)) <= OUTLIER
        weight = agree / (given.error * _expected(given, slope, at_zero))
        A = np.stack([given.level * weight, weight], axis=1)
        if np.linalg.matrix_rank(A) < 2:
            return Line(slope, at_zero, math.inf, agree)
        slope, at_zero = (float(value) for value in np.linalg.lstsq(A, given.variance * weight, rcond=None)[0])
    return Line(slope, at_zero, math.sqrt(float(np.linalg.inv(A.T @ A)[0, 0])), agree)


def _expected(given: Points, slope: float, at_zero: float) -> Floats:
    """Variances on the line; positive, so that relative errors keep their meaning."""
    least = max(1e-3 * float(np.max(given.variance)), np.finfo(float).tiny)
    return np.asarray(np.maximum(slope * given.level + at_zero, least))


def _misfit(given: Points, slope: float, at_zero: float) -> Floats:
    expected = _expected(given, slope, at_zero)
    return np.asarray((given.variance - expected) / (given.error * expected))


def _cost(misfit: Floats) -> float:
    """Squares, but texture lifts a variance and nothing lowers it: far above the line costs no more, below it does."""
    above = np.minimum(np.maximum(misfit, 0.0), OUTLIER) ** 2
    below = np.maximum(-misfit, 0.0)
    return float(np.sum(above + np.where(below > OUTLIER, OUTLIER * (2 * below - OUTLIER), below**2)))
