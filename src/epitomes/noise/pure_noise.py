"""Frames of pure noise, measured: covariance of the channels by frequency, level by brightness, and the simplest model.

Here nothing has to be told from texture, so every block counts. The error of what is measured follows from the number
of blocks, and a model is only refused if it misses by more than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.halving import halved
from epitomes.layout import Layout
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.dct_blocks import SIDE, Blocks, at_half_frequencies
from epitomes.noise.flat_blocks import Curve
from epitomes.noise.level_function import CONFIDENT, LevelLine, LevelPoints, fit_line
from epitomes.noise.model import Noise
from epitomes.noise.planes import Flags, Floats

LEAST_SIDE = 16  # pixels: four blocks
NEARLY_WHITE = 0.6  # deviation from a flat spectrum, relative, up to which the methods for white noise do better
NEARLY_CONSTANT = 0.1  # deviation of the variances of brightness bins from their mean or line, relative
CHANCE = 1.5  # times the expected square of a deviation by chance
MIN_BLOCKS = 30  # independent ones, to measure the noise at half the size
MAX_BINS = 16  # of brightness, equally many pixels in each
MIN_IN_BIN = 500
CLIPPED = "no block of 8 x 8 pixels is free of clipped values: use images of another exposure"
CONSTANT = Curve(np.zeros(1), np.ones(1))

Planar = NDArray[np.float32]  # (channels, height, width)


def planar_images(name: str, pixels: Array, channel_axis: int | None) -> Array:
    """The images of an array as `(..., channels, height, width)`; refused if they are too small to measure."""
    layout = Layout.of(pixels.shape, channel_axis, 2)
    height, width = layout.picture_shape[:2]
    if min(height, width) < LEAST_SIDE:
        hint = "if the last axis holds colours, pass channel_axis=-1" if 1 < width <= 4 else "use a larger one"
        raise ValueError(
            f"{name} needs {LEAST_SIDE} x {LEAST_SIDE} pixels or more to show its noise, got {height} x {width}: {hint}"
        )
    canonical = layout.canonical(pixels)
    return canonical[..., None, :, :] if channel_axis is None else np.moveaxis(canonical, -1, -3)


@dataclass(frozen=True, eq=False)
class PureNoise:
    """Frames of noise, and the picture below it."""

    frames: Sequence[Planar]
    picture: Planar  # what the frames deviate from
    valid: Flags  # (height, width): pixels whose noise is complete
    freedom: float = 1.0  # independent values per pixel of a frame: (n - 1) / n for deviations from the mean of n
    removed: int = 0  # parameters of the shading that was subtracted from each frame, with noise of low frequency

    @cached_property
    def brightness(self) -> NDArray[np.float32]:
        """Mean of the channels of the picture."""
        return np.asarray(self.picture.mean(axis=0), np.float32)

    def blocks(self, frame: Planar) -> Blocks:
        """Blocks of a frame all of whose pixels are valid."""
        every = Blocks.of(frame, np.where(self.valid, self.brightness, np.float32(np.nan)))
        kept = np.isfinite(every.brightness)
        return every if kept.all() else Blocks(every.coefficients[kept], every.brightness[kept])

    def points(self, picture: NDArray[np.float32], variance: Floats) -> LevelPoints:
        """The mean of the variances of pixels, `(height, width)`, in bins of the brightness of `picture`."""
        means, values = picture[self.valid], variance[self.valid]
        n_bins = max(1, min(MAX_BINS, len(means) // MIN_IN_BIN))
        number = np.searchsorted(np.quantile(means, np.linspace(0, 1, n_bins + 1)[1:-1]), means, side="right")
        count = np.bincount(number, minlength=n_bins)
        kept = count > 0
        brightness, level = (np.bincount(number, each, n_bins)[kept] / count[kept] for each in (means, values))
        error = np.sqrt(2 / (count[kept] * len(self.frames) * self.freedom))
        kept = level > 0
        return LevelPoints(brightness[kept], level[kept], error[kept], np.ones(kept.sum()))

    def variances(self) -> Floats:
        """The variance of every pixel of each channel, over the frames."""
        return np.asarray(np.mean([np.square(frame, dtype=np.float64) for frame in self.frames], axis=0))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Covariance of the channels at every frequency of blocks, `(64, channels, channels)`."""

    power: Floats
    n_blocks: float  # independent ones

    @property
    def deviation(self) -> Floats:
        """Standard deviation of each channel."""
        return np.asarray(np.sqrt(np.einsum("kcc->c", self.power) / len(self.power)))

    @property
    def sigma(self) -> Floats:
        """The same without the means of blocks, which shading reaches: all that is needed of white noise."""
        return np.asarray(np.sqrt(np.einsum("kcc->c", self.power[1:]) / (len(self.power) - 1)))

    @property
    def is_white(self) -> bool:
        """Whether the power is the same at all frequencies, and no two channels go together, within the error."""
        n = self.power.shape[1]
        relative = self.power[1:] / np.outer(self.sigma, self.sigma) - np.eye(n)
        deviation = float(np.square(relative).sum()) / relative.shape[0] / n
        return bool(deviation <= NEARLY_WHITE**2 + CHANCE * (n + 1) / self.n_blocks)

    @property
    def level_error(self) -> float:
        """Standard error of the level, relative to it."""
        squares = float(np.einsum("kcd,kdc->", self.power, self.power))
        total = float(np.einsum("kcc->", self.power))
        return math.sqrt(2 * squares / self.n_blocks) / total / 2

    def at_half_size(self) -> Floats:
        """The power at half the size of the image, if it is as smooth as here: that at half of each frequency."""
        power = at_half_frequencies(self.power.reshape(SIDE, SIDE, *self.power.shape[1:])) / 4
        return power.reshape(self.power.shape)


def model_of(noise: PureNoise, *, by_brightness: bool = True) -> Noise:
    """The simplest model of the noise: Gaussian, Poisson-Gaussian, or the covariance at every frequency."""
    if not noise.valid.any():
        raise ValueError(CLIPPED)
    variances = noise.variances()
    points = [noise.points(plane, variance) for plane, variance in zip(noise.picture, variances, strict=True)]
    curve = CONSTANT
    if by_brightness and not all(map(_is_constant, points)):
        typical = variances[:, noise.valid].mean(axis=1)
        curve = _curve(noise.points(noise.brightness, (variances / typical[:, None, None]).mean(axis=0)))
    fine = spectrum_of(noise, curve)
    found = None
    if fine.is_white and curve is CONSTANT:
        found = Noise.gaussian(_single(fine.sigma))
    elif fine.is_white:
        found = _poisson_gaussian(points, noise.picture[:, noise.valid].mean(axis=1, dtype=np.float64))
    if found is None:
        power = np.stack([fine.power, _small_power(noise, curve, fine)]).reshape(2, SIDE, SIDE, *fine.power.shape[1:])
        blocks = BlockSpectrum(power=power, brightness=curve.brightness, level=curve.level)
        found = replace(Noise.from_blocks(blocks), sigma=_single(fine.deviation))
    spread = CONFIDENT * fine.level_error
    interval = found.level * max(0.0, 1 - spread), found.level * (1 + spread)
    return replace(found, interval=interval, estimated=True)


def spectrum_of(noise: PureNoise, curve: Curve = CONSTANT) -> Spectrum:
    """Measure the power of all blocks, divided by the level at their brightness."""
    n, n_blocks = len(noise.picture), 0
    total = np.zeros((SIDE**2, n, n))
    for frame in noise.frames:
        blocks = noise.blocks(frame)
        even = blocks.coefficients / curve.at(blocks.brightness).astype(np.float32)[:, None, None]
        by_frequency = np.ascontiguousarray(even.transpose(1, 2, 0))
        total += by_frequency @ by_frequency.transpose(0, 2, 1)
        n_blocks += len(blocks)
    if not n_blocks:
        raise ValueError(CLIPPED)
    power = total / n_blocks
    height, width = noise.valid.shape
    pixels = float(noise.valid.sum())
    slopes = (power[1] + power[SIDE]) / 2
    power[0] = power[0] if np.trace(power[0]) > np.trace(slopes) else slopes
    power[0] *= 1 + noise.removed * SIDE**2 / pixels
    counted = pixels * (1 - SIDE / 2 / height) * (1 - SIDE / 2 / width)  # fewer blocks reach the border
    return Spectrum(power, noise.freedom * min(n_blocks, len(noise.frames) * counted / SIDE**2))


def _small_power(noise: PureNoise, curve: Curve, fine: Spectrum) -> Floats:
    """The power at half the size: measured if there are enough blocks, otherwise from the fine one."""
    if fine.n_blocks < 4 * MIN_BLOCKS:
        return fine.at_half_size()

    def small(planar: Planar) -> Planar:
        return np.stack([halved(plane) for plane in planar])

    height, width = noise.valid.shape
    even = np.pad(noise.valid, ((0, height % 2), (0, width % 2)), mode="edge")
    valid = even[::2, ::2] & even[1::2, ::2] & even[::2, 1::2] & even[1::2, 1::2]
    half = PureNoise(
        [small(frame) for frame in noise.frames], small(noise.picture), valid, noise.freedom, noise.removed
    )
    return spectrum_of(half, curve).power


def _misses(deviation: Floats, error: Floats) -> bool:
    """Whether relative deviations of bins are larger than their errors allow."""
    return float(np.mean(deviation**2)) > NEARLY_CONSTANT**2 + CHANCE * float(np.mean(error**2))


def _is_constant(points: LevelPoints) -> bool:
    return len(points.variance) < 2 or not _misses(points.variance / points.variance.mean() - 1, points.error)


def _is_line(line: LevelLine, points: LevelPoints) -> bool:
    """Whether the variances are on a line that grows."""
    expected = line.variance(points.brightness)
    return line.slope > 0 and expected.min() > 0 and not _misses(points.variance / expected - 1, points.error)


def _curve(points: LevelPoints) -> Curve:
    distinct = np.append(True, np.diff(points.brightness) > 0)
    return Curve(points.brightness[distinct], np.sqrt(points.variance[distinct]))


def _poisson_gaussian(points: list[LevelPoints], brightness: Floats) -> Noise | None:
    """One line per channel; None if the variances are not on lines.

    Without a dark frame, a line has an offset at which it vanishes, or read noise, and not both.
    """
    lines = [fit_line(each) for each in points]
    if not all(map(_is_line, lines, points)):
        return None
    gain, intercept = np.array([line.slope for line in lines]), np.array([line.intercept for line in lines])
    spread = CONFIDENT * lines[0].slope_error
    return Noise(
        gain=_single(gain),
        offset=_single(np.maximum(-intercept / gain, 0)),
        sigma=_single(np.sqrt(np.maximum(intercept, 0))),
        brightness=_single(brightness),
        gain_interval=(max(0.0, gain[0] - spread), gain[0] + spread) if len(lines) == 1 else None,
    )


def _single(values: Floats) -> Floats:
    """One number for one channel."""
    return values if len(values) > 1 else values[0]
