"""Noise of several shots of a scene: the simplest model that fits, exposure and movement, and the mean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

from epitomes.noise import ShotError, merge_burst, noise_from_burst

SCENE = data.camera()[60:172, 150:278].astype(np.float64)

Shot = Callable[[np.random.Generator], np.ndarray]


def white(rng: np.random.Generator) -> np.ndarray:
    return SCENE + 5 * rng.standard_normal(SCENE.shape)


def counted(rng: np.random.Generator) -> np.ndarray:
    return 2.0 * rng.poisson((SCENE + 10) / 2) + 3 * rng.standard_normal(SCENE.shape)


def blurred(rng: np.random.Generator) -> np.ndarray:
    noise = gaussian_filter(rng.standard_normal(SCENE.shape), 1.0, mode="wrap")
    return np.asarray(SCENE + 5 * noise / noise.std())


def by_brightness(rng: np.random.Generator) -> np.ndarray:
    """Correlated noise that is three times as strong where the scene is bright."""
    return SCENE + (0.5 + SCENE / 255) * (blurred(rng) - SCENE)


def burst(shot: Shot, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [shot(rng) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 5])
class TestModels:
    def test_white(self, n: int, rng: np.random.Generator) -> None:
        found = noise_from_burst(burst(white, n, rng))
        assert found.is_constant and found.reliable and found.level == pytest.approx(5.0, rel=0.03)
        assert found.interval is not None and np.ptp(found.interval) < 0.15

    def test_counted_light(self, n: int, rng: np.random.Generator) -> None:
        found = noise_from_burst(burst(counted, n, rng))
        assert found.gain == pytest.approx(2.0, rel=0.05) and found.reliable
        expected = np.sqrt(2 * (SCENE + 10) + 9)
        np.testing.assert_allclose(found.std(SCENE + 10), expected, rtol=0.08)

    def test_blurred(self, n: int, rng: np.random.Generator) -> None:
        found = noise_from_burst(burst(blurred, n, rng))
        assert found.blocks is not None and found.reliable and found.level == pytest.approx(5.0, rel=0.05)
        np.testing.assert_allclose(found.blocks.level, 1.0, atol=0.15)

    def test_blurred_by_brightness(self, n: int, rng: np.random.Generator) -> None:
        found = noise_from_burst(burst(by_brightness, n, rng))
        assert found.blocks is not None and found.reliable
        expected = 5 * (0.5 + found.blocks.brightness / 255)
        np.testing.assert_allclose(found.level * found.blocks.level, expected, rtol=0.12)


def test_level_that_is_no_line(rng: np.random.Generator) -> None:
    """White noise that is strongest in the middle tones has a curve, too."""
    level = 2 + 6 * np.sin(np.pi * SCENE / 255)
    found = noise_from_burst([SCENE + level * rng.standard_normal(SCENE.shape) for _ in range(3)])
    assert found.blocks is not None
    np.testing.assert_allclose(found.std(SCENE)[level > 7.5].mean(), level[level > 7.5].mean(), rtol=0.08)


@pytest.mark.slow
def test_colours(rng: np.random.Generator) -> None:
    scene = np.stack([SCENE, SCENE / 2, 255 - SCENE])
    gains = np.array([1.0, 2.0, 3.0])[:, None, None]
    found = noise_from_burst(gains * rng.poisson((scene + 5) / gains, (4, *scene.shape)), channel_axis=0)
    np.testing.assert_allclose(found.gain, gains.ravel(), rtol=0.05)
    joint = rng.standard_normal((3, 1, *SCENE.shape)) + 0.3 * rng.standard_normal((3, *scene.shape))
    found = noise_from_burst(scene + 4 * joint, channel_axis=0)
    assert found.blocks is not None and found.level == pytest.approx(4 * np.sqrt(1.09), rel=0.03)
    power = found.blocks.power[0].reshape(64, 3, 3)[1:].mean(axis=0)
    assert power[0, 1] / np.sqrt(power[0, 0] * power[1, 1]) == pytest.approx(1 / 1.09, rel=0.03)


def test_clipped_pixels_are_left_out(rng: np.random.Generator) -> None:
    shots = np.clip(np.rint(1.5 * SCENE - 60 + 8 * rng.standard_normal((3, *SCENE.shape))), 0, 255).astype(np.uint8)
    found = noise_from_burst(shots)
    assert not found.gain.any() and found.level == pytest.approx(8.0, rel=0.05)
    with pytest.raises(ValueError, match=r"no block .* is free of clipped values"):
        noise_from_burst(np.where(rng.random((2, 40, 40)) < 0.5, 0, 255))


def test_noise_below_a_rounding_step(rng: np.random.Generator) -> None:
    shots = np.rint(SCENE / 2 + 60 + 0.4 * rng.standard_normal((4, *SCENE.shape))).astype(np.uint8)
    found = noise_from_burst(shots)
    assert found.reliable and found.level == pytest.approx(np.hypot(0.4, 12**-0.5), rel=0.15)


@pytest.mark.slow
def test_the_mean_has_less_noise(rng: np.random.Generator) -> None:
    shots = burst(white, 4, rng)
    image, noise = merge_burst(shots)
    assert noise.level == noise_from_burst(shots).times(0.5).level
    assert np.std(image - SCENE) == pytest.approx(2.5, rel=0.02)
    colours = [np.stack([shot, shot + 9]).astype(np.uint16) for shot in shots]
    image, noise = merge_burst(colours, channel_axis=0)
    assert image.shape == colours[0].shape and image.dtype == np.float32
    np.testing.assert_allclose(image, np.mean(colours, axis=0), rtol=1e-6)


# Shots that do not belong together


def test_shifts_and_movement_are_doubted(rng: np.random.Generator) -> None:
    shifted = [white(rng), np.roll(white(rng), 1, axis=1), white(rng)]
    found = noise_from_burst(shifted)
    assert found.doubt_kinds == ("moved",) and "Shot 2 of 3 has moved by about" in found.doubts[0]
    passing = burst(white, 3, rng)
    passing[2][60:90, 50:80] = 230 + 5 * rng.standard_normal((30, 30))
    found = noise_from_burst(passing)
    assert found.doubt_kinds == ("moved",) and "something has moved" in found.doubts[0]


def test_flicker_is_removed_and_exposure_refused(rng: np.random.Generator) -> None:
    shots = burst(white, 4, rng)
    shots[1] += 2
    assert noise_from_burst(shots).level == pytest.approx(5.0, rel=0.03)
    shots[1] *= 1.25
    with pytest.raises(ShotError, match=r"its mean is \d+\.\d, that of the others .* the same exposure") as caught:
        noise_from_burst(shots)
    assert caught.value.shot == 1
    with pytest.raises(ShotError) as caught:
        noise_from_burst(shots[:2])
    assert caught.value.shot == 1


@pytest.mark.parametrize(
    ("shots", "words"),
    [
        ([SCENE], "two shots of the same scene or more, got 1"),
        ([SCENE, SCENE[1:]], r"it has shape \(111, 128\), the first one \(112, 128\)"),
        ([SCENE, SCENE, SCENE], "3 shots are equal"),
        ([SCENE[:9], SCENE[:9]], "needs 16 x 16 pixels"),
        ([SCENE, np.where(SCENE > 100, np.nan, SCENE)], "shot 1 holds"),
        (np.zeros((2, 3, 20, 20)), "a shot must be one image"),
    ],
    ids=["one", "shapes", "equal", "small", "not finite", "volumes"],
)
def test_refused(shots: list[np.ndarray], words: str) -> None:
    for measure in (noise_from_burst, merge_burst):
        with pytest.raises(ValueError, match=words):
            measure(shots)
