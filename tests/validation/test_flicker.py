"""Flicker: what changes from plane to plane where nothing happens."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes import Noise
from epitomes.validation import Flicker, audit, flicker


@pytest.fixture
def clip(rng: np.random.Generator) -> np.ndarray:
    """Eight still frames of 64 x 64; in the right half a square passes by."""
    clean = np.full((8, 64, 64), 100.0)
    for k, frame in enumerate(clean):
        frame[20:40, 34 + 2 * k : 50 + 2 * k] = 250
    return clean


def test_white_noise_and_a_perfect_result(clip: np.ndarray, rng: np.random.Generator) -> None:
    noisy = clip + rng.normal(0, 5, clip.shape)
    found = flicker(noisy, clip, 5.0)
    assert found is not None
    assert found.noisy == pytest.approx(5 * 2**0.5, rel=0.05) and found.restored == 0 and found.share == 0
    assert 0.6 < found.still < 0.97


def test_what_is_left_is_measured(clip: np.ndarray, rng: np.random.Generator) -> None:
    noise = rng.normal(0, 5, clip.shape)
    found = flicker(clip + noise, clip + 0.2 * noise, Noise.gaussian(5))
    assert found is not None and found.share == pytest.approx(0.2, rel=1e-6)


def test_motion_does_not_count(clip: np.ndarray, rng: np.random.Generator) -> None:
    noise = rng.normal(0, 5, clip.shape)
    moving, quiet = (flicker(image + noise, image, 5.0) for image in (clip, np.full_like(clip, 100.0)))
    assert moving is not None and quiet is not None
    assert moving.restored == quiet.restored == 0 and moving.still < quiet.still


def test_channels_stacks_and_levels_that_vary(rng: np.random.Generator) -> None:
    clean = np.full((2, 6, 32, 32, 3), 50.0)
    sigma = np.array([2.0, 4.0, 8.0])
    noisy = clean + sigma * rng.standard_normal(clean.shape)
    found = flicker(noisy, clean, Noise.gaussian(sigma), channel_axis=-1, spatial=3)
    assert found is not None and found.still > 0.9
    assert found.noisy == pytest.approx(np.sqrt(2 * np.mean(sigma**2)), rel=0.05)


def test_nothing_to_measure(clip: np.ndarray, rng: np.random.Generator) -> None:
    assert flicker(clip[0], clip[0], 5.0) is None  # an image
    assert flicker(clip[:1], clip[:1], 5.0) is None
    assert flicker(rng.normal(0, 90, clip.shape), clip, 5.0) is None  # nothing is still
    with pytest.raises(ValueError, match=r"restored needs the shape of noisy, \(8, 64, 64\), got"):
        flicker(clip, clip[:3], 5.0)


def test_the_audit_tells_it(clip: np.ndarray, rng: np.random.Generator) -> None:
    noisy = clip + rng.normal(0, 5, clip.shape)
    found = audit(noisy, clip, 5.0)
    assert isinstance(found.flicker, Flicker) and "Flicker 0 in still areas" in str(found)
    assert found.as_dict()["flicker"]["still"] == found.flicker.still
    assert audit(noisy[0], clip[0], 5.0).flicker is None
