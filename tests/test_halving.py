"""Halving: the lower half of the frequencies."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.halving import halved


@pytest.mark.parametrize("shape", [(16, 16), (17, 24), (9, 31)])
def test_constant_and_smooth_planes_keep_their_values(shape: tuple[int, int]) -> None:
    np.testing.assert_allclose(halved(np.full(shape, 7.0)), 7.0)
    wave = np.cos(np.pi * (np.mgrid[0 : shape[0], 0 : shape[1]][0] + 0.5) / shape[0])
    small = halved(wave)
    assert small.shape == ((shape[0] + 1) // 2, (shape[1] + 1) // 2)
    rows = (np.arange(len(small)) + 0.5) / len(small)
    np.testing.assert_allclose(small[:, 0], np.cos(np.pi * rows), atol=1e-12)


def test_white_noise_has_half_the_deviation(rng: np.random.Generator) -> None:
    assert abs(halved(rng.standard_normal((256, 256))).std() - 0.5) < 0.02
