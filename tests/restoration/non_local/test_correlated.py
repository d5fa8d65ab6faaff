"""Denoising under correlated noise: better than as white noise, for every preset, same bits for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import data

from epitomes import Noise, denoise, restore
from epitomes.noise import BlockSpectrum
from epitomes.noise.correlated import measure_correlated
from epitomes.restoration import NonLocal, Patchwise
from epitomes.validation import psnr


def noisy_pair(rng: np.random.Generator, colour: bool = False) -> tuple[np.ndarray, np.ndarray, Noise]:
    """A clean and a noisy image, and the true noise."""
    clean = (data.astronaut() if colour else data.camera())[64:224, 64:224].astype(np.float32)
    blur = (1.0, 1.0, 0.0)[: clean.ndim]
    noise = gaussian_filter(rng.standard_normal(clean.shape), blur)
    noise *= 15 / noise.std()
    sample = measure_correlated(noise)
    assert sample is not None
    return clean, (clean + noise).astype(np.float32), Noise.from_blocks(sample.spectrum)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "balanced"])
@pytest.mark.parametrize("colour", [False, True])
def test_better_than_as_white_noise(preset: str, colour: bool, rng: np.random.Generator) -> None:
    clean, noisy, noise = noisy_pair(rng, colour)
    axis = -1 if colour else None
    white = max(psnr(clean, denoise(noisy, k * 15.0, preset="fast", channel_axis=axis)) for k in (1.0, 1.5, 2.0))
    found = psnr(clean, denoise(noisy, noise=noise, preset=preset, channel_axis=axis))
    assert found > psnr(clean, noisy) + 2.5
    assert found > white - 0.05 if preset == "fast" else found > white + 0.2


@pytest.mark.slow
def test_the_paper_s_method_takes_it_as_stronger_white_noise(rng: np.random.Generator) -> None:
    clean, noisy, noise = noisy_pair(rng)
    found = denoise(noisy, noise=noise, method=Patchwise())
    assert psnr(clean, found) > psnr(clean, noisy) + 1.5


@pytest.mark.slow
def test_threads_change_no_bit(rng: np.random.Generator) -> None:
    _, noisy, noise = noisy_pair(rng, colour=True)
    one, two = (
        restore(noisy[:96, :80], noise=noise, channel_axis=-1, method=NonLocal(), threads=n).image for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(24, 40), (33, 47, 3), (40, 32, 4), (8, 8)])
def test_any_shape_and_dtype(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    channels = shape[2] if len(shape) == 3 else 1
    image = rng.integers(90, 110, shape).astype(np.uint8)
    noise = Noise.from_blocks(BlockSpectrum.white(30.0, channels))
    found = denoise(image, noise=noise, channel_axis=-1 if channels > 1 else None, preset="balanced")
    assert found.shape == shape
    assert found.dtype == np.uint8
    assert found.std() < image.std()


def test_another_number_of_channels_is_refused(rng: np.random.Generator) -> None:
    noise = Noise.from_blocks(BlockSpectrum.white(30.0, 3))
    with pytest.raises(ValueError, match="one value per channel"):
        denoise(rng.normal(100, 5, (32, 32)), noise=noise)
    with pytest.raises(ValueError, match="does not fit an image of shape"):
        denoise(rng.normal(100, 5, (32, 32, 4)), noise=noise, channel_axis=-1)


def test_progress_grows_to_one(rng: np.random.Generator) -> None:
    _, noisy, noise = noisy_pair(rng)
    seen: list[float] = []
    denoise(noisy[:64, :64], noise=noise, preset="balanced", callback=lambda fraction, stage: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5


def test_a_plan_says_why(rng: np.random.Generator) -> None:
    _, noisy, noise = noisy_pair(rng)
    restored = restore(noisy[:64, :64], noise=noise)
    assert "correlated" in restored.plan.explain()
