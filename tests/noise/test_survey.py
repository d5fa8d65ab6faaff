"""Survey: what is measured agrees with noise that is known, and with its model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from epitomes import Noise, estimate_noise
from epitomes.layout import Layout
from epitomes.noise.planes import Floats
from epitomes.noise.survey import survey

Y, X = np.mgrid[0:128, 0:128] / 128
SCENE = 60 * (1 + np.sin(4 * X + 3 * Y))


def test_white_noise_is_level_everywhere(rng: np.random.Generator) -> None:
    noisy = SCENE / 5 + 5 * rng.standard_normal(SCENE.shape)
    (found,) = survey(noisy, Noise.gaussian(5.0), Layout.of(SCENE.shape))
    np.testing.assert_allclose(found.level, 5, rtol=0.15)
    np.testing.assert_array_equal(found.model_level, 5)
    np.testing.assert_allclose(found.power[1:], 1, atol=0.1)  # the lowest frequency is that of the shading, too
    assert max(abs(found.across).max(), abs(found.down).max()) < 0.08


def test_correlated_noise_falls_and_neighbours_agree(rng: np.random.Generator) -> None:
    noise = gaussian_filter(rng.standard_normal(SCENE.shape), (0.0, 1.0), mode="wrap")
    (found,) = survey(SCENE + 10 * noise / noise.std(), Noise.gaussian(10.0), Layout.of(SCENE.shape))
    assert found.power[0] > 3 * found.power[-1]
    assert found.across[0] == pytest.approx(np.exp(-1 / 4), abs=0.15) and abs(found.down[0]) < 0.15


def test_counted_light_lies_on_the_curve_of_its_model(rng: np.random.Generator) -> None:
    noisy = rng.poisson(SCENE).astype(np.float64)
    noise = estimate_noise(noisy)
    (found,) = survey(noisy, noise, Layout.of(noisy.shape))
    fitted = np.interp(found.brightness, found.model_brightness, found.model_level)
    np.testing.assert_allclose(found.level, fitted, rtol=0.2)
    np.testing.assert_allclose(found.power[1:], 1, atol=0.25)


def test_each_channel_of_the_plane_in_the_middle(rng: np.random.Generator) -> None:
    levels = (2.0, 5.0, 9.0)
    stack = np.stack([SCENE[..., None] + levels * rng.standard_normal((*SCENE.shape, 3)) for _ in range(3)])
    layout = Layout.of(stack.shape, -1, 2)
    found = survey(stack, Noise.gaussian(levels), layout, ("red", "green", "blue"))
    assert [each.name for each in found] == ["red", "green", "blue"]
    for each, level in zip(found, levels, strict=True):
        assert float(np.median(each.level)) == pytest.approx(level, rel=0.15) and each.model_level[0] == level


@pytest.mark.parametrize("image", [np.zeros((40, 40)), np.arange(256.0).reshape(16, 16)])
def test_images_without_flat_noise(image: Floats) -> None:
    (found,) = survey(image, estimate_noise(image), Layout.of(image.shape))
    assert found.frequency.size == 0 and np.isfinite(found.model_level).all()
