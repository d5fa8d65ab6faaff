"""Planar images: there and back, whatever the slabs; white noise of turned channels stays white."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.colours import CELL, OPPONENT
from epitomes.restoration.non_local import colour
from epitomes.restoration.non_local.colour import from_planar, to_planar

TURNS = {3: OPPONENT, 4: CELL}


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 1), (9, 7, 2), (9, 7, 3), (5, 6, 4)])
@pytest.mark.parametrize("slab", [1, 20, 2**20])
def test_there_and_back(
    shape: tuple[int, ...], slab: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(colour, "SLAB", slab)
    image = 100 + 20 * rng.standard_normal(shape)
    channels = shape[2] if len(shape) == 3 else 1
    turn = TURNS.get(channels)
    planar = to_planar(image, 90.0, 4.0, turn)
    assert planar.shape == (channels, 1, *shape[:2]) and planar.dtype == np.float32
    back = from_planar(planar, 90.0, 4.0, turn, shape, np.float64)
    np.testing.assert_allclose(back, image, rtol=1e-5)
    even = (image.reshape(*shape[:2], -1) - 90) / 4
    np.testing.assert_allclose(planar[:, 0], np.moveaxis(even if turn is None else even @ turn.T, -1, 0), rtol=1e-4)


def test_three_channels_are_turned() -> None:
    grey = np.repeat(np.arange(12.0).reshape(3, 4, 1), 3, axis=-1)
    planar = to_planar(grey, 0.0, 1.0, OPPONENT)
    np.testing.assert_allclose(planar[0, 0], np.sqrt(3) * grey[..., 0], rtol=1e-6)
    np.testing.assert_allclose(planar[1:], 0, atol=1e-6)


@pytest.mark.parametrize("n", TURNS)
def test_white_noise_stays_white(n: int, rng: np.random.Generator) -> None:
    planar = to_planar(5 * rng.standard_normal((200, 200, n)), 0.0, 5.0, TURNS[n]).reshape(n, -1)
    np.testing.assert_allclose(np.cov(planar), np.eye(n), atol=0.03)
