"""Poisson-Gaussian noise: simulated with known parameters, and found again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import convolve
from skimage import data

from epitomes.noise import Noise, estimate_noise


def camera(noise: Noise, peak: float, seed: int = 0, crop: int = 512) -> np.ndarray:
    """The picture as that camera would see it, its brightest pixel `peak` counts."""
    rng = np.random.default_rng(seed)
    light = data.camera()[:crop, :crop] * (peak / 255)
    return noise.gain * rng.poisson(light) + noise.offset + noise.sigma * rng.standard_normal(light.shape)


def fit(image: np.ndarray, **options: float) -> Noise:
    found = estimate_noise(image, model="poisson-gaussian", **options)  # type: ignore[arg-type]
    assert found.interval is not None and 0 <= found.interval[0] <= found.level <= found.interval[1] < np.inf
    assert found.estimated and found.reliable == (not found.doubts)
    return found


PLAIN = Noise.poisson_gaussian(1.0)
CAMERA = Noise.poisson_gaussian(2.5, 100.0, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "peak"), [(PLAIN, 4), (PLAIN, 100), (CAMERA, 100)], ids=["dark", "bright", "offset"])
def test_truth_is_found(noise: Noise, peak: float) -> None:
    image = camera(noise, peak)
    found = fit(image)
    assert found.reliable, found.doubts
    assert found.gain_interval is not None
    assert found.gain_interval[0] <= noise.gain <= found.gain_interval[1]
    assert found.gain == pytest.approx(float(noise.gain), rel=0.1)
    levels = np.quantile(image, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(found.std(levels) ** 2, noise.std(levels) ** 2, rtol=0.12, atol=0.02)
    assert found.brightness == pytest.approx(image.mean())


@pytest.mark.slow
def test_intervals_cover_the_level() -> None:
    """The level is the root mean square of the noise that was drawn, whatever the gain."""
    light = 20 + 80 * data.camera()[:256, :256] / 255
    hits = 0
    for seed in range(20):
        rng, gain = np.random.default_rng(seed), 0.5 + seed / 5
        noise = gain * (rng.poisson(light) - light)
        found = fit(gain * light + noise)
        assert found.level == pytest.approx(noise.std(), rel=0.06)
        assert found.interval is not None
        hits += found.interval[0] <= noise.std() <= found.interval[1]
    assert hits >= 15  # 90 % of 20 are 18; fewer than 15 come once in 90 times


@pytest.mark.slow
def test_a_known_offset_gives_the_read_noise() -> None:
    found = fit(camera(Noise.poisson_gaussian(1.0, 50.0, 4.0), 100), offset=50.0)
    assert found.offset == 50.0
    assert found.sigma == pytest.approx(4.0, rel=0.1)


def test_scale() -> None:
    image = camera(PLAIN, 50, crop=160)
    first = fit(image)
    assert first.gain_interval is not None
    for factor in (8.0, 2.0**900, 2.0**-900):
        second = fit(factor * image)
        assert second.gain == factor * first.gain
        assert second.sigma == factor * first.sigma
        assert second.level == pytest.approx(factor * first.level)
        assert second.gain_interval is not None and second.gain_interval[1] == factor * first.gain_interval[1]
        assert second.doubts == first.doubts


@pytest.mark.slow
def test_noise_that_does_not_grow(rng: np.random.Generator) -> None:
    found = fit(data.camera() + 10 * rng.standard_normal((512, 512)))
    assert "does not grow with brightness" in found.doubts[0]
    np.testing.assert_allclose(found.std([30.0, 120.0, 200.0]), 10.0, rtol=0.08)


def test_small_images_are_doubted() -> None:
    assert "too few" in fit(camera(PLAIN, 50, crop=40)).doubts[0]
    assert fit(camera(PLAIN, 50, crop=20)).correlation is None


@pytest.mark.slow
def test_correlated_counts_are_doubted() -> None:
    counts = camera(PLAIN, 50)
    assert fit(counts).reliable
    found = fit(convolve(counts, np.outer([1, 2, 1], [1, 2, 1]) / 16))
    assert any("correlated" in doubt for doubt in found.doubts)
    assert found.correlation is not None and found.correlation.across > 0.4


@pytest.mark.slow
def test_channels() -> None:
    cameras = [Noise.poisson_gaussian(gain, offset) for gain, offset in ((0.5, 0.0), (2.0, 50.0), (4.0, 0.0))]
    image = np.stack([camera(each, 80, seed) for seed, each in enumerate(cameras)])
    found = fit(image, channel_axis=0)
    assert found.gain.shape == (3,) and len(found.parts) == 3
    np.testing.assert_allclose(found.gain, [0.5, 2.0, 4.0], rtol=0.1)
    for each, part in enumerate(found.parts):
        alone = fit(image[each])
        assert (part.gain, part.offset, part.sigma) == (alone.gain, alone.offset, alone.sigma)
        assert (found.gain[each], found.level) == (alone.gain, pytest.approx(found.level))
    assert found.level == pytest.approx(np.sqrt(np.mean([part.level**2 for part in found.parts])))


def test_images_without_noise() -> None:
    assert not fit(data.shepp_logan_phantom()).reliable
    for image in (np.ones((40, 40)), np.add.outer(np.arange(40), np.arange(40))):
        found = fit(image)
        assert found.level == found.gain == 0
        assert "no noise" in found.doubts[0]


def test_errors() -> None:
    with pytest.raises(ValueError, match="at least 14 pixels"):
        fit(np.ones((13, 40)))
    with pytest.raises(ValueError, match=r'offset belongs to model="poisson-gaussian"'):
        estimate_noise(np.ones((40, 40)), offset=3.0)
    with pytest.raises(ValueError, match="model must be one of"):
        estimate_noise(np.ones((40, 40)), model="poisson")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offset holds 1 NaN"):
        fit(np.ones((40, 40)), offset=np.nan)
