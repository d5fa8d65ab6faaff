"""Two scales: low frequencies come from the small image, high ones from the fine image."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.restoration.non_local.scales import from_small, half_size, joined


@pytest.mark.parametrize("shape", [(2, 1, 32, 48), (1, 1, 33, 17)])
def test_joining_an_image_with_its_own_half_changes_nothing(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    image = rng.standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(joined(image, half_size(image)), image, atol=1e-5)


def test_low_frequencies_come_from_the_small_image(rng: np.random.Generator) -> None:
    image = rng.standard_normal((1, 1, 32, 32)).astype(np.float32)
    mixed = joined(image, np.zeros((1, 1, 16, 16), np.float32))
    assert abs(float(mixed.mean())) < 1e-6
    assert np.abs(half_size(half_size(mixed))).max() < 1e-5  # a quarter of the frequencies is below the passage
    assert mixed.std() > 0.7 * image.std()


def test_weights_fall_from_one_to_zero() -> None:
    frequency = np.linspace(0, 1, 21, dtype=np.float32)
    weights = from_small(frequency, frequency)
    assert weights[0, 0] == 1
    assert weights[-1, 0] == 0
    assert (np.diff(np.diagonal(weights)) <= 0).all()
