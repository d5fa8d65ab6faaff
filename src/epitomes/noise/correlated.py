"""Correlated noise of one image: of cameras, JPEG, resized and scanned pictures. Estimated blind, and believed or not.

The noise of flat blocks is measured at two scales (`flat_blocks`). Texture and shading only add energy, most of all at
low frequencies, so these are limited by what the middle ones allow: no noise of a camera grows faster towards them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from epitomes.checks import Array
from epitomes.colours import lightness_first
from epitomes.halving import halved
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.combine import Estimate
from epitomes.noise.dct_blocks import SIDE, Blocks, at_half_frequencies
from epitomes.noise.doubts import Doubt
from epitomes.noise.evidence import evidence, probability_of_noise
from epitomes.noise.flat_blocks import measure
from epitomes.noise.model import Noise
from epitomes.noise.planes import Floats, standardise

SHARE = 0.05  # of the blocks, the flattest, that show the noise
LIMITS = ((1.75, 1.42), (1.35, 1.2))  # frequencies 1 and 2 along an axis over frequencies 3 and 4, of both scales
# Noise that was blurred may grow faster: as these powers of frequencies 3 and 4 over 5 to 7.
STEEPNESS = (0.5, 0.36)
MEANS = (1.35, 1.6)  # the mean of a block over its slopes: of lightness, of colours
SLACK = 1.1  # of the half size's noise over what the image's noise allows
LEAST_SIDE = 32  # pixels
LEAST_PIXELS = 160**2  # of images that are judged: smaller ones have too few flat blocks to tell noise from texture
LARGEST = 1e100  # contrast whose square can be a variance
LEAST_BLOCKS = 500
LEAST_ALIVE = 0.9  # share of the blocks that are not empty: drawings have many empty ones
LEAST_SPREAD = 0.05  # of the levels of quiet blocks, in logarithms; chance gives 0.13
# The flattest blocks are the quietest, too: true over measured level, besides its growth with the share of blocks.
BIAS, MOST_BIAS = 1.04, 1.4
INTERVAL = (0.75, 1.4)  # true over estimated level; holds 9 of 10 photographs of the CC set, 13 of 33 of PolyU
# Logarithm of the noise at the finest frequencies over the middle ones: below this it is correlated. Above, texture
# under white noise looks the same.
COLOURED = -1.5
# There it is taken for correlated if what was found to be white has a small share of the level of flat blocks:
# - less than `CONTRARY`, and the finest frequencies are weaker than `PALE`;
# - less than `RESIZED`, and they are weaker than `FINEST`, but the spectrum does not fall before them, as that of
#   texture does (`FAST`);
# - less than `THINNED`, the spectrum does not fall, and the blocks are alike: their level grows little with their
#   number (`ALIKE`) and over brightness (`EVEN`).
# Or if the level falls with brightness, by more than `FALLING`. All but the third ask for a probability of noise.
CONTRARY, PALE, SURE = 0.5, -0.6, 0.7
RESIZED, FINEST, FAST, PROBABLE = 0.8, -0.4, -0.2, 0.55
THINNED, ALIKE, EVEN = 0.28, 0.15, 2.5
FALLING, EVIDENT = -0.2, 0.8
DISBELIEF, BELIEF = 0.2, 0.5  # probability of noise up to which nothing is removed, and from which all of it
EMPTY = 1e-10  # energy of a block, relative to that of the image: below it there is rounding
DEAD = 1e-4  # energy of a block over the median: below it, JPEG or clipping left nothing


def estimate_correlated(image: Array, white: Callable[[], Estimate], *, certain: bool = False) -> Estimate:
    """Estimate the noise of `(height, width[, channels])`.

    It is what `white` finds if it is white, or if there is no telling it from texture. `certain`: the user says that it
    is correlated.
    """
    if not certain and math.prod(image.shape[:2]) < LEAST_PIXELS:
        return white()
    measured = measure_correlated(image)
    if measured is None:
        return white()
    if certain:
        return measured.estimate(1.0)
    if measured.looks_white:
        found = white()
        return measured.estimate(1.0) if measured.contradicts(found.noise) else found
    trust = float(np.clip((measured.probability - DISBELIEF) / (BELIEF - DISBELIEF), 0, 1))
    return measured.estimate(trust) if trust else white()


def _doubtful(probability: float, trust: float) -> Doubt:
    text = (
        f"What looks like noise may be fine texture (probability of noise {probability:.0%}): {trust:.0%} of its level "
        "is assumed."
    )
    return Doubt("texture", text)


@dataclass(frozen=True, eq=False)
class Measured:
    """The noise of an image, if it is noise, and what speaks for and against that."""

    spectrum: BlockSpectrum
    evidence: dict[str, float]
    alive: float  # share of the blocks that hold anything at all

    @property
    def probability(self) -> float:
        """The probability that this is noise; 0 where blocks are empty or equal, as in drawings."""
        return probability_of_noise(self.evidence) if self.is_random else 0.0

    @property
    def is_random(self) -> bool:
        """Whether blocks differ as those of noise do, and are not empty or equal."""
        return self.alive >= LEAST_ALIVE and self.evidence["quiet"] >= LEAST_SPREAD

    @property
    def bias(self) -> float:
        """The level of the noise over that of the flattest blocks, as far as it can be told."""
        return min(BIAS * math.exp(max(0.0, self.evidence["rougher"])), MOST_BIAS)

    def estimate(self, trust: float) -> Estimate:
        """The noise, with this share of its level."""
        noise = Noise.from_blocks(self.spectrum.times(self.bias * trust))
        low, high = (end * noise.level for end in INTERVAL)
        doubts = [] if trust == 1 else [_doubtful(self.probability, trust)]
        return Estimate(replace(noise, interval=(low, high / trust), estimated=True), tuple(doubts))

    def contradicts(self, white: Noise) -> bool:
        """Whether noise with a spectrum that is nearly white is not what was found to be white.

        JPEG removes noise at places and frequencies where it is faint, and thus just where white noise is measured.
        Resizing removes some of it at fine frequencies. Gamma correction makes it fall with brightness.
        """
        if white.gain.any():
            return False
        level, finest = self.spectrum.level, self.evidence["finest"]
        ratio = white.level / float(np.sqrt(np.mean(np.square(self.spectrum.sigma))))
        falls_late = self.evidence["fast"] > FAST
        alike = self.is_random and self.evidence["rougher"] < ALIKE and level.max() < EVEN * level.min()
        slope = np.polyfit(np.linspace(0, 1, len(level)), np.log(level), 1)[0] if len(level) > 1 else 0.0
        return bool(
            (ratio < CONTRARY and finest <= PALE and self.probability >= SURE)
            or (ratio < RESIZED and finest < FINEST and falls_late and self.probability >= PROBABLE)
            or (ratio < THINNED and falls_late and alike)
            or (slope < FALLING and self.probability >= EVIDENT)
        )

    @property
    def looks_white(self) -> bool:
        """Whether the finest frequencies hold so much noise that it may be white."""
        return self.evidence["finest"] > COLOURED


def measure_correlated(image: Array) -> Measured | None:
    """Measure the noise of `(height, width[, channels])`; None if the image has too few blocks to tell."""
    if min(image.shape[:2]) < LEAST_SIDE:
        return None
    plane = standardise(image)
    if not 1 / LARGEST < plane.scale < LARGEST:
        return None
    planes = plane.pixels.reshape(*image.shape[:2], -1)
    n = planes.shape[2]
    turn = lightness_first(n)
    planar = np.einsum("ac,hwc->ahw", turn, planes).astype(np.float32)
    brightness = planes.mean(axis=2).astype(np.float32)
    every = Blocks.of(planar, brightness)
    blocks = _alive(every)
    if len(blocks) < LEAST_BLOCKS:
        return None
    fine = measure(blocks, SHARE)
    half = np.stack([halved(plane) for plane in planar])
    lower = _alive(Blocks.of(half, halved(brightness)))
    enough = len(lower) >= LEAST_BLOCKS
    small = measure(lower, SHARE, fine.curve) if enough else replace(fine, power=fine.power / 4)
    first, limits = _limited(fine.power, LIMITS[0])
    second, _ = _limited(small.power, LIMITS[1], most=limits)
    level = np.sqrt(np.mean(np.square(fine.curve.at(blocks.brightness))))
    spectrum = BlockSpectrum(
        power=np.stack([first, second]).reshape(2, SIDE, SIDE, n, n) * (level * plane.scale) ** 2,
        brightness=fine.curve.brightness * plane.scale + plane.mean,
        level=fine.curve.level / level,
    )
    return Measured(spectrum.turned(turn.T), evidence(blocks, fine, small), len(blocks) / max(1, len(every)))


def _alive(blocks: Blocks) -> Blocks:
    """Blocks without those that JPEG or clipping left empty."""
    energy = np.square(blocks.coefficients[:, 1:, 0]).mean(axis=1)
    kept = energy > max(EMPTY, DEAD * np.median(energy))
    return Blocks(blocks.coefficients[kept], blocks.brightness[kept])


def _limited(power: Floats, limits: tuple[float, float], most: Floats | None = None) -> tuple[Floats, Floats]:
    """The power with limited low frequencies, and its deviations `(8, 8, channels)`.

    `most` are the deviations of the image whose half size this is.
    """
    measured = np.sqrt(np.maximum(np.einsum("kcc->kc", power), np.finfo(np.float64).tiny)).reshape(SIDE, SIDE, -1)
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
    ratio = (deviation / measured).reshape(SIDE**2, -1)
    return power * ratio[:, :, None] * ratio[:, None, :], deviation
