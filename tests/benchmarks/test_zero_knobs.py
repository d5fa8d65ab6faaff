"""The benchmark of choices on one small image: the choice is one of the given methods, and has its PSNR."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from benchmarks import __main__ as command
from benchmarks import zero_knobs
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise
from benchmarks.record import as_json
from epitomes import denoise
from epitomes.restoration import NonLocal
from epitomes.validation import psnr

SMALL = Picture("camera", data.camera()[100:160, 200:260].astype(np.float32), "scikit-image")


def test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "zero-knobs" in command.CLAIMS
    monkeypatch.setattr(zero_knobs, "ten", lambda: [SMALL])
    monkeypatch.setattr(zero_knobs, "METHODS", (NonLocal(preset="fast"), NonLocal()))
    fast, balanced, chosen, claim = zero_knobs.run(Options(quick=True))
    assert (fast.method, balanced.method, chosen.method) == ("fast", "balanced", "balanced")
    image = denoise(add_noise(SMALL.pixels, 25, 0), 25, threads=1)
    assert balanced.psnr == chosen.psnr == pytest.approx(psnr(SMALL.pixels, image))
    assert chosen.difference == pytest.approx(chosen.psnr - max(fast.psnr, balanced.psnr))
    assert claim.holds == (chosen.difference >= -0.1) and claim.value == float(claim.holds) and as_json(chosen)
