"""What a report says of results of `restore`: no error is estimated with a noise model that cannot be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from epitomes.noise import BlockSpectrum, Noise
from epitomes.reports import read_figures
from epitomes.restoration import restore
from epitomes.restoration.diagnosis import report_pair

SIGMA = 10.0


@pytest.fixture
def noisy(rng: np.random.Generator) -> np.ndarray:
    y, x = np.mgrid[0:96, 0:96] / 12
    return (100 + 50 * np.sign(np.sin(x) * np.sin(y)) + SIGMA * rng.standard_normal(x.shape)).astype(np.float32)


def test_an_interval_only_with_a_model_that_fits(noisy: np.ndarray, tmp_path: Path) -> None:
    right = restore(noisy, SIGMA, preset="fast").report(tmp_path / "right.html")
    assert right.audit is not None and right.audit.verdict == "pass" and right.sure is not None
    wrong = restore(noisy, SIGMA / 2, preset="fast").report(tmp_path / "wrong.html")
    assert wrong.audit is not None and wrong.audit.verdict == "warn"
    assert wrong.sure is None and wrong.error is None
    assert "The error was not estimated: the noise model does not fit the image." in wrong.notes
    figures = read_figures(tmp_path / "wrong.html")
    assert figures["gain"] is None and "too low" in figures["doubts"][0]["reason"]


def test_correlated_noise(noisy: np.ndarray, rng: np.random.Generator) -> None:
    noise = Noise.from_blocks(BlockSpectrum.white(SIGMA**2))
    data = report_pair(noisy, noisy - SIGMA * rng.standard_normal(noisy.shape), noise)
    assert data.audit is not None and data.sure is None


@pytest.mark.parametrize("n_channels", [1, 2])
def test_the_first_channel_has_its_own_noise(n_channels: int, rng: np.random.Generator) -> None:
    noisy = SIGMA * rng.standard_normal((64, 64, n_channels))
    noise = Noise.from_blocks(BlockSpectrum.white(SIGMA**2, n_channels))
    data = report_pair(noisy, np.zeros_like(noisy), noise, channel_axis=-1)
    assert data.noisy.shape == (64, 64) and data.audit is not None and data.audit.verdict == "pass"


def test_nothing_to_remove(tmp_path: Path) -> None:
    y, x = np.mgrid[0:96, 0:96]
    restored = restore((2.0 * x + y).astype(np.float32))
    assert restored.unchanged
    assert str(restored.audit()) == "pass: No noise was found: the image was returned as it was."
    data = restored.report(tmp_path / "page.html")
    assert data.audit is not None and data.audit.verdict == "pass" and data.sure is None
    assert "No noise was found: the image was returned as it was." in (tmp_path / "page.html").read_text("utf-8")
