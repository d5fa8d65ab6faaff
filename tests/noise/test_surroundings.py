"""The median and the spread of surroundings, against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from epitomes.noise import surroundings


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_the_network_sorts(n: int) -> None:
    """A network that sorts all rows of zeros and ones sorts everything (Knuth's principle)."""
    columns = list(np.array(list(itertools.product([0.0, 1.0], repeat=n))).T)
    np.testing.assert_array_equal(surroundings.ranked(columns), np.sort(columns, axis=0))


@pytest.mark.parametrize("shape", [(8, 9), (40, 500), (3, 2**15)])
def test_bands_together_are_the_plane(shape: tuple[int, int], rng: np.random.Generator) -> None:
    plane = rng.integers(0, 50, shape)
    mirrored = np.pad(plane, 2, mode="reflect").astype(float)
    around = np.sort(
        [
            mirrored[2 + i : 2 + i + shape[0], 2 + j : 2 + j + shape[1]]
            for step in (1, 2)
            for i in (-step, 0, step)
            for j in (-step, 0, step)
            if (i, j) != (0, 0)
        ],
        axis=0,
    )
    firsts = surroundings.bands(plane)
    found = [surroundings.surroundings(surroundings.padded_band(plane, first)) for first in firsts]
    median, spread = (np.concatenate(parts) for parts in zip(*found, strict=True))
    np.testing.assert_array_equal(median, np.median(around, axis=0))
    np.testing.assert_allclose(spread, (around[11] - around[4]) / surroundings.QUARTILES)
    assert len(firsts) > 1 or plane.size < surroundings.BAND


def test_the_spread_of_white_noise_is_its_standard_deviation(rng: np.random.Generator) -> None:
    spread = surroundings.surroundings(3 * rng.standard_normal((300, 300)))[1]
    assert spread.mean() == pytest.approx(3, rel=0.02)


def test_the_level_depends_on_brightness(rng: np.random.Generator) -> None:
    """Dark lines of little noise, bright ones of more: the unit of distances follows."""
    sigma = np.repeat([[1.0], [5.0]], 150, axis=0)
    plane = 100 * sigma + sigma * rng.standard_normal((300, 300))
    centre, unit = surroundings.Level.of(plane, 1e-9).measure(np.pad(plane, surroundings.MARGIN, mode="reflect"))
    np.testing.assert_allclose(centre, 100 * sigma + 0 * centre, atol=25)
    assert np.median(unit[:140]) == pytest.approx(1, rel=0.15) and np.median(unit[160:]) == pytest.approx(5, rel=0.15)


def test_the_unit_is_never_less_than_a_step() -> None:
    """Where hardly any light is counted, most surroundings have no spread."""
    counts = np.random.default_rng(0).poisson(0.02, (64, 64)) * 0.25
    level = surroundings.Level.of(counts, surroundings.smallest_step(counts))
    assert level.measure(np.pad(counts, surroundings.MARGIN))[1].min() == 0.25
