"""noise_correlation: correlations that are known are found, white noise is called white, and origins are named."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import convolve
from skimage import data

from epitomes.noise import NoiseCorrelation, noise_correlation

KERNELS = {
    "across": np.array([[0.5, 1.0, 0.5]]),
    "down": np.array([[1.0], [0.4]]),
    "both": np.outer([1, 2, 1], [1, 2, 1]),
    "sharpened": np.array([[0, -0.15, 0], [-0.15, 1.6, -0.15], [0, -0.15, 0]]),
}


def look(image: np.ndarray, **options: int) -> NoiseCorrelation:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return noise_correlation(image, **options)


def correlation(kernel: np.ndarray, down: int, across: int) -> float:
    """Of noise filtered with a kernel: the kernel's own, by its definition."""
    large = np.pad(kernel, 4)
    return float(np.sum(large * np.roll(large, (down, across), axis=(0, 1))) / np.sum(large**2))


def camera(noise: np.ndarray) -> np.ndarray:
    return data.camera() + 10 * noise / noise.std()


@pytest.mark.parametrize("name", KERNELS)
def test_known_correlations(name: str, rng: np.random.Generator) -> None:
    kernel = KERNELS[name]
    found = look(camera(convolve(rng.standard_normal((512, 512)), kernel, mode="wrap")))
    assert found.across == pytest.approx(correlation(kernel, 0, 1), abs=0.06)
    assert found.down == pytest.approx(correlation(kernel, 1, 0), abs=0.06)
    assert found.correlated
    assert ("sharpening" in found.warning) == (name == "sharpened")


@pytest.mark.parametrize("name", ["camera", "astronaut", "coffee", "moon", "clock"])
def test_white_noise(name: str, rng: np.random.Generator) -> None:
    picture = np.asarray(getattr(data, name)(), np.float64)
    grey = picture.mean(axis=2) if picture.ndim == 3 else picture
    found = look(grey + 10 * rng.standard_normal(grey.shape))
    assert not found.correlated, found.warning
    assert abs(found.largest) < 0.08
    assert not found.jpeg and not found.demosaicked


@pytest.mark.parametrize("quality", [30, 50])
def test_jpeg(quality: int, rng: np.random.Generator) -> None:
    held = io.BytesIO()
    noisy = np.clip(camera(rng.standard_normal((512, 512))), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(held, "JPEG", quality=quality)
    found = look(np.asarray(Image.open(held))[3:, 5:])  # the grid need not begin at the corner
    assert found.jpeg and "JPEG" in found.warning


@pytest.mark.parametrize("sites", [[(0, 0)], [(0, 0), (1, 1)]])
def test_demosaicked(sites: list[tuple[int, int]], rng: np.random.Generator) -> None:
    """Bilinear interpolation of the red or green pixels of a Bayer pattern."""
    known = np.zeros((512, 512))
    for row, column in sites:
        known[row::2, column::2] = 1
    kernel = np.outer([1, 2, 1], [1, 2, 1]) if len(sites) == 1 else np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]])
    found = look(convolve(camera(rng.standard_normal((512, 512))) * known, kernel / 4))
    assert found.demosaicked and "raw" in found.warning


def test_stripes(rng: np.random.Generator) -> None:
    found = look(data.camera() + 10 * rng.standard_normal((512, 1)) + 2 * rng.standard_normal((512, 512)))
    assert found.across > 0.5 and "stripes" in found.warning


def test_masks_and_drawings_know_nothing() -> None:
    for image in (np.zeros((40, 40)), data.checkerboard(), data.shepp_logan_phantom()):
        assert not look(image).correlated


def test_half_a_mask_does_not_matter(rng: np.random.Generator) -> None:
    image = camera(rng.standard_normal((512, 512)))
    image[:, :256] = 30
    assert not look(image).correlated


def test_the_worst_channel_counts(rng: np.random.Generator) -> None:
    planes = [camera(rng.standard_normal((512, 512)))[:128, :128] for _ in range(2)]
    blurred = convolve(planes[0], np.outer([1, 2, 1], [1, 2, 1]) / 16)
    found = look(np.stack([planes[0], blurred, planes[1]], axis=-1), channel_axis=2)
    assert found == look(blurred)
    assert found.correlated


def test_scale_does_not_matter(rng: np.random.Generator) -> None:
    image = camera(rng.standard_normal((512, 512)))[:100, :100]
    assert look(image) == look(image * 2.0**40)


def test_errors() -> None:
    with pytest.raises(ValueError, match="at least 14 pixels"):
        noise_correlation(np.zeros((13, 100)))
    with pytest.raises(ValueError, match="pass channel_axis for colours"):
        noise_correlation(np.zeros((30, 30, 3)))
    with pytest.raises(ValueError, match="channel_axis 3 is out of range"):
        noise_correlation(np.zeros((30, 30, 3)), channel_axis=3)
