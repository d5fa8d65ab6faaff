"""The noise level function: a line through variances that ignores texture."""

from __future__ import annotations

import math

import numpy as np
import pytest

from epitomes.noise.level_function import LevelLine, LevelPoints, fit_line, growth, growth_in_words, line_doubt


def points(slope: float, intercept: float, rng: np.random.Generator, n: int = 24) -> LevelPoints:
    brightness = np.linspace(10, 100, n)
    variance = (slope * brightness + intercept) * (1 + 0.03 * rng.standard_normal(n))
    return LevelPoints(brightness, variance, np.full(n, 0.05))


def test_texture_is_ignored(rng: np.random.Generator) -> None:
    """A third of the points far above the line, where texture is; least squares would follow them."""
    found = points(2.0, 30.0, rng)
    found.variance[rng.permutation(24)[:8]] *= 3
    line = fit_line(found)
    assert line.slope == pytest.approx(2.0, rel=0.05)
    assert line.intercept == pytest.approx(30.0, abs=5)
    assert line.inliers.sum() == 16
    assert growth(line, found) == pytest.approx(4.6, rel=0.15)
    assert line_doubt(line, found) is None


@pytest.mark.slow
def test_the_covariance_is_that_of_least_squares(rng: np.random.Generator) -> None:
    """Slopes and intercepts of many simulated lines scatter as the covariance of one of them says."""
    lines = [fit_line(points(2.0, 30.0, np.random.default_rng(seed))) for seed in range(300)]
    scatter = np.cov([(line.slope, line.intercept) for line in lines], rowvar=False)
    predicted = lines[0].covariance
    assert predicted is not None
    np.testing.assert_allclose(np.sqrt(np.diag(predicted)), np.sqrt(np.diag(scatter)) * 0.05 / 0.03, rtol=0.2)
    assert lines[0].slope_error == math.sqrt(predicted[0, 0])


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (LevelPoints(np.arange(3.0), np.ones(3), np.full(3, 0.05)), "few levels"),
        (LevelPoints(np.arange(8.0), np.full(8, 3.0), np.full(8, 0.05)), "no growth"),
        (LevelPoints(np.arange(8.0), np.linspace(10, 14, 8), np.full(8, 0.01)), "narrow"),
        (LevelPoints(np.arange(8.0), 4.0 ** np.arange(8), np.full(8, 0.01)), "texture"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_doubts(found: LevelPoints, kind: str) -> None:
    doubt = line_doubt(fit_line(found), found)
    assert doubt is not None and doubt.kind == kind


def test_growth_from_nothing_is_not_a_number_of_times() -> None:
    found = LevelPoints(np.arange(6.0), 2.0 * np.arange(6.0), np.full(6, 0.05))
    line = LevelLine(2.0, 0.0, None, np.ones(6, bool))
    assert math.isinf(growth(line, found)) and growth_in_words(line, found) == ""
    line = LevelLine(2.0, 2.0, None, np.ones(6, bool))
    assert growth(line, found) == 6.0 and growth_in_words(line, found) == " (6.0 times in variance)"
