"""Held-out noise tells the better denoiser without the clean image."""

from __future__ import annotations

import math

import numpy as np
import pytest
from restoration_cases import grey, with_noise
from scipy.ndimage import gaussian_filter

from epitomes.restoration.planning.held_out import SIDE, gain, hold_out, mean_square_error, tiles

CAMERA = grey("camera", SIDE)
SIGMA = 20.0


def noisy_of(clean: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    return with_noise(clean, sigma, seed).astype(np.float32)


def test_the_two_parts_have_independent_noise() -> None:
    clean = np.zeros((SIDE, 4 * SIDE))
    held = hold_out(noisy_of(clean, SIGMA), SIGMA, 4, seed=0)
    u, v = np.concatenate(held.noisier).ravel(), np.concatenate(held.judges).ravel()
    assert u.std() == pytest.approx(held.sigma, rel=0.02) and v.std() == pytest.approx(held.judge_sigma, rel=0.02)
    assert abs(np.corrcoef(u, v)[0, 1]) < 4 / math.sqrt(u.size)


def test_the_parts_do_not_share_simulated_noise() -> None:
    """The image's noise may have been drawn with the same seed: it must not be drawn again."""
    held = hold_out(noisy_of(np.zeros((SIDE, SIDE)), SIGMA, seed=0), SIGMA, 1, seed=0)
    assert held.noisier[0].std() == pytest.approx(held.sigma, rel=0.03)


def test_gains_are_right_on_average_and_as_sure_as_they_say() -> None:
    clean = CAMERA
    found, truth = [], []
    for seed in range(40):
        held = hold_out(noisy_of(clean, SIGMA, seed), SIGMA, 1, seed)
        sharp, smooth = (gaussian_filter(held.noisier[0], width) for width in (0.8, 1.4))
        errors = [float(np.mean((answer - clean) ** 2)) for answer in (sharp, smooth)]
        found.append(gain((sharp,), (smooth,), held, errors[0]))
        truth.append(10 * math.log10(errors[0] / errors[1]))
    off = np.array([one.decibels for one in found]) - truth
    error = float(np.mean([one.error for one in found]))
    assert abs(off.mean()) < 3 * error / math.sqrt(len(off))
    assert off.std() == pytest.approx(error, rel=0.3) and error < 0.2


def test_the_error_behind_the_decibels() -> None:
    held = hold_out(noisy_of(CAMERA, SIGMA), SIGMA, 1, 0)
    smoothed = (gaussian_filter(held.noisier[0], 1.0),)
    found = mean_square_error(lambda image: gaussian_filter(image, 1.0), held, smoothed, 0)
    assert found == pytest.approx(float(np.mean((smoothed[0] - CAMERA) ** 2)), rel=0.1)


def test_clipped_noise_is_left_out() -> None:
    """Half of the image is black, and its noise was cut off at 0: only the other half may judge."""
    clean = np.where(np.arange(SIDE) < SIDE // 2, 0.0, 120.0) * np.ones((SIDE, 1))
    noisy = np.clip(noisy_of(clean, SIGMA), 0, 255)
    held = hold_out(noisy, SIGMA, 1, 0)
    wrong_where_black = np.where(clean == 0, 30.0, clean)
    assert gain((clean,), (wrong_where_black,), held, 50.0).decibels == 0
    assert gain((clean,), (clean + 8,), held, 50.0).decibels < -2


def test_tiles_are_a_fair_share() -> None:
    image = np.zeros((2 * SIDE + 5, 3 * SIDE + 9))
    for at in range(6):  # more detail from tile to tile
        row, column = divmod(at, 3)
        image[2 + row * SIDE :, 4 + column * SIDE :][:SIDE, :SIDE] = at * (np.indices((SIDE, SIDE)).sum(0) % 2)
    assert [tile.max() for tile in tiles(image, 3)] == [3, 1, 5]
    assert sorted(tile.max() for tile in tiles(image, 100)) == [0, 1, 2, 3, 4, 5]
    assert [tile.shape for tile in tiles(image[:40], 1)] == [(40, SIDE)]
