"""Noise at several scales: that of an image, of half its size and, if the noise is long, of a quarter.

Texture and shading only add energy, most of all at low frequencies, so these are limited by what the middle ones allow:
no noise of a camera grows faster towards them. Long noise, which was blurred, is below the middle frequencies. There
the image at half its size is measured as if it were the image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from epitomes.halving import halved
from epitomes.noise.colour_noise import is_coarse, plausible
from epitomes.noise.dct_blocks import SIDE, Blocks, at_half_frequencies
from epitomes.noise.evidence import evidence, probability_of_noise
from epitomes.noise.flat_blocks import Curve, measure
from epitomes.noise.planes import Floats

SHARE = 0.05  # of the blocks, the flattest, that show the noise
LIMITS = ((1.75, 1.42), (1.35, 1.2))  # frequencies 1 and 2 along an axis over frequencies 3 and 4, of both scales
# Noise that was blurred may grow faster: as these powers of frequencies 3 and 4 over 5 to 7.
STEEPNESS = (0.5, 0.36)
MEANS = (1.35, 1.6)  # the mean of a block over its slopes: of lightness, of colours
SLACK = 1.1  # of the half size's noise over what the image's noise allows
LEAST_BLOCKS = 500
EMPTY = 1e-10  # energy of a block, relative to that of the image: below it there is rounding
DEAD = 1e-4  # energy of a block over the median: below it, JPEG or clipping left nothing
# Frequencies 3 and 4 over 5 to 7 of the half size, from which noise is long. Blurred by 1 pixel it has 1.45, by 2 4.2.
LONG = 2.2
PROBABLE = 0.5  # that it is noise, at both sizes
MOST_SCALES = 3


@dataclass(frozen=True, eq=False)
class Scales:
    """What flat blocks show at each scale."""

    powers: tuple[Floats, ...]  # (64, channels, channels) each: of the image, of its half size, and so on
    curve: Curve
    blocks: Blocks  # of the image
    evidence: dict[str, float]
    alive: float  # share of the blocks that hold anything at all


def measure_scales(
    planar: NDArray[np.float32], brightness: NDArray[np.float32], most: int = MOST_SCALES
) -> Scales | None:
    """Measure `(channels, height, width)`, lightness first; None if there are too few blocks to tell."""
    every = Blocks.of(planar, brightness)
    blocks = _alive(every)
    if len(blocks) < LEAST_BLOCKS:
        return None
    half, half_brightness = np.stack([halved(plane) for plane in planar]), halved(brightness)
    fine = measure(blocks, SHARE)
    lower = _alive(Blocks.of(half, half_brightness))
    enough = len(lower) >= LEAST_BLOCKS
    small = measure(lower, SHARE, fine.curve) if enough else replace(fine, power=fine.power / 4)
    found, alive = evidence(blocks, fine, small), len(blocks) / max(1, len(every))
    if enough and most > 2 and _steepness(small.power) > LONG and probability_of_noise(found) > PROBABLE:
        longer = measure_scales(half, half_brightness, most - 1)
        if longer is not None and probability_of_noise(longer.evidence) > PROBABLE:
            first = _below(measure(blocks, SHARE, longer.curve).power, longer.powers[0])
            return Scales((first, *longer.powers), longer.curve, blocks, longer.evidence, min(alive, longer.alive))
    first, limits = _limited(fine.power, LIMITS[0])
    second, _ = _limited(small.power, LIMITS[1], most=limits)
    if is_coarse(first):
        first, second = plausible(first, 0), plausible(second, 1)
    return Scales((first, second), fine.curve, blocks, found, alive)


def _alive(blocks: Blocks) -> Blocks:
    """Blocks without those that JPEG or clipping left empty."""
    energy = np.square(blocks.coefficients[:, 1:, 0]).mean(axis=1)
    kept = energy > max(EMPTY, DEAD * np.median(energy))
    return Blocks(blocks.coefficients[kept], blocks.brightness[kept])


def _steepness(power: Floats) -> float:
    """Frequencies 3 and 4 over 5 to 7 of lightness, along the axes."""
    deviation = _deviations(power)[:, :, 0]
    axes = deviation[0] + deviation[:, 0]
    return float(axes[3:5].mean() / axes[5:].mean())


def _deviations(power: Floats) -> Floats:
    """Standard deviations `(8, 8, channels)`."""
    variances = np.maximum(np.einsum("kcc->kc", power), np.finfo(np.float64).tiny)
    return np.asarray(np.sqrt(variances).reshape(SIDE, SIDE, -1))


def _limited(power: Floats, limits: tuple[float, float], most: Floats | None = None) -> tuple[Floats, Floats]:
    """The power with limited low frequencies, and its deviations `(8, 8, channels)`.

    `most` are the deviations of the image whose half size this is.
    """
    measured = _deviations(power)
    deviation = measured.copy()
    if most is not None:
        deviation = np.minimum(deviation, SLACK / 2 * at_half_frequencies(most))
    for along in (deviation[0], deviation[:, 0]):  # views
        middle, fast = along[3:5, 0].mean(), along[5:, 0].mean()
        for k, limit, steepness in zip((1, 2), limits, STEEPNESS, strict=True):
            along[k, 0] = min(along[k, 0], max(limit, (middle / fast) ** steepness) * middle)
    across, down = deviation[0], deviation[:, 0]
    deviation[1, 1] = np.minimum(deviation[1, 1], np.sqrt(across[1] * down[1]))
    for i, j in ((1, 2), (2, 1)):
        deviation[i, j, 0] = min(deviation[i, j, 0], np.sqrt(down[i, 0] * across[j, 0]))
    deviation[0, 0] = np.sqrt(across[1] * down[1]) * np.array([MEANS[0]] + [MEANS[1]] * (deviation.shape[2] - 1))
    return _scaled(power, deviation / measured), deviation


def _below(power: Floats, half: Floats) -> Floats:
    """The power of an image, of which its half size has the noise: no more than twice as strong at each frequency."""
    measured = _deviations(power)
    twice = np.minimum(2 * np.arange(SIDE), SIDE - 1)
    most = 2 * _deviations(half)[np.ix_(twice, twice)]
    return _scaled(power, np.minimum(measured, most) / measured)


def _scaled(power: Floats, ratio: Floats) -> Floats:
    """The power with deviations of `ratio` times the size, `(8, 8, channels)`."""
    by = ratio.reshape(SIDE**2, -1)
    return np.asarray(power * by[:, :, None] * by[:, None, :])
