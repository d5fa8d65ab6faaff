"""Stripes on the road: offsets of rows are found and removed before the noise, unless the noise is known."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes import restore
from epitomes.validation import psnr


def striped(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    clean = data.camera()[200:328, 100:228].astype(np.float32)
    noisy = clean + rng.normal(0, 8, (128, 1)) + rng.normal(0, 10, clean.shape)
    return clean, noisy.astype(np.float32)


@pytest.mark.slow
def test_stripes_are_removed_and_named(rng: np.random.Generator) -> None:
    clean, noisy = striped(rng)
    before = noisy.copy()
    blind, known = restore(noisy, preset="fast"), restore(noisy, 10.0, preset="fast")
    assert any("rows have offsets" in note for note in blind.notes)
    assert not any("offsets" in note for note in known.notes)
    assert psnr(clean, blind.image) > psnr(clean, known.image) + 1
    np.testing.assert_array_equal(noisy, before)


def test_whole_numbers_stay_whole_numbers(rng: np.random.Generator) -> None:
    _, noisy = striped(rng)
    restored = restore(np.clip(np.rint(noisy), 0, 255).astype(np.uint8), preset="fast")
    assert restored.image.dtype == np.uint8
    assert any("rows have offsets" in note for note in restored.notes)
