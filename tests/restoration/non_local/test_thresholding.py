"""The first estimate under correlated noise."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.restoration.non_local.thresholding import thresholded


@pytest.mark.parametrize("shape", [(32, 32), (33, 40), (8, 9)])
def test_small_coefficients_go_and_means_stay(shape: tuple[int, int], rng: np.random.Generator) -> None:
    noisy = (50 + rng.standard_normal((2, 1, *shape))).astype(np.float32)
    flat = thresholded(noisy, np.ones((8, 8, 2)), threads=1)
    assert flat.shape == noisy.shape
    assert abs(float(flat.mean()) - 50) < 0.5
    assert flat.std() < 0.6 * noisy.std()


def test_without_noise_nothing_changes(rng: np.random.Generator) -> None:
    image = rng.standard_normal((1, 1, 24, 31)).astype(np.float32)
    np.testing.assert_allclose(thresholded(image, np.zeros((8, 8, 1)), threads=1), image, atol=1e-5)


def test_threads_change_no_bit(rng: np.random.Generator) -> None:
    noisy = rng.standard_normal((3, 1, 100, 60)).astype(np.float32)
    deviation = rng.uniform(0.5, 2.0, (8, 8, 3))
    np.testing.assert_array_equal(thresholded(noisy, deviation, 1), thresholded(noisy, deviation, 3))
