"""A told noise level that the image contradicts: a right one stays, a wrong one is met half-way, and order is kept."""

from __future__ import annotations

import numpy as np
import pytest
from restoration_cases import grey, psnr, white_noise

from epitomes import denoise, restore
from epitomes.restoration import NonLocal
from epitomes.restoration.non_local.told_level import HIGHEST, LOWEST, believed, block_variances, repeats

SIGMA = 25.0


def used(factor: float, contrast: float = 2.0, n: int = 160) -> float:
    """How many times the true level is used for a slope with noise, told `factor` times as much."""
    noisy = np.add.outer(np.arange(n), np.arange(n)) / 20 + white_noise((n, n))
    return factor * believed((noisy / factor).astype(np.float32), contrast / factor)


def test_blocks_of_noise_have_its_variance() -> None:
    found = block_variances((3 * white_noise((300, 200))).astype(np.float32))
    assert len(found) == 36 * 23
    assert found.mean() == pytest.approx(9, rel=0.03)


def test_rows_are_worked_on_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = white_noise((150, 90)).astype(np.float32)
    whole = block_variances(plane)
    monkeypatch.setattr("epitomes.restoration.non_local.told_level.ROWS", 32)
    np.testing.assert_allclose(block_variances(plane), whole, rtol=1e-9)


@pytest.mark.parametrize("n", [96, 160, 320])
def test_a_right_level_stays(n: int) -> None:
    assert used(1.0, n=n) == 1.0


def test_a_wrong_level_is_met() -> None:
    assert 0.86 < used(0.8) < 1.0
    assert 1.0 < used(1.2) < 1.04
    assert used(0.5, contrast=1.0) == pytest.approx(0.5 * HIGHEST)
    assert used(1.5) == pytest.approx(1.5 * LOWEST)


def test_many_blocks_leave_less_room() -> None:
    assert 1.0 < used(1.1, n=480) < 1.02 < used(1.1, n=96) < 1.08


def test_the_level_used_rises_with_the_one_told() -> None:
    """So sigma can be a parameter, as in plug-and-play methods, whatever noise there is."""
    levels = [used(factor) for factor in np.geomspace(0.3, 20, 60)]
    assert (np.diff(levels) > -1e-5).all()
    assert used(10.0) == 10.0  # of an image that is clean beside it


def test_constant_parts_say_nothing() -> None:
    noisy = white_noise((160, 160)).astype(np.float32)
    noisy[:, :64] = 0.0
    assert believed(noisy, 2.0) == 1.0
    assert believed(np.zeros((160, 160), np.float32), 2.0) == 1.0


@pytest.mark.parametrize("shape", [(8, 8), (17, 40), (40, 17), (20, 20)])
def test_small_images_say_nothing(shape: tuple[int, int]) -> None:
    assert believed(3 * white_noise(shape).astype(np.float32), 2.0) == 1.0


def test_faint_noise_is_not_told_from_texture() -> None:
    assert used(0.8, contrast=8.0) == 0.8


def test_what_was_used_is_said() -> None:
    clean = grey("camera", 96)
    noisy = clean + SIGMA * white_noise(clean.shape)
    told = {factor: restore(noisy, factor * SIGMA, method=NonLocal(preset="fast")) for factor in (0.75, 1.0)}
    assert told[1.0].notes == ()
    assert "more noise than was told" in told[0.75].notes[0]
    assert psnr(clean, told[0.75].image) > psnr(clean, denoise(noisy, 0.75 * SIGMA, method="paper"))


def grating(n: int = 160) -> np.ndarray:
    y, x = np.mgrid[:n, :n]
    return np.asarray(np.sign(np.sin(0.9 * x + 1.3 * y)))


def test_what_comes_again_is_no_noise() -> None:
    noisy = (3 * grating() + white_noise((160, 160))).astype(np.float32)
    assert repeats(noisy, 1.5) and believed(noisy, 3.0) == 1.0
    assert not any(repeats((1.3 * white_noise((n, 160))).astype(np.float32), 1.3) for n in (60, 160, 1100))
    wide = np.concatenate([noisy] * 8, axis=1)
    assert repeats(wide, 1.5) == repeats(wide[:, 128:1152], 1.5)  # the middle of large images


def test_gratings_are_denoised_with_the_level_that_is_told() -> None:
    clean = 128 + 60 * grating(96)
    noisy = clean + SIGMA * white_noise(clean.shape)
    restored = restore(noisy, SIGMA, method=NonLocal(preset="balanced"))
    assert restored.notes == ()
    assert psnr(clean, restored.image) > 27
