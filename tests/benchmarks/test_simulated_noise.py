"""Noise that the benchmark makes: level, correlation and type are as intended, and the seed alone decides it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.real_noise import made, simulate

GREY = np.full((256, 200), 100, np.float32)
COLOUR = np.full((256, 200, 3), (80, 100, 160), np.float32)


def rms(noise: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(noise.astype(np.float64) ** 2)))


def correlation(noise: NDArray[np.floating], axis: int, lag: int = 1) -> float:
    """Correlation of pixels that are so far apart."""
    centred = noise.astype(np.float64) - noise.mean()
    return float(np.mean(centred * np.roll(centred, lag, axis)) / np.mean(centred**2))


@pytest.mark.parametrize("case", made.cases((10,)), ids=lambda case: case.name)
def test_every_case_is_pure_and_seeded(case: made.Case) -> None:
    clean = (
        np.random.default_rng(0).integers(0, 256, (24, 30, 3) if case.source.colour else (24, 30)).astype(np.float32)
    )
    kept = clean.copy()
    noisy = case.noisy(clean, seed=1)
    np.testing.assert_array_equal(clean, kept)
    np.testing.assert_array_equal(noisy, case.noisy(clean, seed=1))
    assert np.array_equal(noisy, case.noisy(clean, seed=2)) == case.name.startswith("clean")
    truth = clean if case.truth is None else case.truth(clean)
    assert noisy.shape == truth.shape and truth.dtype == np.float32
    files = case.name.startswith(("clean", "gamma", "bayer", "jpeg"))
    assert noisy.dtype == (np.uint8 if files else np.float32)


@pytest.mark.parametrize("clean", [GREY, COLOUR], ids=["grey", "colour"])
@pytest.mark.parametrize("width", [0.6, 1.0, 2.0])
def test_blurred(clean: NDArray[np.float32], width: float) -> None:
    noise = simulate.blurred(clean, rms=20, width=width, seed=0) - clean
    assert rms(noise) == pytest.approx(20, rel=1e-4)
    across = np.exp(-(np.arange(-9, 10) ** 2) / (2 * width**2))  # the kernel; its autocorrelation is that of the noise
    expected = np.sum(across[1:] * across[:-1]) / np.sum(across**2)
    for axis in (0, 1):
        assert correlation(noise, axis) == pytest.approx(expected, abs=0.02)
    if clean.ndim == 3:
        assert abs(np.corrcoef(noise.reshape(-1, 3).T)[0, 1]) < 0.05


def test_stripes() -> None:
    for axis in (0, 1):
        noise = simulate.striped(GREY, sigma=12, offsets=8, axis=axis, seed=0) - GREY
        assert rms(noise) == pytest.approx(np.hypot(12, 8), rel=0.05)
        assert noise.mean(axis=1 - axis).std() == pytest.approx(8, rel=0.15)
        assert noise.mean(axis=axis).std() < 2
        assert correlation(noise, 1 - axis) == pytest.approx(8**2 / (12**2 + 8**2), abs=0.05)
        assert correlation(noise, axis) < 0.1


def test_counts() -> None:
    ramp = np.repeat(np.float32([[50], [200]]), 20000, axis=1)
    noise = simulate.counted(ramp, peak=30, seed=0) - ramp
    assert noise.std(axis=1) == pytest.approx(np.sqrt(ramp[:, 0] * 255 / 30), rel=0.03)
    noise = simulate.counted(ramp, peak=60, sigma=5, seed=0) - ramp
    assert noise.std(axis=1) == pytest.approx(np.sqrt(ramp[:, 0] * 255 / 60 + 25), rel=0.03)
    assert abs(noise.mean()) < 0.5


def test_camera() -> None:
    """The noise of light, multiplied by the slope of the curve."""
    bright = np.full((100, 200, 3), 180, np.float32)
    noise = simulate.camera(bright, peak=1000, read_noise=5, seed=0) - bright
    light = (180 / 255) ** 2.2
    slope = 255 / 2.2 * light ** (1 / 2.2 - 1)
    assert rms(noise) == pytest.approx(slope * np.sqrt(1000 * light + 25) / 1000, rel=0.03)


def test_salt_and_pepper() -> None:
    noisy = simulate.salt_and_pepper(COLOUR, sigma=15, share=0.03, seed=0)
    extreme = (noisy == 0) | (noisy == 255)
    assert np.all(extreme.all(axis=-1) == extreme.any(axis=-1))  # a pixel, not one of its colours
    hit = extreme.all(axis=-1)
    assert hit.mean() == pytest.approx(0.03, rel=0.1)
    assert (noisy[hit] == 255).mean() == pytest.approx(0.5, abs=0.1)
    assert rms((noisy - COLOUR)[~hit]) == pytest.approx(15, rel=0.02)


def test_bayer() -> None:
    rows, columns = np.indices((12, 14))
    plane = np.stack([3.0 * rows + columns, 100.0 - columns, 2.0 * rows], axis=-1).astype(np.float32)
    inner = np.s_[1:-1, 1:-1]  # borders are mirrored
    np.testing.assert_allclose(simulate.demosaicked(plane)[inner], plane[inner], rtol=1e-6)
    only_red = COLOUR * np.float32([1, 0, 0])
    only_red[1::2] = only_red[:, 1::2] = 0  # the pixels that see red
    np.testing.assert_allclose(simulate.demosaicked(only_red), COLOUR * np.float32([1, 0, 0]), rtol=1e-6)
    noise = simulate.bayer(COLOUR, sigma=10, seed=0) - COLOUR
    red, green, blue = (rms(noise[..., colour]) for colour in range(3))
    assert red == pytest.approx(
        10 * np.sqrt((1 + 1 / 2 + 1 / 2 + 1 / 4) / 4), rel=0.03
    )  # means of 1, 2, 2 and 4 pixels
    assert blue == pytest.approx(red, rel=0.03)
    assert green == pytest.approx(10 * np.sqrt((1 + 1 / 4) / 2), rel=0.03)
    assert correlation(noise[..., 0], axis=0) > 0.3


@pytest.mark.parametrize("factor", [0.7, 1.5])
def test_resized(factor: float) -> None:
    noise = simulate.resized_noise(GREY, sigma=20, factor=factor, seed=0) - simulate.resized(GREY, factor)
    assert noise.shape == (round(256 * factor), round(200 * factor))
    assert 9 < rms(noise) < 18  # interpolation takes means
    assert correlation(noise, 0) > 0.05
    colours = simulate.resized(COLOUR, factor)
    np.testing.assert_allclose(colours, np.broadcast_to(COLOUR[0, 0], colours.shape), rtol=1e-5)


def test_jpeg() -> None:
    errors = [rms(simulate.compressed(GREY, sigma=15, quality=quality, seed=0) - GREY) for quality in (95, 80, 50)]
    assert errors[0] == pytest.approx(15, rel=0.05)
    assert errors[0] > errors[2]  # small coefficients are lost
    colours = simulate.compressed(COLOUR, sigma=15, quality=80, seed=0) - COLOUR
    chroma = colours[..., 0] - colours[..., 2]
    assert correlation(chroma, 0) > 0.5  # colours have half the resolution
    assert abs(correlation(colours[..., 1], 0)) < correlation(chroma, 0)


def test_eight_bit() -> None:
    assert simulate.eight_bit(np.float32([-3, 0.4, 0.6, 254.7, 300])).tolist() == [0, 0, 1, 255, 255]


@pytest.mark.parametrize(
    "noisy", [partial(simulate.blurred, rms=20, width=1.0), partial(simulate.striped, sigma=12, offsets=8, axis=0)]
)
def test_noise_does_not_depend_on_the_image(noisy: Callable[..., NDArray[np.float32]]) -> None:
    np.testing.assert_allclose(noisy(GREY, seed=3) - GREY, noisy(0 * GREY, seed=3), atol=1e-4)
