"""Steps of JPEG, found in pixels: those of the file's table, wherever the grid begins."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from skimage import data

from epitomes.noise.jpeg_steps import find_quantisation


def compressed(pixels: np.ndarray, quality: int) -> tuple[np.ndarray, np.ndarray]:
    """The decoded image, and the table of its lightness."""
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "JPEG", quality=quality)
    with JpegImageFile(io.BytesIO(file.getvalue())) as image:
        return np.asarray(image, np.float64), np.reshape(image.quantization[0], (8, 8))


def noisy_picture(rng: np.random.Generator, sigma: float = 12.0) -> np.ndarray:
    clean = data.coffee()[:256, 100:356].astype(np.float64)
    return np.clip(np.rint(clean + rng.normal(0, sigma, clean.shape)), 0, 255)


@pytest.mark.parametrize("quality", [80, 50])
@pytest.mark.parametrize("colour", [False, True])
def test_steps_are_those_of_the_table(quality: int, colour: bool, rng: np.random.Generator) -> None:
    picture = noisy_picture(rng)
    image, table = compressed(picture if colour else picture[..., 1], quality)
    found = find_quantisation(image)
    assert found is not None
    assert found.corner == (0, 0)
    low = table[:4, :4].ravel()[1:]
    assert (np.abs(found.steps[:4, :4].ravel()[1:] - low) <= 1).mean() > 0.9
    assert 0.7 < np.median(found.steps / table) < 1.4


def test_the_grid_of_a_part_is_found(rng: np.random.Generator) -> None:
    image, _ = compressed(noisy_picture(rng), 70)
    found = find_quantisation(image[3:, 6:])
    assert found is not None
    assert found.corner == (5, 2)


def test_what_was_no_jpeg_has_no_steps(rng: np.random.Generator) -> None:
    noisy = noisy_picture(rng)
    assert find_quantisation(noisy) is None
    assert find_quantisation(noisy / 255) is None
    assert find_quantisation(np.full((64, 64), 7.0)) is None
    assert find_quantisation(rng.integers(0, 255, (64, 64, 4)).astype(float)) is None
