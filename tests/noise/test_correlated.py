"""Correlated noise, estimated blind: its level and spectrum, and whether it is believed."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage import data

from epitomes import Noise, denoise, estimate_noise
from epitomes.noise.correlated import measure_colours, measure_correlated
from epitomes.noise.evidence import GREY_WEIGHTS, WEIGHTS, probability_of_noise

WHITE = (5.0, 15.0, 50.0)
CLEAN = ("camera", "coins", "brick", "grass", "gravel", "cell")
CLEAN_COLOUR = ("astronaut", "coffee", "chelsea")


def picture(name: str) -> np.ndarray:
    return getattr(data, name)()[:320, :320].astype(np.float64)


def blurred_noise(shape: tuple[int, ...], blur: float, sigma: float, rng: np.random.Generator) -> np.ndarray:
    noise = gaussian_filter(rng.standard_normal(shape), (blur, blur, 0)[: len(shape)])
    return sigma * noise / noise.std()


def compressed(clean: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    noisy = np.clip(np.rint(clean + rng.normal(0, 15, clean.shape)), 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(noisy).save(file, "JPEG", quality=80)
    return np.asarray(Image.open(file), np.float64), clean


def gamma_corrected(clean: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    counts = rng.poisson(100 * (clean / 255) ** 2.2) + rng.standard_normal(clean.shape)
    return np.rint(255 * np.clip(counts / 100, 0, 1) ** (1 / 2.2)), clean


def resized(clean: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    def smaller(image: np.ndarray) -> np.ndarray:
        planes = [Image.fromarray(plane.astype(np.float32)) for plane in np.moveaxis(image, -1, 0)]
        return np.stack([plane.resize((224, 224), Image.Resampling.BICUBIC) for plane in planes], axis=-1)

    return smaller(clean + rng.normal(0, 20, clean.shape)), smaller(clean)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["camera", "brick", "coins"])
@pytest.mark.parametrize("blur", [0.6, 1.0])
def test_blurred_noise_is_found_with_its_level(name: str, blur: float, rng: np.random.Generator) -> None:
    clean = picture(name)
    found = estimate_noise(clean + blurred_noise(clean.shape, blur, 20.0, rng))
    assert found.blocks is not None
    assert not found.is_white
    assert 0.85 * 20 < found.level < 1.3 * 20
    assert found.interval is not None
    assert found.interval[0] < 20 < found.interval[1]


@pytest.mark.slow
def test_the_spectrum_is_that_of_the_blur(rng: np.random.Generator) -> None:
    clean = picture("camera")
    found = measure_correlated(clean + blurred_noise(clean.shape, 1.0, 20.0, rng))
    assert found is not None
    truth = measure_correlated(blurred_noise((320, 320), 1.0, 20.0, rng))
    assert truth is not None
    measured, expected = (each.spectrum.power[0, :6, :6, 0, 0] for each in (found, truth))
    ratio = np.sqrt(measured / expected)[1:]
    assert 0.8 < np.median(ratio) < 1.3


@pytest.mark.slow
def test_colours_that_share_their_noise(rng: np.random.Generator) -> None:
    clean = picture("coffee")
    shared = blurred_noise(clean.shape[:2], 1.0, 15.0, rng)[..., None]
    found = estimate_noise(clean + shared + blurred_noise(clean.shape, 1.0, 5.0, rng), channel_axis=-1)
    assert found.blocks is not None
    power = found.blocks.power[0, 1:4, 1:4].mean(axis=(0, 1))
    correlation = power / np.sqrt(np.outer(np.diag(power), np.diag(power)))
    assert (correlation > 0.75).all()
    assert found.sigma.shape == (3,)


def test_the_level_follows_brightness(rng: np.random.Generator) -> None:
    clean = np.repeat(np.linspace(0, 200, 320)[None], 320, axis=0)
    noisy = clean + blurred_noise(clean.shape, 1.0, 1.0, rng) * (2 + clean / 20)
    found = estimate_noise(noisy)
    assert found.blocks is not None
    low, high = found.blocks.level_map(np.array([[20.0] * 9, [180.0] * 9]).repeat(9, axis=0))[[0, -1], 0]
    assert 2.5 < high / low < 5


@pytest.mark.slow
@pytest.mark.parametrize("sigma", WHITE)
@pytest.mark.parametrize("name", ["camera", "grass", "coins"])
def test_white_noise_stays_white(name: str, sigma: float, rng: np.random.Generator) -> None:
    clean = picture(name)
    assert estimate_noise(clean + rng.normal(0, sigma, clean.shape)).is_white


@pytest.mark.slow
@pytest.mark.parametrize("change", [compressed, gamma_corrected, resized])
def test_noise_that_was_white_once(change: Callable[..., tuple[np.ndarray, np.ndarray]]) -> None:
    noisy, clean = change(picture("coffee"), np.random.default_rng(0))
    found = estimate_noise(noisy, channel_axis=-1)
    assert found.blocks is not None
    assert 0.8 < found.level / np.std(noisy - clean) < 1.3


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CLEAN, *CLEAN_COLOUR])
def test_clean_pictures_are_spared(name: str) -> None:
    clean = picture(name)
    found = estimate_noise(clean, channel_axis=-1 if clean.ndim == 3 else None)
    assert found.is_white or found.level < 2.5


def test_small_images_are_not_judged_unless_asked(rng: np.random.Generator) -> None:
    noisy = 100 + blurred_noise((96, 96), 1.0, 10.0, rng)
    assert estimate_noise(noisy).blocks is None
    assert estimate_noise(noisy, model="correlated").blocks is not None


def test_units_do_not_matter(rng: np.random.Generator) -> None:
    clean = picture("camera")
    noisy = clean + blurred_noise(clean.shape, 1.0, 20.0, rng)
    one, other = estimate_noise(noisy), estimate_noise(noisy / 1000 - 3)
    assert other.level == pytest.approx(one.level / 1000, rel=1e-3)


def test_a_ramp_is_no_noise() -> None:
    ramp = np.add.outer(np.arange(200.0), np.arange(200.0))
    assert estimate_noise(ramp).level == 0


def test_grey_pictures_in_three_channels_are_judged_as_grey(rng: np.random.Generator) -> None:
    clean = picture("camera")
    noisy = np.repeat((clean + blurred_noise(clean.shape, 1.0, 20.0, rng))[..., None], 3, axis=2)
    assert estimate_noise(noisy, channel_axis=-1).blocks is not None


def test_probability_is_logistic() -> None:
    for weights in (WEIGHTS, GREY_WEIGHTS):
        found = {name: 0.1 for name in weights if name != "constant"}
        score = weights["constant"] + 0.1 * sum(value for name, value in weights.items() if name != "constant")
        assert probability_of_noise(found) == pytest.approx(np.exp(score) / (1 + np.exp(score)))


def test_profile_round_trip(tmp_path: object, rng: np.random.Generator) -> None:
    found = estimate_noise(100 + blurred_noise((200, 200), 1.0, 10.0, rng), model="correlated")
    path = f"{tmp_path}/noise.json"
    found.save(path)
    again = Noise.load(path)
    assert again.blocks is not None
    assert found.blocks is not None
    np.testing.assert_array_equal(again.blocks.power, found.blocks.power)
    assert again.describe() == found.describe()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["astronaut", "chelsea"])
def test_noise_that_the_channels_share_is_told_from_noise_of_each(name: str, rng: np.random.Generator) -> None:
    clean = picture(name)
    one = estimate_noise(clean + rng.normal(0, 17, (*clean.shape[:2], 1)), channel_axis=-1)
    assert one.blocks is not None and one.level == pytest.approx(17, rel=0.1)
    covariance = one.blocks.power[0, 4:, 4:].mean(axis=(0, 1))
    assert covariance.min() > 0.9 * covariance.max()
    each = estimate_noise(clean + rng.normal(0, 17, clean.shape), channel_axis=-1)
    assert each.is_white and each.blocks is None


@pytest.mark.slow
def test_shared_noise_is_removed(rng: np.random.Generator) -> None:
    clean = picture("astronaut")[:192, :192]
    noisy = clean + rng.normal(0, 17, (*clean.shape[:2], 1))
    errors = [np.mean((denoise(noisy, sigma, channel_axis=-1, preset="fast") - clean) ** 2) for sigma in (None, 17.0)]
    assert errors[0] < 0.6 * errors[1]  # told as noise of each channel, most of it is left


def test_colours_that_are_noisier_than_lightness_are_no_cloth() -> None:
    found = {"flatter": -0.08, "typical": 0.69, "fast": -0.41, "half fine": -0.64, "half slow": -0.32}
    found |= {"half middle": -0.37, "quiet": 0.29, "one hue": 0.42}
    assert probability_of_noise(found | {"colour": 0.23}) > 0.5
    assert probability_of_noise(found | {"colour": -0.1}) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chelsea", "astronaut"])
@pytest.mark.parametrize("made", [gamma_corrected, resized])
def test_colours_are_the_witness_of_noise_under_texture(
    name: str, made: Callable[..., tuple[np.ndarray, np.ndarray]], rng: np.random.Generator
) -> None:
    """The level is right, though the texture of lightness hides it, and so is what the noise is not: white."""
    noisy, clean = made(picture(name), rng)
    found = estimate_noise(noisy, channel_axis=-1)
    assert found.blocks is not None
    assert found.level == pytest.approx(np.std(noisy - clean), rel=0.12)


def test_colours_limit_the_noise_of_lightness(rng: np.random.Generator) -> None:
    """Of an image whose lightness has texture that looks like noise, as strong as the noise, and colours do not."""
    texture = blurred_noise((256, 256, 1), 1.2, 15.0, rng)
    noise = blurred_noise((256, 256, 3), 0.6, 15.0, rng)
    measured = measure_correlated(100 + texture + noise)
    colours = measure_colours(100 + texture + noise)
    assert measured is not None and colours is not None
    assert colours.spectrum.sigma == pytest.approx(np.full(3, 15.0), rel=0.15)
    assert measured.spectrum.sigma.mean() > 1.2 * 15
    limited = measured.limited_by(colours)
    assert limited.spectrum.sigma == pytest.approx(np.full(3, 15.0), rel=0.18)
    smooth = replace(colours, spectrum=colours.spectrum.times(0.5))  # as after a camera has smoothed colours
    assert measured.limited_by(smooth) is measured
