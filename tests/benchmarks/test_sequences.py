"""Races of volumes and clips: what they measure, on a small volume."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from benchmarks.options import Options
from benchmarks.pictures import add_noise
from benchmarks.races import sequences as race
from benchmarks.record import as_json
from benchmarks.sequences import SIDE, Sequence, flicker, flicker_along, middle
from epitomes.restoration import NonLocal, denoise
from epitomes.validation import psnr

CLEAN = (100 + 40 * np.sin(np.indices((5, 24, 26)).sum(axis=0) / 4)).astype(np.float32)


def test_flicker_is_the_change_of_the_error(rng: np.random.Generator) -> None:
    error = rng.standard_normal(CLEAN.shape)
    changes = [np.mean((error[k + 1] - error[k]) ** 2) for k in range(len(error) - 1)]
    assert flicker(CLEAN, CLEAN + error) == pytest.approx(np.sqrt(np.mean(changes)), rel=1e-5)
    assert flicker(CLEAN, CLEAN + 7) < 1e-4  # the same error in every plane does not flicker


def test_lost_detail_that_moves_along_does_not_flicker(rng: np.random.Generator) -> None:
    wide = gaussian_filter(200 * rng.standard_normal((64, 90)), 1.5).astype(np.float32)
    clean = np.stack([wide[:, 3 * k : 3 * k + 64] for k in range(5)])
    blurred = gaussian_filter(clean, (0, 1.5, 1.5))
    assert flicker_along(clean, blurred) < 0.5 * flicker(clean, blurred)
    noisy = clean + rng.standard_normal(clean.shape)
    assert flicker_along(clean, noisy) == pytest.approx(flicker(clean, noisy), rel=0.05)  # noise does not move along


def test_the_middle_of_clips() -> None:
    clip = np.zeros((2, SIDE + 40, SIDE - 30), np.float32)
    clip[:, 20 : 20 + SIDE] = 1
    assert middle(clip).shape == (2, SIDE, SIDE - 30) and middle(clip).min() == 1


@pytest.mark.slow
def test_every_row_sees_the_same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race.bm4d, "denoiser", lambda noisy, sigma, threads: lambda: noisy)  # a peer that does nothing
    found = list(race.measure("volume", Sequence("wave", CLEAN, "made"), 20, Options(presets=("balanced",))))
    assert [row.preset for row in found] == ["fast", "balanced", "balanced, plane by plane"]
    noisy = add_noise(CLEAN, 20, 0)
    for row, method in ((found[1], NonLocal()), (found[2], NonLocal(planes="single"))):
        assert row.psnr == pytest.approx(psnr(CLEAN, denoise(noisy, 20, method=method)))
        assert row.peer_psnr == pytest.approx(psnr(CLEAN, noisy)) and row.peer_flicker == flicker(CLEAN, noisy)
    assert json.loads(as_json(found[0]))["shape"] == [5, 24, 26]
