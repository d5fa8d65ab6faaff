"""Stabilisation: every kind of noise becomes white with a known level, and the way back is exact."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from skimage import data

from epitomes import denoise
from epitomes.noise import Noise, kernel_spectrum

BLUR = np.array([[0.25, 0.5, 0.25]]).T * np.array([[0.25, 0.5, 0.25]])
SIDE = 128


def coloured(white: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """White noise through a kernel, periodically, along the last two axes."""
    return np.fft.ifft2(np.fft.fft2(white) * np.fft.fft2(kernel, white.shape[-2:])).real


LEVELS = np.linspace(1, 9, SIDE)[:, None] * np.linspace(1, 2, SIDE)
SPECTRUM = kernel_spectrum(BLUR, (SIDE, SIDE), sigma=8) + 0.01

KINDS = {
    "constant": Noise.gaussian(3.0),
    "per channel": Noise.gaussian([1.0, 2.0, 4.0]),
    "map": Noise.map(LEVELS),
    "map of a volume": Noise.map(np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)),
    "poisson": Noise.poisson_gaussian(2.0, 10.0, 3.0),
    "poisson per channel": Noise.poisson_gaussian([1.0, 2.0, 0.0], [0.0, 10.0, 5.0], [3.0, 0.0, 2.0]),
    "spectrum": Noise.from_spectrum(SPECTRUM),
}


def shape_of(kind: str) -> tuple[int, ...]:
    if "channel" in kind:
        return (SIDE, SIDE, 3)
    return (3, SIDE, SIDE) if "volume" in kind else (SIDE, SIDE)


def drawn(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """That noise on a constant picture, of brightness 100 if it counts light, otherwise 0."""
    if noise.spectrum is not None:
        return coloured(rng.standard_normal(shape), 8 * BLUR) + 0.1 * rng.standard_normal(shape)
    mean = 100.0 if noise.gain.any() else 0.0
    gain = np.where(noise.gain > 0, noise.gain, 1e-3)  # where it is 0, so many counts that they are nearly a constant
    counts = rng.poisson(np.broadcast_to((mean - noise.offset) / gain, shape))
    light = np.where(noise.gain > 0, gain * counts + noise.offset, mean)
    return light + noise.sigma * rng.standard_normal(shape)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_becomes_white_with_the_level_that_is_told(kind: str, rng: np.random.Generator) -> None:
    noise, shape = KINDS[kind], shape_of(kind)
    even = noise.stabilise(drawn(noise, shape, rng))
    assert even.image.shape == shape
    assert even.sigma == pytest.approx(1.0 if noise.gain.any() else noise.level)
    pieces = np.split(even.image, 4) if len(shape) == 2 else np.moveaxis(even.image, -1 if "channel" in kind else 0, 0)
    for piece in pieces:
        rest = piece - piece.mean()
        assert rest.std() == pytest.approx(even.sigma, rel=0.04)
        for lag in ((0, 1), (1, 0), (1, 1)):
            assert abs(np.mean(rest * np.roll(rest, lag, axis=(0, 1)))) < 0.04 * even.sigma**2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "poisson" not in kind])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back(kind: str, dtype: type, rng: np.random.Generator) -> None:
    picture = (1000 + rng.standard_normal(shape_of(kind))).astype(dtype)
    even = KINDS[kind].stabilise(picture)
    back = even.back(even.image)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, picture, rtol=1e-6 if dtype is np.float32 else 1e-12)
    assert np.allclose(even.image, picture) == KINDS[kind].is_constant


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "poisson" in kind])
def test_means_come_back_without_bias(kind: str, rng: np.random.Generator) -> None:
    """A denoiser returns means of the stabilised picture: their way back is the mean of the picture."""
    noise = KINDS[kind]
    even = noise.stabilise(drawn(noise, shape_of(kind), rng))
    means = even.image.mean(axis=(0, 1), keepdims=True)
    back = even.back(np.broadcast_to(means, even.image.shape))
    np.testing.assert_allclose(back, 100.0, rtol=0.005)


def test_constant_noise_changes_nothing(rng: np.random.Generator) -> None:
    picture = rng.integers(0, 200, (9, 8), dtype=np.uint8)
    for noise in (Noise.gaussian(3.0), Noise.map(np.full((9, 8), 3.0)), Noise.poisson_gaussian(0.0, 7.0, 3.0)):
        even = noise.stabilise(picture)
        assert even.image is picture and even.sigma == 3.0
        assert even.back(picture) is picture


def test_each_plane_and_channel_is_whitened_alone(rng: np.random.Generator) -> None:
    noise = Noise.from_spectrum(kernel_spectrum(BLUR, (20, 24)) + 0.01)
    volume = rng.standard_normal((5, 20, 24, 2))
    even = noise.stabilise(volume)
    for depth in range(5):
        for channel in range(2):
            alone = noise.stabilise(volume[depth, ..., channel]).image
            np.testing.assert_allclose(even.image[depth, ..., channel], alone, atol=1e-13)
    np.testing.assert_allclose(noise.stabilise(volume[0]).image, even.image[0], atol=1e-13)
    np.testing.assert_allclose(noise.stabilise(volume[..., 0]).image, even.image[..., 0], atol=1e-13)
    np.testing.assert_allclose(even.back(even.image), volume, atol=1e-12)


def test_cubes_need_their_number_of_spatial_axes(rng: np.random.Generator) -> None:
    noise = Noise.from_spectrum(kernel_spectrum(BLUR, (8, 8)) + 0.01)
    cube = rng.standard_normal((8, 8, 8))
    with pytest.raises(ValueError, match="can be a volume or have channels: pass spatial"):
        noise.stabilise(cube)
    np.testing.assert_allclose(noise.stabilise(cube, spatial=3).image[2], noise.stabilise(cube[2]).image, atol=1e-13)
    channels = noise.stabilise(cube, spatial=2).image
    np.testing.assert_allclose(channels[..., 2], noise.stabilise(cube[..., 2]).image, atol=1e-13)


def test_a_map_with_a_spectrum(rng: np.random.Generator) -> None:
    """Correlated noise of unit level, multiplied by a map: both are undone."""
    unit = Noise.from_spectrum(SPECTRUM / SPECTRUM.mean())
    noise = Noise(sigma=LEVELS, spectrum=unit.spectrum)
    white = drawn(KINDS["spectrum"], (SIDE, SIDE), rng) / np.sqrt(SPECTRUM.mean())
    even = noise.stabilise(LEVELS * white)
    np.testing.assert_allclose(even.image, even.sigma * unit.stabilise(white).image, atol=1e-10)
    np.testing.assert_allclose(even.back(even.image), LEVELS * white, atol=1e-10)
    assert even.sigma == pytest.approx(np.sqrt(np.mean(LEVELS**2)))


def test_whitening_leaves_white_noise_and_the_mean_alone(rng: np.random.Generator) -> None:
    image = 5 + rng.standard_normal((20, 30))
    even = Noise.from_spectrum(np.full((20, 30), 9.0)).stabilise(image)
    assert even.sigma == pytest.approx(3.0) and even.image.dtype == np.float64
    np.testing.assert_allclose(even.image, image, atol=1e-12)
    spectrum = kernel_spectrum(BLUR, (20, 30)) + 0.1
    spectrum[0, 0] = 0  # no noise in the mean is allowed
    assert Noise.from_spectrum(spectrum).stabilise(image).image.mean() == pytest.approx(image.mean())


def test_extreme_levels() -> None:
    assert Noise.map([[1e200, 2e200]]).stabilise(np.ones((1, 2))).sigma == pytest.approx(np.sqrt(2.5) * 1e200)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Noise(), "the noise level is 0"),
        (Noise.map(np.ones((4, 5)) + np.arange(5)), r"sigma of shape \(4, 5\) does not fit an image of shape \(4, 4\)"),
        (Noise.gaussian([1.0, 2.0, 3.0]), "one per channel"),
        (Noise(sigma=np.eye(4)), r"sigma must be positive where gain is 0, got 0 at index \(0, 1\)"),
        (Noise.from_spectrum(np.ones((4, 5))), r"spectrum has shape \(4, 5\)"),
    ],
    ids=["nothing", "shape", "channels", "zeros", "spectrum"],
)
def test_noise_that_does_not_fit(noise: Noise, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        noise.stabilise(np.zeros((4, 4)))


@pytest.mark.parametrize("kind", KINDS)
def test_back_needs_the_same_shape(kind: str) -> None:
    even = KINDS[kind].stabilise(np.ones(shape_of(kind)))
    with pytest.raises(ValueError, match="as the stabilised one"):
        even.back(np.ones((4, 5)))
    with pytest.raises(ValueError, match="NaN"):
        KINDS["map"].stabilise(np.full((SIDE, SIDE), np.nan))


@pytest.mark.parametrize("kind", KINDS)
def test_the_way_back_can_be_sent_to_another_process(kind: str, rng: np.random.Generator) -> None:
    even = KINDS[kind].stabilise(50 + rng.standard_normal(shape_of(kind)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(even)).back(even.image), even.back(even.image))  # noqa: S301


class TestItHelpsADenoiser:
    clean = data.camera()[100:196, 100:196].astype(np.float64)

    @pytest.mark.slow
    def test_maps(self) -> None:
        levels = np.linspace(5, 50, 96) * np.ones((96, 1))
        noisy = self.clean + levels * np.random.default_rng(0).standard_normal(self.clean.shape)
        even = Noise.map(levels).stabilise(noisy)
        with_map = even.back(denoise(even.image, even.sigma, method="paper"))
        without = denoise(noisy, even.sigma, method="paper")
        assert np.mean((with_map - self.clean) ** 2) < 0.8 * np.mean((without - self.clean) ** 2)

    @pytest.mark.slow
    def test_spectra(self) -> None:
        noise = coloured(np.random.default_rng(0).standard_normal(self.clean.shape), 50 * BLUR)
        noise += 2 * np.random.default_rng(1).standard_normal(self.clean.shape)
        noisy = self.clean + noise
        white = Noise.from_spectrum(kernel_spectrum(BLUR, noisy.shape, sigma=50) + 4).stabilise(noisy)
        with_spectrum = white.back(denoise(white.image, white.sigma, method="paper"))
        without = denoise(noisy, white.sigma, method="paper")
        assert np.mean((with_spectrum - self.clean) ** 2) < 0.9 * np.mean((without - self.clean) ** 2)
