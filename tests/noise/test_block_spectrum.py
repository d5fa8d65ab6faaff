"""BlockSpectrum: covariances of patches from the frequencies of blocks, levels over brightness, turns of channels."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from epitomes.colours import OPPONENT
from epitomes.noise import BlockSpectrum
from epitomes.noise.dct_blocks import SIDE, at_half_frequencies, cosines


def random_spectrum(rng: np.random.Generator, channels: int = 3) -> BlockSpectrum:
    roots = rng.standard_normal((2, SIDE, SIDE, channels, channels))
    return BlockSpectrum(
        power=np.einsum("sijab,sijcb->sijac", roots, roots),
        brightness=np.array([10.0, 90.0]),
        level=np.array([0.5, 2.0]),
    )


@pytest.mark.parametrize("scale", [0, 1])
def test_covariance_of_a_whole_block_is_the_transform_of_the_power(scale: int, rng: np.random.Generator) -> None:
    spectrum = random_spectrum(rng, 2)
    waves = np.kron(cosines(), cosines())  # (64, 64), frequencies by pixels
    expected = np.zeros((2, 64, 2, 64))
    for a in range(2):
        for b in range(2):
            expected[a, :, b] = waves.T @ np.diag(spectrum.power[scale, :, :, a, b].reshape(-1)) @ waves
    np.testing.assert_allclose(spectrum.covariance((8, 8), scale), expected.reshape(128, 128), atol=1e-10)


def test_covariance_of_a_patch_is_the_mean_over_its_places_in_a_block(rng: np.random.Generator) -> None:
    spectrum = random_spectrum(rng, 1)
    whole = spectrum.covariance((8, 8)).reshape(8, 8, 8, 8)
    places = [whole[i : i + 3, j : j + 5, i : i + 3, j : j + 5] for i in range(6) for j in range(4)]
    np.testing.assert_allclose(spectrum.covariance((3, 5)), np.mean(places, axis=0).reshape(15, 15), atol=1e-10)


def test_turning_the_channels_turns_the_covariance(rng: np.random.Generator) -> None:
    spectrum = random_spectrum(rng)
    turn = np.kron(OPPONENT, np.eye(9))
    expected = turn @ spectrum.covariance((3, 3)) @ turn.T
    np.testing.assert_allclose(spectrum.turned(OPPONENT).covariance((3, 3)), expected, atol=1e-10)


def test_sigma_and_times(rng: np.random.Generator) -> None:
    spectrum = BlockSpectrum.white(9.0, 2)
    np.testing.assert_allclose(spectrum.sigma, [3.0, 3.0])
    np.testing.assert_allclose(spectrum.times(2.0).sigma, [6.0, 6.0])


def test_level_map_follows_the_brightness_and_not_the_noise(rng: np.random.Generator) -> None:
    spectrum = random_spectrum(rng)
    brightness = np.full((64, 64), 10.0)
    brightness[:, 32:] = 90.0
    levels = spectrum.level_map(brightness + rng.normal(0, 5, brightness.shape))
    assert abs(levels[:, :24].mean() - 0.5) < 0.05
    assert abs(levels[:, 40:].mean() - 2.0) < 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"power": np.ones((8, 8, 1, 1))}, "shape (scales, 8, 8, channels, channels)"),
        ({"level": np.array([1.0, -1.0])}, "positive"),
        ({"brightness": np.array([2.0, 1.0])}, "increase"),
        ({"level": np.ones(3)}, "same number"),
    ],
)
def test_refusals(change: dict[str, np.ndarray], words: str, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"need|must") as caught:
        dataclasses.replace(random_spectrum(rng), **change)
    assert words in str(caught.value)


def test_patches_larger_than_a_block_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="between 1 and 8, got"):
        random_spectrum(rng).covariance((9, 4))


def test_half_of_each_frequency_is_interpolated(rng: np.random.Generator) -> None:
    values = rng.standard_normal((SIDE, SIDE, 2))
    at = np.arange(SIDE) / 2
    by_rows = np.stack([np.interp(at, np.arange(SIDE), line) for line in values.transpose(1, 2, 0).reshape(-1, SIDE)])
    rows = by_rows.reshape(SIDE, 2, SIDE).transpose(2, 0, 1)
    by_columns = np.stack([np.interp(at, np.arange(SIDE), line) for line in rows.transpose(0, 2, 1).reshape(-1, SIDE)])
    np.testing.assert_allclose(at_half_frequencies(values), by_columns.reshape(SIDE, 2, SIDE).transpose(0, 2, 1))
