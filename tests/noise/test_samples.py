"""Noise of flat samples: the level and the spectrum that were simulated, doubts about structure, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter

from epitomes.halving import halved
from epitomes.noise import BlockSpectrum, Noise, noise_from_flat
from epitomes.noise.pure_noise import PureNoise, Spectrum, spectrum_of

CORRELATED = np.array([[1.0, 0.8, 0.5], [0.8, 1.0, 0.8], [0.5, 0.8, 1.0]])
LEVELS = np.array([2.0, 4.0, 8.0])


def shading(side: int) -> np.ndarray:
    down, across = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j]
    return 100 + 30 * down - 20 * across**2 + 10 * down * across


def blurred(rng: np.random.Generator, side: int, width: float) -> np.ndarray:
    """Noise of standard deviation 1."""
    noise = gaussian_filter(rng.standard_normal((256, 256)), width, mode="wrap")
    return noise[:side, :side] / noise.std()


def block_power(noise: np.ndarray) -> np.ndarray:
    """Mean energy of each frequency of blocks side by side."""
    blocks = noise.reshape(noise.shape[0] // 8, 8, noise.shape[1] // 8, 8).transpose(0, 2, 1, 3)
    return np.square(dctn(blocks, axes=(2, 3), norm="ortho")).mean(axis=(0, 1))


@pytest.mark.parametrize(("side", "within"), [(16, 0.15), (64, 0.05), (200, 0.02)])
def test_white_noise_on_a_shading(side: int, within: float, rng: np.random.Generator) -> None:
    found = noise_from_flat(shading(side) + 5 * rng.standard_normal((side, side)))
    assert found.is_constant and found.estimated and found.reliable
    assert found.level == pytest.approx(5.0, rel=within)


def test_the_interval_holds_the_level() -> None:
    rng = np.random.default_rng(0)
    intervals = [noise_from_flat(3 * rng.standard_normal((32, 40))).interval or (0, 0) for _ in range(60)]
    assert 0.8 <= np.mean([low <= 3 <= high for low, high in intervals]) <= 1.0
    assert np.mean([high - low for low, high in intervals]) < 0.5


@pytest.mark.parametrize("width", [0.8, 1.5])
def test_blurred_noise(width: float, rng: np.random.Generator) -> None:
    noise = 5 * blurred(rng, 256, width)
    found = noise_from_flat(shading(256) + noise)
    assert found.blocks is not None and found.reliable and found.level == pytest.approx(5.0, rel=0.05)
    for measured, image in zip(found.blocks.power[..., 0, 0], (noise, halved(noise)), strict=True):
        expected = block_power(image)
        strong = expected > 0.05 * expected.max()
        strong[0, 0] = False  # the shading
        np.testing.assert_allclose(measured[strong], expected[strong], rtol=0.35)


def test_small_samples_continue_to_half_the_size(rng: np.random.Generator) -> None:
    found = noise_from_flat(blurred(rng, 40, 1.2))
    assert found.blocks is not None
    fine, coarse = found.blocks.power[..., 0, 0]
    np.testing.assert_allclose(coarse[::2, ::2], fine[:4, :4] / 4)
    np.testing.assert_allclose(coarse[1::2, 0], (fine[:4, 0] + fine[1:5, 0]) / 8)


def test_colours(rng: np.random.Generator) -> None:
    white = rng.standard_normal((128, 128, 3))
    apart = noise_from_flat(100 + white * LEVELS, channel_axis=-1)
    assert apart.is_white and apart.reliable
    np.testing.assert_allclose(apart.sigma, LEVELS, rtol=0.03)
    joint = white @ np.linalg.cholesky(CORRELATED).T * LEVELS
    for sample, axis in ((joint, -1), (np.moveaxis(joint, -1, 0), 0)):
        found = noise_from_flat(sample, channel_axis=axis)
        assert found.blocks is not None
        np.testing.assert_allclose(found.sigma, LEVELS, rtol=0.03)
        covariance = found.blocks.power[0].reshape(64, 3, 3)[1:].mean(axis=0)
        np.testing.assert_allclose(covariance, CORRELATED * np.outer(LEVELS, LEVELS), rtol=0.06)


def test_several_frames_are_one_sample(rng: np.random.Generator) -> None:
    frames = shading(32) + 4 * rng.standard_normal((30, 32, 32))
    found, one = noise_from_flat(frames), noise_from_flat(frames[0])
    assert found.level == pytest.approx(4.0, rel=0.02)
    assert found.interval is not None and one.interval is not None
    assert np.ptp(found.interval) < 0.25 * np.ptp(one.interval)


def test_hot_pixels_are_left_out(rng: np.random.Generator) -> None:
    dark = 5 * rng.standard_normal((128, 128))
    dark[rng.random(dark.shape) < 0.002] += 300
    found = noise_from_flat(dark)
    assert found.level == pytest.approx(5.0, rel=0.03) and found.is_white and found.reliable


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda sample: np.where(np.arange(64) > 30, sample + 20, sample), "texture"),
        (lambda sample: sample + 15 * (np.hypot(*np.mgrid[-30:34, -30:34]) < 10), "texture"),
        (lambda sample: np.maximum(np.rint(sample), 0), "clipped"),
    ],
    ids=["edge", "disc", "black"],
)
def test_doubts(spoil: object, kind: str, rng: np.random.Generator) -> None:
    found = noise_from_flat(spoil(5 * rng.standard_normal((64, 64))))  # type: ignore[operator]
    assert found.doubt_kinds == (kind,) and found.doubts[0].endswith(".")


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (np.ones((40, 15)), "sample needs 16 x 16 pixels or more to show its noise, got 40 x 15: use a larger one"),
        (np.zeros((40, 40, 3)), "pass channel_axis=-1"),
        (np.full((40, 40), 7), r"sample is constant \(7\)"),
        (np.where(np.eye(20) > 0, np.nan, 1.0), "20 NaN or infinite values"),
        (np.ones(40), "spatial=2 does not fit"),
    ],
    ids=["small", "colour", "constant", "not finite", "signal"],
)
def test_refused(sample: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        noise_from_flat(sample)


def test_a_constant_channel_is_named(rng: np.random.Generator) -> None:
    sample = rng.standard_normal((20, 20, 2))
    sample[..., 1] = 3
    with pytest.raises(ValueError, match="channel 1 of sample is constant"):
        noise_from_flat(sample, channel_axis=-1)


def test_samples_are_saved_and_scaled(tmp_path, rng: np.random.Generator) -> None:  # type: ignore[no-untyped-def]
    found = noise_from_flat(4 * blurred(rng, 64, 1.2))
    found.save(tmp_path / "noise.json")
    back = Noise.load(tmp_path / "noise.json").times(0.5)
    assert back.blocks is not None and found.blocks is not None
    np.testing.assert_allclose(back.blocks.power, found.blocks.power / 4)
    assert back.level == pytest.approx(found.level / 2)


def test_the_error_of_the_level(rng: np.random.Generator) -> None:
    """The formula, against the spread of many measurements."""
    flat = np.zeros((1, 32, 32), np.float32)
    measured: list[Spectrum] = []
    for _ in range(80):
        frame = gaussian_filter(rng.standard_normal((48, 48)), 0.7)[None, 8:40, 8:40].astype(np.float32)
        measured.append(spectrum_of(PureNoise([frame], flat, np.ones((32, 32), np.bool_))))
    levels = [float(each.sigma[0]) for each in measured]
    assert np.mean([each.level_error for each in measured]) == pytest.approx(np.std(levels) / np.mean(levels), rel=0.3)


def test_white_noise_is_white_at_half_the_size() -> None:
    white = BlockSpectrum.white(4.0, 2).power
    np.testing.assert_allclose(Spectrum(white[0].reshape(64, 2, 2), 100.0).at_half_size(), white[1].reshape(64, 2, 2))
