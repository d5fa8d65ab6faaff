"""Overscan: a dark strip at the border gives offset and read noise; other borders are no overscan."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes import estimate_noise
from epitomes.noise.overscan import find_overscan
from epitomes.noise.planes import Floats

GAIN, BIAS, READ = 0.5, 1000.0, 3.0


def frame(rng: np.random.Generator, *, strip: int = 20, gradient: float = 0.0) -> Floats:
    light = 120 + gradient * np.mgrid[0:160, 0:140][0] / 160
    counts = rng.poisson(light) * GAIN + READ * rng.standard_normal(light.shape)
    return np.rint(BIAS + np.concatenate([counts, READ * rng.standard_normal((160, strip))], axis=1))


@pytest.mark.parametrize("turns", range(4))
def test_it_is_found_at_every_border(turns: int, rng: np.random.Generator) -> None:
    found = find_overscan(np.rot90(frame(rng), turns))
    assert found is not None
    assert found.offset == pytest.approx(BIAS, abs=0.3) and found.read_noise == pytest.approx(READ, rel=0.05)
    assert np.rot90(frame(rng), turns)[found.body].size == 140 * 160


@pytest.mark.parametrize("gradient", [0.0, 400.0])
def test_two_levels_are_one_model(gradient: float, rng: np.random.Generator) -> None:
    found = estimate_noise(frame(rng, gradient=gradient))
    assert float(found.gain) == pytest.approx(GAIN, rel=0.1)
    assert float(found.offset) == pytest.approx(BIAS, abs=0.3) and float(found.sigma) == pytest.approx(READ, rel=0.3)
    assert "regions" not in found.doubt_kinds


def test_what_is_no_overscan(rng: np.random.Generator) -> None:
    assert find_overscan(frame(rng, strip=0)) is None
    assert find_overscan(frame(rng, strip=4)) is None  # too narrow
    assert find_overscan(-frame(rng)) is None  # brighter than the rest
    for name in ("camera", "coins", "moon", "brick"):
        assert find_overscan(getattr(data, name)()[:256, :256].astype(float)) is None
    margin = np.pad(frame(rng, strip=0), ((0, 0), (20, 0)))  # without any noise
    assert find_overscan(margin) is None
