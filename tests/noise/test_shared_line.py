"""Channels of one sensor share the line of their noise; those with different gains are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import estimate_noise
from epitomes.noise.flat_patches import FlatPatches, flat_patches
from epitomes.noise.planes import Floats, standardise
from epitomes.noise.shared_line import with_shared_line

GAIN, BLACK, READ = 4.0, 512.0, 12.0


def sensor(rng: np.random.Generator, gains: tuple[float, ...] = (GAIN,) * 4) -> Floats:
    """Four channels of a scene; the third is nearly dark, and shows no growth by itself."""
    y, x = np.mgrid[0:128, 0:128] / 128
    scene = 60 * (1 + np.sin(5 * x + 3 * y) * np.cos(4 * y))
    channels = [
        BLACK + gain * rng.poisson(share * scene) + READ * rng.standard_normal(scene.shape)
        for share, gain in zip((0.5, 1.0, 0.02, 0.7), gains, strict=True)
    ]
    return np.rint(np.stack(channels, axis=-1))


def test_a_dark_channel_has_the_gain_of_the_others(rng: np.random.Generator) -> None:
    found = estimate_noise(sensor(rng), channel_axis=-1)
    assert found.gain.shape == (4,) and np.ptp(found.gain) <= 1e-9 * GAIN
    np.testing.assert_allclose(found.gain, GAIN, rtol=0.15)
    assert "per channel" not in found.describe()


def test_the_black_level_of_a_sensor_gives_its_read_noise(rng: np.random.Generator) -> None:
    found = estimate_noise(sensor(rng), model="sensor", offset=(BLACK,) * 4, channel_axis=-1)
    np.testing.assert_allclose(found.gain, GAIN, rtol=0.1)
    np.testing.assert_allclose(found.sigma, READ, rtol=0.1)
    np.testing.assert_array_equal(found.offset, BLACK)


def test_black_levels_may_differ(rng: np.random.Generator) -> None:
    shift = np.array([0.0, 300.0, -100.0, 50.0])
    found = estimate_noise(sensor(rng) + shift, model="sensor", offset=BLACK + shift, channel_axis=-1)
    np.testing.assert_allclose(found.gain, GAIN, rtol=0.1)
    np.testing.assert_allclose(found.sigma, READ, rtol=0.15)


def test_channels_with_different_gains_are_left_alone(rng: np.random.Generator) -> None:
    image = sensor(rng, (2.0, 16.0, 4.0, 4.0))
    measured = [flat_patches(standardise(plane)) for plane in np.moveaxis(image, -1, 0)]
    assert with_shared_line([each for each in measured if isinstance(each, FlatPatches)]) is None


def test_the_line_of_a_channel_is_the_shared_one(rng: np.random.Generator) -> None:
    """In the units of the image, the lines of all channels are one."""
    measured = [flat_patches(standardise(plane)) for plane in np.moveaxis(sensor(rng), -1, 0)]
    shared = with_shared_line([each for each in measured if isinstance(each, FlatPatches)])
    assert shared is not None
    at = np.array([600.0, 900.0])
    lines = [each.plane.scale**2 * each.line.variance((at - each.plane.mean) / each.plane.scale) for each in shared]
    np.testing.assert_allclose(lines, np.broadcast_to(lines[0], (4, 2)), rtol=1e-9)
    np.testing.assert_allclose(lines[0], GAIN * (at - BLACK) + READ**2, rtol=0.15)


def test_offsets_are_checked(rng: np.random.Generator) -> None:
    image = sensor(rng)
    with pytest.raises(ValueError, match="one for each of 4 channels, got shape"):
        estimate_noise(image, model="sensor", offset=(1.0, 2.0), channel_axis=-1)
    with pytest.raises(ValueError, match="offset belongs to"):
        estimate_noise(image, offset=1.0, channel_axis=-1)
