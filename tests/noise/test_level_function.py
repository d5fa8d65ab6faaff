"""The noise level function: a line through variances that ignores texture."""

from __future__ import annotations

import math

import numpy as np
import pytest

from epitomes.noise.level_function import (
    LevelLine,
    LevelPoints,
    fit_line,
    grows,
    growth,
    growth_in_words,
    line_doubt,
)


def of(brightness: np.ndarray, variance: np.ndarray, error: float, texture: float = 1.0) -> LevelPoints:
    return LevelPoints(brightness, variance, np.full(len(variance), error), np.full(len(variance), texture))


def points(slope: float, intercept: float, rng: np.random.Generator, n: int = 24) -> LevelPoints:
    brightness = np.linspace(10, 100, n)
    variance = (slope * brightness + intercept) * (1 + 0.03 * rng.standard_normal(n))
    return of(brightness, variance, 0.05)


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
        (of(np.arange(3.0), np.ones(3), 0.05), "few levels"),
        (of(np.arange(8.0), np.full(8, 3.0), 0.05), "no growth"),
        (of(np.arange(8.0), np.linspace(10, 14, 8), 0.01), "narrow"),
        (of(np.arange(8.0), 4.0 ** np.arange(8), 0.01), "texture"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_doubts(found: LevelPoints, kind: str) -> None:
    doubt = line_doubt(fit_line(found), found)
    assert doubt is not None and doubt.kind == kind


def test_growth_from_nothing_is_not_a_number_of_times() -> None:
    found = of(np.arange(6.0), 2.0 * np.arange(6.0), 0.05)
    line = LevelLine(2.0, 0.0, None, np.ones(6, bool))
    assert math.isinf(growth(line, found)) and growth_in_words(line, found) == ""
    line = LevelLine(2.0, 2.0, None, np.ones(6, bool))
    assert growth(line, found) == 6.0 and growth_in_words(line, found) == " (6.0 times in variance)"


class TestGrows:
    @staticmethod
    def test_a_line(rng: np.random.Generator) -> None:
        """Even a narrow range of brightness is enough, if the points lie on the line."""
        for found in (points(2.0, 30.0, rng), points(1.0, 60.0, rng)):
            assert grows(fit_line(found), found)

    @staticmethod
    def test_one_level(rng: np.random.Generator) -> None:
        """Also if texture raises half of the points, more so where it is bright."""
        found = points(0.0, 50.0, rng)
        assert not grows(fit_line(found), found)
        found.variance[12:] *= np.linspace(1, 3, 12) * (1 + 0.5 * rng.random(12))
        assert not grows(fit_line(found), found)

    @staticmethod
    def test_two_levels(rng: np.random.Generator) -> None:
        """A line passes through both, but as they explain the noise as well, it is that of two regions."""
        brightness = np.concatenate([np.linspace(0, 1, 6), np.linspace(50, 51, 18)])
        variance = np.where(brightness < 10, 9.0, 50.0) * (1 + 0.03 * rng.standard_normal(24))
        found = of(brightness, variance, 0.05)
        line = fit_line(found)
        assert line_doubt(line, found) is None
        assert not grows(line, found)

    @staticmethod
    def test_texture_is_not_noise(rng: np.random.Generator) -> None:
        found = points(2.0, 30.0, rng)
        textured = of(found.brightness, found.variance, 0.05, texture=8.0)
        assert grows(fit_line(found), found) and not grows(fit_line(textured), textured)

    @staticmethod
    def test_few_points(rng: np.random.Generator) -> None:
        found = points(2.0, 30.0, rng, n=3)
        assert not grows(fit_line(found), found)
