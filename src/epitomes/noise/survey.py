"""Survey: what flat areas of an image show of its noise, channel by channel, beside the noise model. For drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats
from epitomes.layout import Layout
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.dct_blocks import SIDE, Blocks
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_blocks import FlatBlocks, measure
from epitomes.noise.flat_patches import flat_patches
from epitomes.noise.model import Noise
from epitomes.noise.planes import Floats, standardise

SHARE = 0.05  # of the blocks, the flattest
MIN_WIDTH = 32  # pixels; smaller images have too few blocks for a spectrum
MIN_BLOCKS = 100
CONSTANT = 0.01  # of the energy of typical blocks: those with less are margins, captions and saturated areas
N_MODEL = 48  # points of the curve of the model
LAGS = 4  # pixels
MOST_TEXTURE = 3.0  # times the level of the model: higher points are texture alone, and would make the others small
NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Survey:
    """The noise of one channel, measured and by the model. Arrays are empty where nothing could be measured."""

    name: str  # of the channel; "" if there is one only
    noise: Noise
    brightness: Floats  # of flat areas
    level: Floats  # standard deviation of the noise there
    model_brightness: Floats
    model_level: Floats
    frequency: Floats  # cycles per pixel
    power: Floats  # of the noise; 1 everywhere for white noise
    across: Floats  # correlation with pixels 1, 2, ... columns away
    down: Floats  # and rows away


def survey(image: ArrayLike, noise: Noise, layout: Layout, names: Sequence[str] = ()) -> list[Survey]:
    """Survey the channels of an image; of a stack or volume, those of the plane in the middle."""
    canonical = layout.canonical(as_floats("image", image))
    places = list(layout.places())
    place = places[len(places) // 2]
    picture, mine = canonical[place], noise.at(place, layout)
    if layout.spatial == 3:
        picture = picture[len(picture) // 2]
    planes = [picture] if layout.n_channels is None else list(np.moveaxis(picture, -1, 0))
    named = list(names) or [f"channel {number}" for number in range(len(planes))]
    parts = mine.parts if len(mine.parts) == len(planes) > 1 else (mine,) * len(planes)
    return [
        _of_channel(named[number] if len(planes) > 1 else "", plane, number, mine, parts[number])
        for number, plane in enumerate(planes)
    ]


def _of_channel(name: str, plane: Array, number: int, noise: Noise, part: Noise) -> Survey:
    blocks = _flat_blocks(plane, number, noise)
    brightness, level = _points(plane, noise, blocks)
    shown = brightness if brightness.size > 1 else np.quantile(plane, (0.01, 0.99))
    grid = np.linspace(float(shown.min()), float(shown.max()), N_MODEL)
    model = _model(noise, number, grid)
    kept = level <= MOST_TEXTURE * max(float(model.max()), float(np.median(level)) if level.size else 0.0)
    spectrum = (NOTHING,) * 4 if blocks is None else _spectrum(blocks)
    return Survey(name, part, brightness[kept], level[kept], grid, model, *spectrum)


def _flat_blocks(plane: Array, number: int, noise: Noise) -> FlatBlocks | None:
    """The flattest blocks of the plane; of noise that grows with brightness, after its transform."""
    if min(plane.shape) < MIN_WIDTH or plane.min() == plane.max():
        return None
    even: Array = plane
    if (noise.gain.any() or noise.magnitude) and noise.sigma.ndim < 2:
        parts = {name: getattr(noise, name) for name in ("sigma", "gain", "offset")}
        one = {name: value[number] if value.ndim == 1 and value.size > 1 else value for name, value in parts.items()}
        even = Noise(**one, magnitude=noise.magnitude).stabilise(plane).image
    values = np.asarray((even - even.mean()) / even.std(), np.float32)
    blocks = Blocks.of(values[None], np.asarray(plane, np.float32))
    energy = np.square(blocks.coefficients[:, 1:, 0]).sum(axis=1)
    varying = energy > CONSTANT * np.median(energy)
    if varying.sum() < MIN_BLOCKS:
        return None
    return measure(Blocks(blocks.coefficients[varying], blocks.brightness[varying]), SHARE)


def _points(plane: Array, noise: Noise, blocks: FlatBlocks | None) -> tuple[Floats, Floats]:
    """Brightness and level of flat areas: of patches or, of correlated noise, of blocks."""
    if noise.blocks is not None:
        if blocks is None or len(blocks.curve.level) < 2:
            return NOTHING, NOTHING
        return blocks.curve.brightness, float(plane.std()) * np.sqrt(blocks.power[1:].mean()) * blocks.curve.level
    found = flat_patches(standardise(plane))
    if isinstance(found, Doubt):
        return NOTHING, NOTHING
    scale = found.plane.scale
    return found.plane.mean + scale * found.points.brightness, scale * np.sqrt(found.points.variance)


def _model(noise: Noise, number: int, brightness: Floats) -> Floats:
    """The level that the model gives at these values of a channel."""
    if noise.blocks is not None:
        sigma = noise.blocks.sigma[min(number, noise.blocks.n_channels - 1)]
        return np.asarray(sigma * np.interp(brightness, noise.blocks.brightness, noise.blocks.level))
    if noise.sigma.ndim > 1 or noise.level == 0:
        return np.full(brightness.shape, noise.level)
    n = max(noise.sigma.size, noise.gain.size, noise.offset.size)
    return noise.std(np.repeat(brightness[:, None], n, axis=1))[:, number if n > 1 else 0]


def _spectrum(found: FlatBlocks) -> tuple[Floats, Floats, Floats, Floats]:
    """Frequencies, relative power at them, and correlation with the next pixels across and down."""
    power = found.power[:, 0, 0].reshape(SIDE, SIDE)
    radius = np.hypot(*np.indices(power.shape))
    rings = [(radius > ring - 0.5) & (radius <= ring + 0.5) for ring in range(1, SIDE)]
    whole = power.reshape(-1)[1:].mean()
    frequency = np.array([radius[ring].mean() for ring in rings]) / (2 * SIDE)
    shape = BlockSpectrum(power=np.stack([power, power / 4])[..., None, None], brightness=np.zeros(1), level=np.ones(1))
    lags = [_correlation(shape.covariance(patch)) for patch in ((1, LAGS + 1), (LAGS + 1, 1))]
    return frequency, np.array([power[ring].mean() for ring in rings]) / whole, lags[0], lags[1]


def _correlation(covariance: Floats) -> Floats:
    """Correlation at distances 1, 2, ... from the covariance of pixels in a line."""
    lines = [float(np.diagonal(covariance, lag).mean()) for lag in range(LAGS + 1)]
    return np.array(lines[1:]) / lines[0]
