"""Impulses on the road: salt and pepper is replaced before the noise is estimated and removed."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes import denoise, restore
from epitomes.validation import psnr


def salted(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    clean = data.camera()[100:228, 180:308].astype(np.float64)
    noisy = clean + rng.normal(0, 10, clean.shape)
    draw = rng.random(clean.shape)
    noisy[draw < 0.015] = 0
    noisy[draw > 0.985] = 255
    return clean, np.clip(noisy, 0, 255).astype(np.uint8)


@pytest.mark.slow
def test_salt_and_pepper_goes_and_is_named(rng: np.random.Generator) -> None:
    clean, noisy = salted(rng)
    before = noisy.copy()
    restored = restore(noisy, preset="fast")
    assert any("salt and pepper" in note for note in restored.notes)
    assert psnr(clean, restored.image) > psnr(clean, noisy) + 7
    assert restored.image.dtype == np.uint8
    np.testing.assert_array_equal(noisy, before)


@pytest.mark.slow
def test_a_mask_is_respected(rng: np.random.Generator) -> None:
    _, noisy = salted(rng)
    mask = np.zeros(noisy.shape, bool)
    mask[:20] = True
    restored = restore(noisy, preset="fast", mask=mask)
    np.testing.assert_array_equal(restored.image[:20], noisy[:20])


def test_known_noise_leaves_impulses_alone(rng: np.random.Generator) -> None:
    image = np.full((64, 64), 100.0) + rng.normal(0, 5, (64, 64))
    image[10, 10] = 5000.0
    assert not restore(image, 5.0, preset="fast").notes
    assert denoise(image, 5.0, preset="fast")[10, 10] > 1000
