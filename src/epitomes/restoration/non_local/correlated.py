"""Correlated noise: filtered groups of joint patches, then passes for white noise, at two scales or more.

Groups of joint patches, all channels at once, are filtered by their covariance and that of the noise. The passes for
white noise go on from there, with each channel in units of its own noise: correlated noise is stronger than its level
says where it is strong, so the units are larger than the level. Noise that is longer than a patch is removed at half
the size first, whose estimate then takes the place of the low frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from epitomes.epitome import Epitome
from epitomes.groups import Matching, Wiener, estimate
from epitomes.groups._estimate import lines_of
from epitomes.groups.matching import Planar
from epitomes.noise import BlockSpectrum
from epitomes.noise.block_spectrum import BLUR
from epitomes.noise.dct_blocks import ORDER, SIDE
from epitomes.noise.planes import Floats
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local.passes import Pass, State, clipped_contrast, support_of_steps
from epitomes.restoration.non_local.scales import REACH, from_small, half_size, joined
from epitomes.restoration.non_local.thresholding import BAND, STEP, thresholded
from epitomes.restoration.whole_image import Support, WholeImage, WholeScale

# Of the passes, in levels of the noise: of lightness and of colours; for all scales but the last, and for that.
UNITS = ((2.2, 2.2), (1.5, 1.8))
# They are for noise that has this share of its level at the finer frequencies, or less. White noise has all of it, and
# units of 1.
FINER = (0.4, 0.7)
STEEPNESS = 1.7  # how fast the units fall with that share
GAIN = 0.25  # by which the filter takes the noise for stronger than it is where the units are largest
SLACK = 1.3  # of the variance of the noise, before what is left of the image counts as lost detail
AROUND = 2.0  # pixels at half the size: standard deviation of the window in which errors are measured
LEAST_FINER = 0.05  # share of the level at the finer frequencies: with less, the filter is enough, and keeps detail
LEFT = 0.15  # share of the noise's variance that is left where the small image has taken its place
LEVEL_REACH, AROUND_REACH = (math.ceil(4 * width) + 1 for width in (BLUR, AROUND))  # pixels of their windows
COARSE_COST = 0.2  # of the time of both scales
FILTER_COST = 0.3  # of the time of one scale


@dataclass(frozen=True, kw_only=True)
class JointFilter:
    """Groups of joint patches, filtered with the covariance of the noise, round by round."""

    patch: int = 4
    rounds: int = 3
    group_size: int = 120
    search_radius: int = 20
    stride: int = 3

    def run(
        self,
        noisy: Planar,
        spectrum: BlockSpectrum,
        scale: int,
        gain: float,
        threads: int | None,
        callback: Callback | None,
    ) -> Planar:
        """Estimate an image from thresholded blocks, and then from its own estimate; `gain` multiplies the level."""
        even = levels(spectrum, noisy)
        deviation = np.sqrt(np.einsum("ijcc->ijc", spectrum.power[scale]))
        guide = even * thresholded(noisy / even, deviation, threads)
        side = min(self.patch, *noisy.shape[2:])
        last = Matching(
            patch=(1, side, side),
            search_radius=(0, self.search_radius, self.search_radius),
            stride=(1, min(self.stride, side), min(self.stride, side)),
            group_size=self.group_size,
        )
        early = replace(last, stride=(1, side, side))  # side by side: it only guides the next round
        shrinker = Wiener(covariance=spectrum.covariance((side, side), scale))
        for number in range(self.rounds):
            part = within(callback, number / self.rounds, (number + 1) / self.rounds)
            guide = estimate(
                noisy,
                matching=last if number + 1 == self.rounds else early,
                shrinker=shrinker,
                level=gain * _in_patches(levels(spectrum, guide), side),
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
    whole: WholeImage | None = None  # what a part must know of the whole image; None: it is no part

    def run(
        self,
        noisy: Planar,
        spectrum: BlockSpectrum,
        threads: int | None,
        callback: Callback | None,
        scale: int = 0,
    ) -> tuple[Planar, Epitome]:
        """The estimate of a planar image, lightness first, and the epitome in the end.

        `scale` is how often the image was halved. Each scale begins with the estimate of the next one.
        """
        smaller, fine = within(callback, 0.0, COARSE_COST), within(callback, COARSE_COST, 1.0)
        half = self._half(noisy, spectrum, scale)
        small = None if half is None else self.run(half, spectrum, threads, smaller, scale + 1)[0]
        mixed, rest = (noisy, spectrum) if small is None else (joined(noisy, small), _rest(spectrum))
        gain, part = 1 + GAIN * float(coarseness(spectrum, scale)[0]), within(fine, 0.0, FILTER_COST)
        found, epitome = self.joint.run(mixed, rest, scale, gain, threads, part), self.epitome
        if not self.passes or (small is not None and _is_long(spectrum, scale)):
            return found, epitome
        refined, epitome = self._refined(noisy, found, spectrum, scale, threads, within(fine, FILTER_COST, 1.0))
        if half is not None and small is not None:
            refined = joined(refined, _combined(half, small, half_size(refined), spectrum, scale + 1))
        elif scale:
            refined += found
            refined /= 2
        return refined, epitome

    def _half(self, noisy: Planar, spectrum: BlockSpectrum, scale: int) -> Planar | None:
        """The image at half its size; None if there is no other scale."""
        n_scales = spectrum.n_scales if self.whole is None else len(self.whole.scales)
        if scale + 1 == n_scales or (self.whole is None and not has_half(noisy)):
            return None
        return half_size(noisy)

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
        known = whole_scale(noisy, spectrum, scale) if self.whole is None else self.whole.scales[scale]
        mean = np.asarray(known.means, np.float32)[:, None, None, None]
        even, pilot = (noisy - mean) / unit, (found - mean) / unit
        state = State(even, pilot, self.epitome, known.contrast, part=self.whole is not None)
        n = len(self.passes)
        for number, step in enumerate(self.passes, start=1):
            part = within(callback, (number - 1) / n, number / n)
            advance = _told(part, f"pass {number} of {n}")
            state = step.run(state, seed=self.seed, threads=threads, advance=advance)
        return state.current * unit + mean, state.epitome


def has_half(noisy: Planar) -> bool:
    """Whether an image is large enough for blocks at half its size."""
    return bool(min(noisy.shape[2:]) >= 2 * SIDE - 1)


def whole_scale(noisy: Planar, spectrum: BlockSpectrum, scale: int) -> WholeScale:
    """What is known of a whole image at one scale: the means of its channels, and its contrast for the passes."""
    means = noisy.mean(axis=(1, 2, 3), dtype=np.float64)
    unit = units(spectrum, scale)[0] * levels(spectrum, noisy)
    return WholeScale(tuple(map(float, means)), clipped_contrast((noisy[:1] - np.float32(means[0])) / unit))


def whole_scales(noisy: Planar, spectrum: BlockSpectrum) -> tuple[WholeScale, ...]:
    """The same at all scales, the finest first."""
    found = [whole_scale(noisy, spectrum, 0)]
    while len(found) < spectrum.n_scales and has_half(noisy):
        noisy = half_size(noisy)
        found.append(whole_scale(noisy, spectrum, len(found)))
    return tuple(found)


def support_of_filters(joint: JointFilter, passes: Sequence[Pass], epitome: Epitome, whole: WholeImage) -> Support:
    """How far all scales reach, and the grid of their references.

    At each scale the filter and the passes reach some way. What the small image brings was filtered there before, and
    is filtered and compared with the small image afterwards.
    """
    steps = {min(joint.stride, joint.patch)} | ({joint.patch} if joint.rounds > 1 else set())
    here, rows, columns = (
        LEVEL_REACH + SIDE,
        math.lcm(*(lines_of(step) * step for step in steps), BAND),
        math.lcm(*steps, STEP),
    )
    here += joint.rounds * (LEVEL_REACH + 2 * joint.search_radius + joint.patch)
    reach, down, across = 0, 1, 1
    for number, scale in reversed([*enumerate(whole.scales)]):
        own = support_of_steps(passes, epitome, scale.contrast)
        if number + 1 < len(whole.scales):
            reach = 2 * reach + 4 * REACH + 2 * (AROUND_REACH + LEVEL_REACH) + 2
        reach += here + LEVEL_REACH + own.halo[0]
        down, across = math.lcm(2 * down, rows, own.grid[0]), math.lcm(2 * across, columns, own.grid[1])
    return Support((reach, reach), (down, across))


def _combined(noisy: Planar, smooth: Planar, other: Planar, spectrum: BlockSpectrum, scale: int) -> Planar:
    """Two estimates at half the size, which is `scale`, combined where they are by how much each of them errs.

    What the smooth one leaves of the noisy image beyond the noise is detail that it lost. The other one errs by the
    noise that it holds, so that the squares of the two errors add up to that of their difference.
    """
    variance = np.einsum("ijcc->c", spectrum.power[scale]) / SIDE**2
    expected = SLACK * variance[:, None, None, None] * np.square(levels(spectrum, smooth))
    lost = np.maximum(_around(np.square(noisy - smooth)) - expected, 0)
    apart = np.maximum(_around(np.square(other - smooth)), np.finfo(np.float32).tiny)
    return np.asarray(other + np.maximum(1 - lost / apart, 0) * (smooth - other), np.float32)


def _around(values: Planar) -> Planar:
    return np.asarray(gaussian_filter(values, (0, 0, AROUND, AROUND), mode="reflect"))


def units(spectrum: BlockSpectrum, scale: int) -> NDArray[np.float32]:
    """The noise that the passes are told, for each channel."""
    power = np.einsum("ijcc->ijc", spectrum.power[scale]).reshape(SIDE**2, -1)[1:]
    level = (1 + coarseness(spectrum, scale) * (_largest(spectrum, scale) - 1)) * np.sqrt(power.mean(axis=0))
    return np.asarray(np.maximum(level, 1e-6 * level.max()), np.float32)


def coarseness(spectrum: BlockSpectrum, scale: int) -> Floats:
    """How much the noise of each channel is one of low frequencies: 0 if it is white, 1 as in photographs."""
    largest, most = _largest(spectrum, scale), FINER[_is_coarsest(spectrum, scale)]
    unit = largest * (most / _finer_share(spectrum, scale)) ** STEEPNESS
    return np.asarray(np.clip((unit - 1) / (largest - 1), 0, 1))


def _largest(spectrum: BlockSpectrum, scale: int) -> Floats:
    lightness, colours = UNITS[_is_coarsest(spectrum, scale)]
    return np.array([lightness] + [colours] * (spectrum.n_channels - 1))


def _is_long(spectrum: BlockSpectrum, scale: int) -> bool:
    """Whether the noise has left the finer frequencies, which the passes would take for noisy."""
    return float(_finer_share(spectrum, scale)[0]) < LEAST_FINER


def _finer_share(spectrum: BlockSpectrum, scale: int) -> Floats:
    """The deviation of the noise of each channel at the finer frequencies, over that at all of them."""
    power = np.einsum("ijcc->ijc", spectrum.power[scale]).reshape(SIDE**2, -1)
    level, finer = (np.sqrt(power[inside].mean(axis=0)) for inside in (ORDER > 0, ORDER >= SIDE))
    tiny = np.finfo(np.float32).tiny
    return np.asarray(np.maximum(finer, tiny) / np.maximum(level, tiny))


def _is_coarsest(spectrum: BlockSpectrum, scale: int) -> int:
    """1 for the last scale, and otherwise 0."""
    return int(scale + 1 == spectrum.n_scales)


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
