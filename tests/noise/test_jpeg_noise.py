"""White noise before JPEG: its level is read where steps do not hide it, and texture has none."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from skimage import data

from epitomes import estimate_noise
from epitomes.noise.jpeg_noise import level_after_jpeg

LUMA = 0.6686  # root of the sum of squares of the weights of red, green and blue


def compressed(pixels: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file), np.float64)


def picture(name: str) -> np.ndarray:
    return getattr(data, name)()[:256, 100:356].astype(np.float64)


@pytest.mark.parametrize("name", ["coffee", "chelsea"])
@pytest.mark.parametrize("quality", [80, 50])
def test_the_level_is_found_below_the_steps(name: str, quality: int, rng: np.random.Generator) -> None:
    clean = picture(name)
    image = compressed(clean + rng.normal(0, 15, clean.shape), quality)
    level = level_after_jpeg(image)
    assert level is not None
    assert 0.85 < level / (15 * LUMA) < 1.3  # rounding adds to it
    found = estimate_noise(image, channel_axis=-1)
    assert found.blocks is not None
    assert 0.75 < found.level / np.std(image - clean) < 1.5


@pytest.mark.parametrize("name", ["coffee", "chelsea", "brick", "grass"])
@pytest.mark.parametrize("quality", [80, 50])
def test_clean_files_show_none(name: str, quality: int) -> None:
    assert level_after_jpeg(compressed(picture(name), quality)) is None


def test_no_jpeg_shows_none(rng: np.random.Generator) -> None:
    clean = picture("coffee")
    assert level_after_jpeg(np.clip(np.rint(clean + rng.normal(0, 15, clean.shape)), 0, 255)) is None
