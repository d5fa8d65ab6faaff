"""White noise: the model that the flat patches show, without being asked for."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from epitomes import denoise
from epitomes.noise import Noise, estimate_noise
from epitomes.noise.planes import standardise
from epitomes.noise.white import estimate_white
from epitomes.validation import psnr


def picture(name: str, side: int = 256) -> np.ndarray:
    """The middle of a picture, grey."""
    pixels = np.asarray(getattr(data, name)(), np.float64)
    grey = pixels @ (0.299, 0.587, 0.114) if pixels.ndim == 3 else pixels
    top, left = (grey.shape[0] - side) // 2, (grey.shape[1] - side) // 2
    return grey[top : top + side, left : left + side]


def counted(clean: np.ndarray, peak: float, read_noise: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 255 / peak * rng.poisson(clean * peak / 255) + read_noise * rng.standard_normal(clean.shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brick", "coins", "hubble_deep_field", "retina"])
@pytest.mark.parametrize(("peak", "read_noise"), [(30, 0.0), (60, 5.0)])
def test_growing_noise_is_recognised(name: str, peak: float, read_noise: float) -> None:
    clean = picture(name)
    noisy = counted(clean, peak, read_noise)
    found = estimate_white(standardise(noisy))
    assert found.noise.gain > 0 and not found.doubts
    asked = estimate_noise(noisy, model="poisson-gaussian")
    assert (found.noise.gain, found.noise.offset, found.noise.sigma) == (asked.gain, asked.offset, asked.sigma)
    assert (found.noise.interval, found.noise.gain_interval) == (asked.interval, asked.gain_interval)
    assert found.noise.level == pytest.approx((noisy - clean).std(), rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [5, 25])
@pytest.mark.parametrize("name", ["camera", "coins", "moon", "brick", "grass", "gravel", "text"])
def test_constant_noise_is_not_taken_for_counts(name: str, sigma: float) -> None:
    clean = np.asarray(getattr(data, name)(), np.float64)
    image = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
    found = estimate_white(standardise(image)).noise
    assert not found.gain.any()
    assert found.level == pytest.approx(estimate_noise(image, model="gaussian").level)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["camera", "brick", "grass", "gravel", "clock"])
def test_clean_textures_are_not_taken_for_counts(name: str) -> None:
    assert not estimate_white(standardise(getattr(data, name)())).noise.gain.any()


def test_a_ramp_of_light(rng: np.random.Generator) -> None:
    light = 10 + 90 * np.indices((200, 200)).sum(axis=0) / 400
    found = estimate_noise(3.0 * rng.poisson(light))
    assert found.gain == pytest.approx(3.0, rel=0.08) and found.reliable
    assert found.gain_interval is not None and found.gain_interval[0] <= 3.0 <= found.gain_interval[1]
    constant = estimate_noise(light + 5 * rng.standard_normal(light.shape))
    assert not constant.gain.any() and constant.level == pytest.approx(5.0, rel=0.03)


def test_no_noise_to_find() -> None:
    for image, kind in ((np.ones((40, 40)), "constant"), (data.checkerboard(), "noiseless")):
        found = estimate_white(standardise(image))
        assert found.noise.level == 0 and [doubt.kind for doubt in found.doubts] == [kind]


def test_offset_needs_the_model_that_has_one() -> None:
    with pytest.raises(ValueError, match=r'offset belongs to model="poisson-gaussian"'):
        estimate_noise(np.ones((40, 40)), offset=3.0)


class TestParts:
    light = 10 + 90 * np.indices((160, 160)).sum(axis=0) / 320

    def counts(self, gain: float, seed: int) -> np.ndarray:
        return gain * np.random.default_rng(seed).poisson(self.light)

    def constant(self, sigma: float, seed: int) -> np.ndarray:
        return self.light + sigma * np.random.default_rng(seed).standard_normal(self.light.shape)

    @pytest.mark.slow
    def test_channels_of_either_kind(self) -> None:
        """Parameters per channel; a channel without noise has a level all the same, or could not be stabilised."""
        image = np.stack([self.counts(2.0, 0), self.constant(4.0, 1), np.full_like(self.light, 7.0)], axis=-1)
        found = estimate_noise(image, channel_axis=-1)
        np.testing.assert_allclose(found.gain, [2, 0, 0], rtol=0.1)
        assert found.sigma[1] == pytest.approx(4.0, rel=0.05)
        assert 0 < found.sigma[2] <= found.sigma[1]
        assert found.parts[2].level == 0
        even = found.stabilise(image)
        assert even.sigma == 1.0
        for each in (0, 1):
            alone = estimate_noise(image[..., each])
            assert (found.gain[each], found.offset[each], found.sigma[each]) == (alone.gain, alone.offset, alone.sigma)

    def test_channels_of_constant_noise_have_one_level(self) -> None:
        image = np.stack([self.constant(3.0, 0), self.constant(4.0, 1)], axis=-1)
        found = estimate_noise(image, channel_axis=-1)
        assert found.sigma.shape == () and found.is_constant
        assert found.level == pytest.approx(np.sqrt(12.5), rel=0.05)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_counted", [1, 2])
    def test_planes_of_the_more_frequent_kind(self, n_counted: int) -> None:
        planes = [self.counts(2.0, seed) if seed < n_counted else self.constant(4.0, seed) for seed in range(3)]
        found = estimate_noise(np.stack(planes))
        if n_counted == 2:
            assert found.gain == pytest.approx(2.0, rel=0.1)
            assert found.gain == np.median([part.gain for part in found.parts[:2]])
        else:
            assert found.gain == 0 and found.level == np.median([part.level for part in found.parts[1:]])

    def test_pictures_of_either_kind(self) -> None:
        found = estimate_noise(np.stack([self.counts(2.0, 0), self.constant(4.0, 1)]), spatial=2)
        np.testing.assert_allclose(found.gain.ravel(), [2, 0], rtol=0.1)
        assert found.sigma.ravel()[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.slow
def test_denoising_acts_on_it() -> None:
    """Blind as if the model had been asked for, and better than with the best single level."""
    clean = picture("coins", 128)
    noisy = counted(clean, 30)
    asked = estimate_noise(noisy, model="poisson-gaussian")
    blind, told, single = (
        psnr(clean, denoise(noisy, noise=noise, preset="fast"))
        for noise in (None, asked, Noise.gaussian((noisy - clean).std()))
    )
    assert blind == told > single + 0.3
