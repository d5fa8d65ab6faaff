"""error_map: intervals that cover as many pixels as they say, wide where errors are large."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from validation_cases import Filter, add_noise, fast, gaussian, median, picture

from epitomes.noise import Noise
from epitomes.validation import error_map

SIGMA = 15.0
DENOISERS: dict[str, Filter] = {"fast": fast(SIGMA), "gaussian": gaussian(1.0), "median": median(3)}


@pytest.mark.slow
@pytest.mark.parametrize("denoiser", DENOISERS)
@pytest.mark.parametrize("name", ["camera", "coins", "brick"])
def test_coverage(name: str, denoiser: str) -> None:
    clean = picture(name)
    noisy = add_noise(clean, SIGMA, seed=21)
    restored = DENOISERS[denoiser](noisy)
    found = error_map(noisy, restored, SIGMA, DENOISERS[denoiser])
    inside = (found.low <= clean) & (clean <= found.high)
    assert 0.85 <= inside.mean() <= 0.95
    order = np.argsort(found.std, axis=None)
    for part in np.array_split(inside.ravel()[order], 5):  # from the surest fifth to the least sure
        assert 0.75 <= part.mean() <= 0.99
    errors = np.abs(restored - clean).ravel()[order]
    assert errors[-errors.size // 5 :].mean() > 1.3 * errors[: errors.size // 5].mean()


def test_the_mean_is_that_of_sure() -> None:
    noisy = add_noise(picture("camera"), SIGMA, seed=22)
    found = error_map(noisy, gaussian(1.0)(noisy), SIGMA, gaussian(1.0), probes=2, rng=3)
    assert np.mean(found.std**2) == pytest.approx(found.sure.mse)
    assert found.sure.probes == 2
    np.testing.assert_allclose(found.high - found.low, 2 * 1.645 * found.std)
    assert found.level == 0.9


def test_layouts_units_and_maps() -> None:
    clean = picture("astronaut", 96)
    noisy = add_noise(clean, SIGMA, seed=23)
    restored = gaussian(1.0)(noisy)
    found = error_map(noisy, restored, SIGMA, gaussian(1.0), channel_axis=-1)
    assert found.std.shape == clean.shape
    assert found.std.dtype == np.float64
    scaled = error_map(noisy / 255, restored / 255, SIGMA / 255, gaussian(1.0), channel_axis=-1)
    np.testing.assert_allclose(scaled.std * 255, found.std)
    as_map = error_map(noisy, restored, np.full(clean.shape, SIGMA), gaussian(1.0), channel_axis=-1)
    np.testing.assert_allclose(as_map.std, found.std)
    first = error_map(
        np.moveaxis(noisy, -1, 0),
        np.moveaxis(restored, -1, 0),
        SIGMA,
        lambda image: np.moveaxis(gaussian(1.0)(np.moveaxis(image, 0, -1)), -1, 0),
        channel_axis=0,
    )
    np.testing.assert_allclose(np.moveaxis(first.std, 0, -1), found.std, rtol=0.3)  # the probes differ
    inside = np.mean((found.low <= clean) & (clean <= found.high))
    assert 0.85 <= inside <= 0.95


@pytest.mark.parametrize("options", [{}, {"spatial": 2}])
def test_volumes_and_stacks(options: dict[str, int]) -> None:
    """Every plane has its own map; the scale is that of all of them."""
    clean = np.stack([picture("camera", 64), picture("coins", 64), picture("brick", 64)])
    noisy = add_noise(clean, SIGMA, seed=25)

    def denoiser(image: NDArray[Any]) -> NDArray[Any]:
        return np.stack([gaussian(1.0)(plane) for plane in image])

    found = error_map(noisy, denoiser(noisy), Noise.map(np.full((3, 1, 1), SIGMA)), denoiser, **options)
    assert found.std.shape == clean.shape and found.std.flags.c_contiguous
    assert np.mean(found.std**2) == pytest.approx(found.sure.mse)
    for low, high, plane in zip(found.low, found.high, clean, strict=True):
        assert 0.8 <= np.mean((low <= plane) & (plane <= high)) <= 0.99


def test_noise_that_counts_light(rng: np.random.Generator) -> None:
    clean = picture("camera", 128) + 20
    noisy = 3.0 * rng.poisson(clean / 3)
    restored = gaussian(1.0)(noisy)
    found = error_map(noisy, restored, Noise.poisson_gaussian(3.0), gaussian(1.0))
    assert 0.85 <= np.mean((found.low <= clean) & (clean <= found.high)) <= 0.95


def test_an_error_lost_in_the_noise_still_has_a_width() -> None:
    """Sixteen by sixteen pixels: the estimate may fall below zero, the map may not."""
    clean = np.full((16, 16), 50.0)
    for seed in range(6):
        noisy = add_noise(clean, 10.0, seed)
        found = error_map(noisy, clean, 10.0, lambda image: np.full(image.shape, 50.0))
        assert (found.std > 0).all()
        assert np.isfinite(found.std).all()


def test_as_json_and_text() -> None:
    noisy = add_noise(picture("coins", 64), SIGMA, seed=24)
    found = error_map(noisy, median(3)(noisy), SIGMA, median(3), peak=255)
    read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert read["sure"]["peak"] == 255.0
    assert read["std_quantiles"]["0.5"] == pytest.approx(np.median(found.std))
    assert "median" in str(found)


def test_wrong_values() -> None:
    image = np.ones((32, 32))
    with pytest.raises(ValueError, match="restored needs the shape of noisy"):
        error_map(image, image[1:], 1.0, np.copy)
    with pytest.raises(ValueError, match="pass channel_axis=-1"):
        error_map(np.ones((32, 32, 3)), np.ones((32, 32, 3)), 1.0, np.copy)
    with pytest.raises(ValueError, match="got signals"):
        error_map(np.ones(32), np.ones(32), 1.0, np.copy)
    with pytest.raises(ValueError, match="has a spectrum"):
        error_map(image, image, Noise.from_spectrum(np.ones((32, 32))), np.copy)
    with pytest.raises(TypeError, match="denoiser must be a function"):
        error_map(image, image, 1.0, image)  # type: ignore[arg-type]
