"""Sheets: small planes of a volume side by side."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import estimate_noise
from epitomes.noise.sheets import FEWEST, MOST, SIDE, laid_out, noun_of, planes_seen, sheets_of


@pytest.mark.parametrize("shape", [(50, 200, 200), (50, 100, 300), (5, 30, 40), (1, 64, 64), (5, 96, 96), (2, 9, 400)])
def test_large_planes_and_few_lie_alone(shape: tuple[int, int, int]) -> None:
    sheets = sheets_of(shape)
    assert len(sheets) == min(MOST, shape[0])
    assert [np.shape(sheet) for sheet in sheets] == [(1, 1)] * len(sheets)
    assert planes_seen(shape)[0] == 0 and planes_seen(shape)[-1] == shape[0] - 1
    assert noun_of(shape) == "plane"


@pytest.mark.parametrize("shape", [(1000, 30, 40), (12, 96, 96), (40, 80, 80, 3), (16, 128, 128), (2000, 9, 9)])
def test_small_planes_lie_side_by_side(shape: tuple[int, ...]) -> None:
    sheets = sheets_of(shape)
    assert noun_of(shape) == "sample" and FEWEST <= len(sheets) <= MOST
    for sheet in sheets:
        down, across = np.shape(sheet)
        assert SIDE <= down * shape[1] < SIDE + shape[1] and SIDE <= across * shape[2] < SIDE + shape[2]
        assert np.diff(np.ravel(sheet)).tolist() == [1] * (down * across - 1)
    seen = planes_seen(shape)
    assert len(seen) == len(set(seen)) == np.size(sheets) and seen[0] == 0 and seen[-1] == shape[0] - 1


def test_sheets_are_smaller_where_planes_are_few() -> None:
    sheets = sheets_of((70, 9, 20))
    assert len(sheets) == FEWEST and np.shape(sheets[0]) == (7, 3)


@pytest.mark.parametrize("shape", [(1000, 30, 40), (41, 80, 80), (50, 200, 200), (29, 100, 100), (7, 9, 9)])
def test_planes_that_are_seen_are_enough(shape: tuple[int, int, int]) -> None:
    """Long clips are sampled first: of the sample, the same planes lie on the same sheets."""
    seen = np.array(planes_seen(shape))
    again = sheets_of((len(seen), *shape[1:]))
    assert [seen[np.array(sheet)].tolist() for sheet in again] == sheets_of(shape)


def test_laid_out(rng: np.random.Generator) -> None:
    volume = rng.standard_normal((7, 4, 5, 3))
    sheet = laid_out(volume, [[1, 2, 3], [4, 5, 6]])
    assert sheet.shape == (8, 15, 3)
    for number in range(1, 7):
        row, column = divmod(number - 1, 3)
        np.testing.assert_array_equal(sheet[4 * row : 4 * row + 4, 5 * column : 5 * column + 5], volume[number])


def test_noise_that_grows_shows_in_small_planes() -> None:
    """A calcium movie: counted light, 40 x 30 pixels, in which one plane shows the level alone."""
    rng = np.random.default_rng(4)
    y, x = np.mgrid[:30, :40]
    light = 12 + 9 * np.sin(x / 13) * np.cos(y / 11)
    movie = np.stack([46 * rng.poisson(light + np.sin(k / 9)) for k in range(200)]).astype(np.uint16)
    found = estimate_noise(movie)
    assert found.gain == pytest.approx(46, rel=0.15)
    assert found.level == pytest.approx(46 * np.sqrt(light.mean()), rel=0.05)
    assert found.reliable, found.doubts


@pytest.mark.slow
def test_noise_that_changes_along_a_volume_has_the_median_level() -> None:
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:64, :64]
    levels = np.linspace(2, 22, 108)
    volume = 40 * np.sin(x / 9 + y / 7) + levels[:, None, None] * rng.standard_normal((108, 64, 64))
    assert estimate_noise(volume).level == pytest.approx(12, rel=0.1)


@pytest.mark.slow
def test_texture_in_every_plane_is_no_noise(rng: np.random.Generator) -> None:
    """Many copies of a texture look like noise of which much is known."""
    texture = np.cumsum(np.cumsum(rng.standard_normal((64, 64)), axis=0), axis=1)
    texture = texture - np.linspace(texture.min(), texture.max(), 64)
    found = estimate_noise(np.stack([np.roll(texture, k // 4, axis=1) for k in range(60)]))
    assert found.is_white
