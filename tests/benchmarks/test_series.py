"""Race of series: what it measures on, and its rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from benchmarks.made_series import MARGIN, N_DIRECTIONS, calcium_movie, diffusion_series, directions
from benchmarks.options import Options
from benchmarks.races import series as race
from epitomes.validation import psnr

PART = slice(MARGIN, MARGIN + 8), slice(MARGIN, MARGIN + 20), slice(MARGIN, MARGIN + 22)


def test_directions_are_spread_over_a_hemisphere() -> None:
    found = directions(50)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    assert (found[:, 0] > 0).all()
    np.testing.assert_allclose(found.T @ found / 50, np.eye(3) / 3, atol=0.02)
    near = np.abs(found @ found.T) - 2 * np.eye(50)
    assert near.max() < np.cos(0.15)


def test_a_diffusion_series_follows_its_tissues(rng: np.random.Generator) -> None:
    t1 = np.zeros([each.stop + MARGIN for each in PART], np.float32)
    t1[:, :, : MARGIN + 11] = 40  # water
    t1[:, :, MARGIN + 11 :] = 255  # white matter, whose fibres run along the wall
    t1 += gaussian_filter(rng.standard_normal(t1.shape), 1).astype(np.float32)
    series = diffusion_series(t1, PART)
    assert series.shape == (1 + N_DIRECTIONS, 8, 20, 22) and series.dtype == np.float32
    water, white = series[:, :, :, 2], series[:, :, :, -2]
    assert np.allclose(water[1:] / water[0], water[1] / water[0], rtol=1e-5)  # the same in all directions
    assert (water[1:] < 0.5 * water[0]).all()
    ratio = white[1:] / white[0]
    across = np.abs(directions(N_DIRECTIONS)[:, 2]) > 0.95
    assert ratio[across].mean() == pytest.approx(np.exp(-0.3), abs=0.1) and ratio.min() < 0.3


def test_cells_flash_in_a_movie_that_stands_still() -> None:
    movie = calcium_movie(frames=40, side=48)
    assert movie.shape == (40, 48, 48) and movie.min() >= 0 and movie.max() <= 255
    still = np.ptp(movie, axis=0) < 1e-3
    assert 0.2 < still.mean() < 0.95 and np.ptp(movie, axis=0).max() > 60


@pytest.mark.slow
def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "theirs", lambda noisy, sigma, options: {"noisy": lambda: noisy})
    monkeypatch.setattr(race, "calcium_movie", lambda: calcium_movie(frames=40, side=32))
    rows = {row.method: row for row in race.run(Options(quick=True, cases=("calcium",), presets=("balanced",)))}
    assert set(rows) == {"fast", "balanced", "balanced, deep", "noisy"}
    clean = calcium_movie(frames=40, side=32)
    assert rows["noisy"].psnr == pytest.approx(20 * np.log10(255 / 10), abs=0.1)
    assert all(row.psnr > 33 and row.seconds > 0 for row in rows.values() if row.method != "noisy")
    assert rows["balanced"].shape == list(clean.shape) and psnr(clean, clean + 10) == pytest.approx(28.13, abs=0.01)
