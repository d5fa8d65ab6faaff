"""Correlated noise: filtered groups of joint patches, then passes for white noise, at two scales.

Groups of joint patches, all channels at once, are filtered by their covariance and that of the noise. The passes for
white noise go on from there, with each channel in units of its own noise: correlated noise is stronger than its level
says where it is strong, so the units are larger than the level. Noise that is longer than a patch is removed at half
the size first, whose estimate then takes the place of the low frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from epitomes.epitome import Epitome
from epitomes.groups import Matching, Wiener, estimate
from epitomes.groups.matching import Planar
from epitomes.noise import BlockSpectrum
from epitomes.noise.dct_blocks import SIDE
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local.passes import Pass, State
from epitomes.restoration.non_local.scales import from_small, half_size, joined
from epitomes.restoration.non_local.thresholding import thresholded

FINE, COARSE = 0, 1
UNITS = ((2.2, 2.2), (1.5, 1.8))  # of the passes, in levels of the noise: of lightness and of colours; fine and coarse
LEFT = 0.15  # share of the noise's variance that is left where the small image has taken its place
COARSE_COST = 0.2  # of the time of both scales
FILTER_COST = 0.3  # of the time of one scale


@dataclass(frozen=True, kw_only=True)
class JointFilter:
    """Groups of joint patches, filtered with the covariance of the noise, round by round."""

    patch: int = 4
    rounds: int = 2
    group_size: int = 120
    search_radius: int = 20
    stride: int = 3
    gain: float = 1.3  # of the level of the noise

    def run(
        self, noisy: Planar, spectrum: BlockSpectrum, scale: int, threads: int | None, callback: Callback | None
    ) -> Planar:
        """Estimate an image from thresholded blocks, and then from its own estimate."""
        even = levels(spectrum, noisy)
        deviation = np.sqrt(np.einsum("ijcc->ijc", spectrum.power[scale]))
        guide = even * thresholded(noisy / even, deviation, threads)
        side = min(self.patch, *noisy.shape[2:])
        step = min(self.stride, side)
        matching = Matching(
            patch=(1, side, side),
            search_radius=(0, self.search_radius, self.search_radius),
            stride=(1, step, step),
            group_size=self.group_size,
        )
        shrinker = Wiener(covariance=spectrum.covariance((side, side), scale))
        for number in range(self.rounds):
            part = within(callback, number / self.rounds, (number + 1) / self.rounds)
            guide = estimate(
                noisy,
                matching=matching,
                shrinker=shrinker,
                level=self.gain * _in_patches(levels(spectrum, guide), side),
                match_on=guide,
                guide=guide,
                threads=threads,
                callback=_told(part, "filtering groups"),
            )
        return guide


COARSE_FILTER = JointFilter(rounds=1, stride=4)  # in half the time
"""Filter for users in a hurry."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlated:
    """What is done to an image with correlated noise."""

    passes: Sequence[Pass]  # that go on from the filtered image
    epitome: Epitome
    seed: int
    joint: JointFilter = JointFilter()

    def run(
        self, noisy: Planar, spectrum: BlockSpectrum, threads: int | None, callback: Callback | None
    ) -> tuple[Planar, Epitome]:
        """The estimate of a planar image, lightness first, and the epitome in the end."""
        fine = within(callback, COARSE_COST, 1.0)
        small = self._small(noisy, spectrum, threads, within(callback, 0.0, COARSE_COST))
        mixed, rest = (noisy, spectrum) if small is None else (joined(noisy, small), _rest(spectrum))
        found, epitome = self.joint.run(mixed, rest, FINE, threads, within(fine, 0.0, FILTER_COST)), self.epitome
        if self.passes:
            found, epitome = self._refined(noisy, found, spectrum, FINE, threads, within(fine, FILTER_COST, 1.0))
        return found if small is None or not self.passes else joined(found, small), epitome

    def _small(
        self, noisy: Planar, spectrum: BlockSpectrum, threads: int | None, callback: Callback | None
    ) -> Planar | None:
        """The estimate at half the size; None if that is smaller than a block."""
        half = half_size(noisy)
        if min(half.shape[2:]) < SIDE:
            return None
        found = self.joint.run(half, spectrum, COARSE, threads, within(callback, 0.0, FILTER_COST))
        if not self.passes:
            return found
        refined, _ = self._refined(half, found, spectrum, COARSE, threads, within(callback, FILTER_COST, 1.0))
        found += refined
        found /= 2
        return found

    def _refined(
        self,
        noisy: Planar,
        found: Planar,
        spectrum: BlockSpectrum,
        scale: int,
        threads: int | None,
        callback: Callback | None,
    ) -> tuple[Planar, Epitome]:
        """The estimate after the passes for white noise."""
        unit = units(spectrum, scale)[:, None, None, None] * levels(spectrum, found)
        mean = noisy.mean(axis=(1, 2, 3), keepdims=True, dtype=np.float64).astype(np.float32)
        state = State.begin((noisy - mean) / unit, (found - mean) / unit, self.epitome)
        n = len(self.passes)
        for number, step in enumerate(self.passes, start=1):
            part = within(callback, (number - 1) / n, number / n)
            advance = _told(part, f"pass {number} of {n}")
            state = step.run(state, seed=self.seed, threads=threads, advance=advance)
        return state.current * unit + mean, state.epitome


def units(spectrum: BlockSpectrum, scale: int) -> NDArray[np.float32]:
    """The noise that the passes are told, for each channel."""
    power = np.einsum("ijcc->ijc", spectrum.power[scale]).reshape(SIDE**2, -1)[1:]
    lightness, colours = UNITS[scale]
    factors = np.array([lightness] + [colours] * (spectrum.n_channels - 1))
    level = factors * np.sqrt(power.mean(axis=0))
    return np.asarray(np.maximum(level, 1e-6 * level.max()), np.float32)


def levels(spectrum: BlockSpectrum, image: Planar) -> NDArray[np.float32]:
    """The relative level of the noise at every pixel, `(height, width)`, by the brightness of the image."""
    brightness = image[0, 0] / np.float32(np.sqrt(3)) if len(image) == 3 else image[:, 0].mean(axis=0)
    return spectrum.level_map(brightness)


def _rest(spectrum: BlockSpectrum) -> BlockSpectrum:
    """What the small image leaves of the noise when it has taken the place of the low frequencies."""
    frequency = np.arange(SIDE, dtype=np.float32) / (SIDE / 2)
    left = np.maximum(np.square(1 - from_small(frequency, frequency)), LEFT)
    return replace(spectrum, power=spectrum.power * left[:, :, None, None])


def _in_patches(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """The value in the middle of every patch, `(1, places down, places across)`."""
    height, width = (size - side + 1 for size in values.shape)
    return np.ascontiguousarray(values[side // 2 :, side // 2 :][:height, :width])[None]


def _told(part: Callback | None, stage: str) -> Callable[[float], None] | None:
    return None if part is None else partial(_tell, part, stage)


def _tell(part: Callback, stage: str, fraction: float) -> None:
    part(fraction, stage)
