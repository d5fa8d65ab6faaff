"""Stripes: offsets of rows and columns are found and estimated; images without them are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes.noise import find_stripes


def striped(clean: np.ndarray, axis: int, size: float, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """A noisy image with stripes, and their offsets."""
    rng = np.random.default_rng(axis)
    offsets = size * rng.standard_normal((len(clean), 1) if axis == 0 else (1, clean.shape[1]))
    return clean + offsets + rng.normal(0, sigma, clean.shape), offsets


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["camera", "coins"])
def test_most_of_the_offsets_is_found(name: str, axis: int) -> None:
    clean = getattr(data, name)()[:256, :256].astype(np.float64)
    noisy, offsets = striped(clean, axis, 8.0, 10.0)
    found = find_stripes(noisy)
    assert np.std(found.offsets - offsets) < 5.0
    size, other = (found.rows, found.columns) if axis == 0 else (found.columns, found.rows)
    assert 5 < size < 9
    assert other == 0
    assert ("rows" if axis == 0 else "columns") in found.describe()


@pytest.mark.parametrize("name", ["camera", "coins", "brick", "grass", "text"])
@pytest.mark.parametrize("sigma", [0.0, 5.0, 25.0])
def test_images_without_stripes_are_left_alone(name: str, sigma: float, rng: np.random.Generator) -> None:
    clean = getattr(data, name)()[:256, :256].astype(np.float64)
    found = find_stripes(clean + rng.normal(0, sigma, clean.shape))
    assert not found.found
    assert not found.offsets.any()
    assert found.describe() == "no stripes"


def test_interlaced_fields(rng: np.random.Generator) -> None:
    noisy = data.camera()[:128, :128] + rng.normal(0, 5, (128, 128))
    noisy[::2] += 6
    found = find_stripes(noisy)
    fields = found.offsets[::2].mean() - found.offsets[1::2].mean()
    assert 4.5 < fields < 6.5


def test_channels_have_their_own(rng: np.random.Generator) -> None:
    clean = data.astronaut()[:128, :128].astype(np.float64)
    clean[..., 1] += rng.normal(0, 20, (128, 1))
    found = find_stripes(clean, channel_axis=-1)
    assert found.offsets.shape == clean.shape
    assert found.offsets[..., 1].any()
    assert not found.offsets[..., [0, 2]].any()


def test_slow_changes_and_edges_stay(rng: np.random.Generator) -> None:
    clean = np.repeat(np.linspace(0, 100, 128)[:, None], 128, axis=1)
    clean[64:] += 80
    noisy, offsets = striped(clean, 0, 5.0, 3.0)
    error = find_stripes(noisy).offsets[:, 0] - offsets[:, 0]
    assert abs(error[70:].mean() - error[:58].mean()) < 3
    assert abs(np.polyfit(np.arange(58), error[:58], 1)[0]) < 0.2


def test_units_small_planes_and_bad_values() -> None:
    noisy, _ = striped(data.camera()[:128, :128].astype(np.float64), 0, 8.0, 10.0)
    np.testing.assert_allclose(find_stripes(noisy / 1e6).offsets, find_stripes(noisy).offsets / 1e6)
    assert not find_stripes(noisy[:40]).found
    with pytest.raises(ValueError, match="finite"):
        find_stripes(np.full((80, 80), np.nan))


def test_shading_along_columns_is_no_stripes(rng: np.random.Generator) -> None:
    """A dark border and a slow rise, the same in every row, as the overscan of a CCD has them."""
    x = np.arange(132)
    profile = 750 + 900 / (1 + np.exp(-(x - 50) / 2.5)) + 25 / (1 + np.exp(-(x - 4) / 0.8)) + 0.3 * x
    frame = profile + rng.normal(0, 0.5, (288, 132))
    assert not find_stripes(frame).found
    assert find_stripes(frame + rng.normal(0, 8, 132)).columns > 4
