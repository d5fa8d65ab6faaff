"""Regions of different noise: the level is that of the larger noise, and both are named."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.noise import Noise, estimate_noise
from epitomes.noise.regions import noisier_region
from epitomes.noise.weak_texture import noise_floor, patch_statistics

SIDE = 256
Y, X = np.mgrid[0:SIDE, 0:SIDE] / SIDE
SHADED = 100 + 60 * np.sin(3 * X + 2 * Y)


def noisy(levels: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    return SHADED + levels * rng.standard_normal((SIDE, SIDE))


def says_regions(noise: Noise) -> str:
    return next((doubt for doubt, kind in zip(noise.doubts, noise.doubt_kinds, strict=True) if kind == "regions"), "")


CORNER = X + Y < 0.5
QUIET = {
    "overscan": X >= 1 - 16 / SIDE,
    "corner": CORNER,
    "border": (np.abs(X - 0.5) > 0.44) | (np.abs(Y - 0.5) > 0.44),
    "half": X < 0.5,
}


@pytest.mark.parametrize("kind", QUIET)
@pytest.mark.parametrize("dark", [True, False])
def test_a_quiet_region_does_not_set_the_level(kind: str, dark: bool, rng: np.random.Generator) -> None:
    """Whether it is dark or as bright as the rest."""
    quiet = QUIET[kind]
    image = noisy(np.where(quiet, 2.0, 10.0), rng)
    image[quiet] -= 100 * dark * SHADED[quiet] / 100
    found = estimate_noise(image)
    assert found.level == pytest.approx(10, rel=0.06) and not found.gain.any()
    assert found.interval is not None and found.interval[0] > 9
    sentence = says_regions(found)
    assert "differs between regions (" in sentence and sentence.endswith("the larger level is used.")
    assert f"{found.level:.3g} elsewhere" in sentence


def test_the_sentence_has_the_levels_and_the_share(rng: np.random.Generator) -> None:
    image = noisy(np.where(CORNER, 2.0, 10.0), rng)
    statistics = patch_statistics(image, np.ones(image.shape, np.bool_))
    floor = noise_floor(statistics)
    regions = noisier_region(statistics, floor, SIDE)
    assert regions is not None
    assert np.sqrt(floor.variance) == pytest.approx(2, rel=0.1)
    assert np.sqrt(regions.noisier.variance) == pytest.approx(10, rel=0.05)
    assert regions.quiet_share == pytest.approx(CORNER.mean(), abs=0.03)


@pytest.mark.slow
def test_the_air_of_a_magnitude_image(rng: np.random.Generator) -> None:
    """Without signal, magnitudes are Rayleigh: their noise is 0.655 of that in the body, which is one model, Rician."""
    body = (X - 0.5) ** 2 / 0.35**2 + (Y - 0.5) ** 2 / 0.42**2 < 1
    signal = np.where(body, 120 + 40 * np.cos(9 * X) * np.sin(7 * Y), 0.0)
    real, imaginary = 8 * rng.standard_normal((2, SIDE, SIDE))
    noisy = np.hypot(signal + real, imaginary)
    found = estimate_noise(noisy)
    assert found.magnitude and found.level == pytest.approx(8, rel=0.06) and not says_regions(found)
    gaussian = estimate_noise(noisy, model="gaussian")
    assert gaussian.level == pytest.approx(8, rel=0.06) and "(5.2" in says_regions(gaussian)


@pytest.mark.parametrize("sigma", [1.0, 10.0])
def test_one_level(sigma: float, rng: np.random.Generator) -> None:
    found = estimate_noise(noisy(sigma, rng))
    assert found.reliable and found.level == pytest.approx(sigma, rel=0.03)


def test_texture_has_no_vote(rng: np.random.Generator) -> None:
    """A texture that is the same everywhere but in a corner is not noise: its fine details are weaker than others."""
    texture = rng.standard_normal((SIDE, SIDE))
    for axis in (0, 1):
        texture = texture + 0.6 * (np.roll(texture, 1, axis) + np.roll(texture, -1, axis))
    image = noisy(3.0, rng) + np.where(CORNER, 0.0, 12.0) * texture
    found = estimate_noise(image)
    assert says_regions(found) == ""
    assert found.level == pytest.approx(3, rel=0.1)


def test_a_small_noisy_region_does_not_set_the_level(rng: np.random.Generator) -> None:
    found = estimate_noise(noisy(np.where(X + Y < 0.4, 10.0, 3.0), rng))
    assert found.level == pytest.approx(3, rel=0.05) and says_regions(found) == ""
