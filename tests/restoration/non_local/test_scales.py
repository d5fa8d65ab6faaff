"""Two scales: low frequencies come from the small image, high ones from the fine image."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.restoration.non_local.scales import REACH, SHARE, from_small, half_size, joined


@pytest.mark.parametrize("shape", [(2, 1, 32, 48), (1, 1, 33, 17)])
def test_joining_an_image_with_its_own_half_changes_nothing(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    image = rng.standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(joined(image, half_size(image)), image, atol=1e-5)


def test_low_frequencies_come_from_the_small_image(rng: np.random.Generator) -> None:
    image = rng.standard_normal((1, 1, 32, 32)).astype(np.float32)
    mixed = joined(image, np.zeros((1, 1, 16, 16), np.float32))
    assert abs(float(mixed.mean())) < 0.01 * abs(float(image.mean()))
    # A quarter of the frequencies is below the passage.
    assert half_size(half_size(mixed)).std() < 0.02 * half_size(half_size(image)).std()
    assert mixed.std() > 0.7 * image.std()


@pytest.mark.parametrize("frequency", [0.0, 0.3, 0.6])
def test_waves_are_the_same_at_half_the_size(frequency: float) -> None:
    """A pixel of the small image lies in the middle of four; frequencies are shares of its finest one."""
    fine, small = (
        np.cos(np.pi / 2 * frequency * (step * np.arange(n) + at)) for n, step, at in ((160, 1, 0), (80, 2, 0.5))
    )
    found = half_size(np.outer(fine, fine).astype(np.float32)[None, None])[0, 0]
    np.testing.assert_allclose(found[8:-8, 8:-8], np.outer(small, small)[8:-8, 8:-8], atol=0.02)
    if frequency <= SHARE - 0.15:
        back = joined(np.zeros((1, 1, 160, 160), np.float32), np.outer(small, small).astype(np.float32)[None, None])
        np.testing.assert_allclose(back[0, 0, 16:-16, 16:-16], np.outer(fine, fine)[16:-16, 16:-16], atol=0.03)


def test_white_noise_keeps_half_its_level(rng: np.random.Generator) -> None:
    noise = rng.standard_normal((1, 1, 400, 400)).astype(np.float32)
    assert abs(half_size(noise).std() - 0.5) < 0.01


def test_parts_have_the_bits_of_the_whole(rng: np.random.Generator) -> None:
    fine, small = (rng.standard_normal((1, 1, side, side)).astype(np.float32) for side in (121, 61))
    part = joined(fine[..., 20:101, 30:], small[..., 10:51, 15:])
    rim = 2 * REACH + 2
    whole = joined(fine, small)
    np.testing.assert_array_equal(part[..., rim:-rim, rim:], whole[..., 20 + rim : 101 - rim, 30 + rim :])


def test_weights_fall_from_one_to_zero() -> None:
    frequency = np.linspace(0, 1, 21, dtype=np.float32)
    weights = from_small(frequency, frequency)
    assert weights[0, 0] == 1
    assert weights[-1, 0] == 0
    assert (np.diff(np.diagonal(weights)) <= 0).all()
