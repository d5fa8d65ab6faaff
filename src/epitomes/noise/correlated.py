"""Correlated noise of one image: of cameras, JPEG, resized and scanned pictures. Estimated blind, and believed or not.

The noise of flat blocks is measured at two or three scales (`scales`), and that of JPEG files where their steps do not
hide it (`jpeg_noise`). Of three channels, a colour difference is measured by itself where it may be the better witness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from epitomes.checks import Array
from epitomes.colours import lightness_first
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.combine import Estimate
from epitomes.noise.dct_blocks import ORDER, SIDE
from epitomes.noise.doubts import Doubt
from epitomes.noise.evidence import probability_of_noise
from epitomes.noise.jpeg_noise import level_after_jpeg
from epitomes.noise.model import Noise
from epitomes.noise.planes import Floats, standardise
from epitomes.noise.scales import measure_scales

LEAST_SIDE = 32  # pixels
LEAST_PIXELS = 160**2  # of images that are judged: smaller ones have too few flat blocks to tell noise from texture
LARGEST = 1e100  # contrast whose square can be a variance
LEAST_ALIVE = 0.9  # share of the blocks that are not empty: drawings have many empty ones
LEAST_SPREAD = 0.05  # of the levels of quiet blocks, in logarithms; chance gives 0.13
# The flattest blocks are the quietest, too, the more so after JPEG. How far the levels of quiet blocks are apart tells
# how much stronger the noise is elsewhere: the true level grows with the exponential of `SPREAD` times that, beyond
# `CHANCE` (44 photographs with known noise, correlation 0.86). Texture spreads them, too, so noise must be certain.
BIAS, MOST_BIAS = 1.04, 1.7
SPREAD, CHANCE = 2.9, 0.17
CERTAIN = 0.8  # probability of noise from which all of it is believed
INTERVAL = (0.7, 1.6)  # true over estimated level; holds 10 of 10 photographs of the CC set, 20 of 34 of PolyU
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
# The channels have noise of their own, and of one kind, if lightness and both colour differences agree at the finest
# frequencies within `ALIKE_CHANNELS`. A colour difference, which has hardly any texture, is then the best witness. It
# shows noise if it does not grow towards low frequencies (`HALVED`, `STEEP`), other than the colours of objects. This
# noise is not white if its finest frequencies are weaker than `FADED`, its level over brightness is not even
# (`UNEVEN`), or what was found to be white has less than `LESS` of its level.
ALIKE_CHANNELS = 1.25
HALVED, STEEP = -0.35, -0.75
FADED, UNEVEN, LESS = -0.3, 1.22, 0.85
# White noise is one that the channels share, as of film and of cameras that smooth colours, if the finest frequencies
# of every two of them go together so far, and it has this share of the level of flat blocks: otherwise it is texture.
SHARED, PRESENT = 0.7, 0.5
FINE = ORDER.reshape(SIDE, SIDE) >= 10
COARSE = -0.25  # growth of the noise of colours, up to which it limits that of lightness
SLACK = 1.2  # of a first look at that, before colours are measured by themselves
COLOURS = 3
JPEG_COLOURS = 1.4  # noise of colours in JPEG files over that of their flat blocks
DISBELIEF, BELIEF = 0.2, 0.5  # probability of noise up to which nothing is removed, and from which all of it


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
    witness = None if certain or not measured.has_sharp_colours else measure_colours(image)
    if witness is not None and measured.is_independent and witness.is_noise_of_colours:
        found = white()
        return witness.estimate(1.0) if witness.is_other_than(found.noise) else found
    if witness is not None:
        measured = measured.limited_by(witness)
    luma = level_after_jpeg(image)
    if luma is not None:
        measured = measured.with_white_luma(luma)
    if certain or luma is not None:
        return measured.estimate(1.0)
    if measured.looks_white:
        found = white()
        if measured.contradicts(found.noise):
            return measured.estimate(1.0)
        return measured.shared(found) if measured.is_shared(found.noise) else found
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
    biased: bool = True  # whether the level is that of the flattest blocks

    @property
    def probability(self) -> float:
        """The probability that this is noise; 0 where blocks are empty or equal, as in drawings."""
        return probability_of_noise(self.evidence) if self.is_random else 0.0

    @property
    def is_random(self) -> bool:
        """Whether blocks differ as those of noise do, and are not empty or equal."""
        return self.alive >= LEAST_ALIVE and self.evidence["quiet"] >= LEAST_SPREAD

    @property
    def level(self) -> float:
        """The level of flat blocks, over all channels."""
        return float(np.sqrt(np.mean(np.square(self.spectrum.sigma))))

    @property
    def finest(self) -> Floats:
        """Variances of lightness and of both colour differences at the finest frequencies."""
        fine = self.spectrum.turned(lightness_first(COLOURS)).power[0, FINE].mean(axis=0)
        return np.asarray(np.maximum(np.diagonal(fine), np.finfo(np.float64).tiny))

    @property
    def bias(self) -> float:
        """The level of the noise over that of the flattest blocks, as far as it can be told."""
        if not self.biased:
            return 1.0
        sure = float(np.clip((self.probability - BELIEF) / (CERTAIN - BELIEF), 0, 1))
        return float(np.clip(math.exp(SPREAD * sure * (self.evidence["quiet"] - CHANCE)), BIAS, MOST_BIAS))

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
        ratio = white.level / self.level
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
    def has_sharp_colours(self) -> bool:
        """Whether the finest frequencies of the second colour difference are no weaker than those of lightness."""
        if self.spectrum.n_channels != COLOURS:
            return False
        lightness, _, colour = self.finest
        return bool(lightness < (ALIKE_CHANNELS * SLACK) ** 2 * colour)

    @property
    def is_independent(self) -> bool:
        """Whether every channel has noise of its own, and of one kind: any mixture of them is as noisy."""
        return self.spectrum.n_channels == COLOURS and bool(self.finest.max() < ALIKE_CHANNELS**2 * self.finest.min())

    @property
    def is_noise_of_colours(self) -> bool:
        """Whether this, measured on a colour difference, is noise, and not the colours of objects."""
        return self.is_random and self.evidence["half middle"] < HALVED and self.evidence["fast"] > STEEP

    def is_other_than(self, white: Noise) -> bool:
        """Whether noise of a colour difference is not the `white` one that was found."""
        level = self.spectrum.level
        return not white.gain.any() and bool(
            self.evidence["finest"] < FADED or level.max() > UNEVEN * level.min() or white.level < LESS * self.level
        )

    def limited_by(self, colours: Measured) -> Measured:
        """The same with no more noise in lightness than noise of colours allows.

        Demosaicking and cameras smooth colours more than lightness. Where the finest frequencies of colours are as
        strong all the same, colours were not smoothed, and what is stronger in lightness is texture.
        """
        turn = lightness_first(COLOURS)
        own, most = self.spectrum.turned(turn), colours.spectrum.power[..., 0, 0]
        lightness = np.maximum(own.power[..., 0, 0], np.finfo(np.float64).tiny)
        if (
            not colours.is_random
            or colours.evidence["half middle"] > COARSE
            or ALIKE_CHANNELS**2 * most[0, FINE].mean() < lightness[0, FINE].mean()
            or most.shape != lightness.shape
        ):
            return self
        by = np.ones(own.power.shape[:-1])
        by[..., 0] = np.sqrt(np.minimum(1, most / lightness))
        limited = replace(own, power=_scaled(own.power, by))
        spread = min(self.evidence["quiet"], colours.evidence["quiet"])  # texture spreads levels, too
        return replace(self, spectrum=limited.turned(turn.T), evidence=self.evidence | {"quiet": spread})

    def is_shared(self, white: Noise) -> bool:
        """Whether the channels have one noise in common: `white`, but not one of its own for each."""
        if self.spectrum.n_channels == 1 or white.gain.any():
            return False
        together = float(_correlations(self.spectrum.power[0, FINE].mean(axis=0)).min())
        return together > SHARED and white.level > PRESENT * self.level

    def shared(self, white: Estimate) -> Estimate:
        """White noise of each channel, with the correlations of the channels at each frequency."""
        own = self.spectrum
        sigma = np.broadcast_to(white.noise.sigma, own.n_channels)
        share = 0.25 ** np.arange(own.n_scales).reshape(-1, 1, 1, 1, 1)  # of the variance, at half the size and so on
        power = _correlations(own.power) * np.outer(sigma, sigma) * share
        noise = Noise.from_blocks(BlockSpectrum(power=power, brightness=np.zeros(1), level=np.ones(1)))
        return Estimate(replace(noise, interval=white.noise.interval, estimated=True), white.doubts)

    def with_white_luma(self, level: float) -> Measured:
        """The same with white noise of this level in lightness, as it was before JPEG, everywhere.

        Where steps have removed it from flat blocks, it is as strong beside edges and in texture. Colours, which most
        files hold at half the size, have the noise that was measured, and more of it where there is texture.
        """
        turn = lightness_first(self.spectrum.n_channels)
        own = self.spectrum.turned(turn)
        variance = len(turn) * level**2 * 0.25 ** np.arange(own.n_scales)
        by = np.full(own.power.shape[:-1], JPEG_COLOURS)
        by[..., 0] = np.sqrt(variance[:, None, None] / np.maximum(own.power[..., 0, 0], np.finfo(np.float32).tiny))
        white = BlockSpectrum(power=_scaled(own.power, by), brightness=np.zeros(1), level=np.ones(1))
        return replace(self, spectrum=white.turned(turn.T), biased=False)

    @property
    def looks_white(self) -> bool:
        """Whether the finest frequencies hold so much noise that it may be white."""
        return self.evidence["finest"] > COLOURED


def _scaled(power: Floats, by: Floats) -> Floats:
    """The power with each deviation multiplied."""
    return np.asarray(power * by[..., :, None] * by[..., None, :])


def _correlations(covariance: Array) -> Array:
    """Of covariances `(..., channels, channels)`."""
    deviation = np.sqrt(np.maximum(np.einsum("...cc->...c", covariance), np.finfo(np.float64).tiny))
    return np.asarray(covariance / (deviation[..., :, None] * deviation[..., None, :]))


def measure_correlated(image: Array) -> Measured | None:
    """Measure the noise of `(height, width[, channels])`; None if the image has too few blocks to tell."""
    return _measure(image, lightness_first(1 if image.ndim == 2 else image.shape[2]))


def measure_colours(image: Array) -> Measured | None:
    """Measure noise that every channel of `(height, width, 3)` has for itself, on the second colour difference."""
    found = _measure(image, lightness_first(COLOURS)[-1:])
    if found is None:
        return None
    own = found.spectrum
    each = BlockSpectrum(power=own.power * np.eye(COLOURS), brightness=own.brightness, level=own.level)
    return replace(found, spectrum=each, biased=False)


def _measure(image: Array, turn: Floats) -> Measured | None:
    """Measure the mixtures of the channels that are the rows of `turn`."""
    if min(image.shape[:2]) < LEAST_SIDE:
        return None
    plane = standardise(image)
    if not 1 / LARGEST < plane.scale < LARGEST:
        return None
    planes = plane.pixels.reshape(*image.shape[:2], -1)
    planar = np.einsum("ac,hwc->ahw", turn, planes).astype(np.float32)
    found = measure_scales(planar, planes.mean(axis=2).astype(np.float32))
    if found is None:
        return None
    level = np.sqrt(np.mean(np.square(found.curve.at(found.blocks.brightness))))
    n = len(turn)
    power = np.stack(found.powers).reshape(-1, SIDE, SIDE, n, n)
    spectrum = BlockSpectrum(
        power=power * (level * plane.scale) ** 2,
        brightness=found.curve.brightness * plane.scale + plane.mean,
        level=found.curve.level / level,
    )
    return Measured(spectrum if n == 1 else spectrum.turned(turn.T), found.evidence, found.alive)
