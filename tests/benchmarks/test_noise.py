"""The benchmarks of noise on one small picture: rows are whole, and numbers and claims are what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from skimage import data

from benchmarks import __main__ as command
from benchmarks import noise, noise_blind, noise_poisson
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise
from benchmarks.record import Claim, as_json
from epitomes import denoise
from epitomes.validation import psnr

SMALL = Picture("small", data.camera()[100:164, 200:264].astype(np.float32), "scikit-image")


def test_they_are_registered() -> None:
    assert {"noise", "noise-blind", "noise-poisson"} <= set(command.CLAIMS)


def test_the_ten_pictures() -> None:
    pictures = noise.ten()
    assert [picture.name for picture in pictures] == list(noise.PICTURES)
    assert all(picture.pixels.ndim == 2 and min(picture.pixels.shape) >= 300 for picture in pictures)
    coffee = next(picture for picture in pictures if picture.name == "coffee").pixels
    assert np.abs(coffee - data.coffee() @ [0.299, 0.587, 0.114]).max() <= 0.51


def test_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "ten", lambda: [SMALL])
    rows = list(noise.run(Options(quick=True, seeds=2)))
    measured = [row for row in rows if isinstance(row, noise.Estimated)]
    assert [(row.sigma, row.seed) for row in measured] == [(5, 0), (5, 1), (25, 0), (25, 1)]
    for row in measured:
        assert row.error == pytest.approx(abs(row.estimate - row.sigma) / row.sigma)
        assert row.peer_error == pytest.approx(abs(row.peer_estimate - row.sigma) / row.sigma)
        assert json.loads(as_json(row))["peer"].endswith("estimate_sigma")
    bar, peer = (row for row in rows[:4] if isinstance(row, Claim))
    assert bar.value == pytest.approx(np.mean([row.error for row in measured[:2]])) and bar.against == 0.05
    assert peer.against == pytest.approx(np.mean([row.peer_error for row in measured[:2]]))


@pytest.mark.slow
def test_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_blind, "to_race", lambda folder, quick: [SMALL])
    *rows, paper, nonlocal_ = noise_blind.run(Options(quick=True))
    assert [row.method for row in rows] == ["paper", "nonlocal"]
    known = denoise(add_noise(SMALL.pixels, 25, 0), 25, method="paper", threads=1)
    assert rows[0].known_psnr == pytest.approx(psnr(SMALL.pixels, known))
    assert rows[0].loss == pytest.approx(rows[0].known_psnr - rows[0].psnr) == pytest.approx(paper.value)
    assert nonlocal_.against == 0.1 and as_json(rows[0])


@pytest.mark.slow
def test_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_poisson, "to_race", lambda folder, quick: [SMALL])
    monkeypatch.setattr(noise_poisson.bm3d, "denoiser", lambda even, sigma, threads: lambda: even)
    rows = list(noise_poisson.run(Options(quick=True)))
    measured = [row for row in rows if isinstance(row, noise_poisson.Counted)]
    assert [row.method for row in measured] == ["paper", "nonlocal"]
    for row in measured:
        assert row.psnr > row.peer_psnr + 3  # the peer here does nothing
        assert row.fitted_psnr > row.peer_psnr and as_json(row)
    assert all(row.holds and row.value == measure.psnr for row, measure in zip(rows[2:], measured, strict=True))
