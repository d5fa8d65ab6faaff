"""Contradictions: what the noisy image itself says against the noise model.

The residual is measured in units of the noise, so a wrong model makes every other measure wrong. Here the level of the
noise is measured in tiles, without the model's help, and compared: at the finest scale and at half the size, over
brightness, and between regions. Impulses are looked for, too. The limits were chosen on photographs of the Berkeley
set and pictures of scikit-image, 256 x 256; `python -m benchmarks audit-models --images DIR` judges them on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epitomes.checks import Array
from epitomes.layout import Layout
from epitomes.noise.impulses import find_impulses
from epitomes.noise.model import Noise
from epitomes.validation.evened import Evened, judged_planes
from epitomes.validation.planes import LEAST_SIDE
from epitomes.validation.tile_levels import TileLevels

LEAST_TILES = 16  # of an image that is judged, and of a class of brightness
LEAST_IN_REGION = 8
CLASSES = 8  # of brightness
CHANCE = 4.0  # standard deviations of a level that are added to limits
MIN_LEVEL = 0.82  # times the model's
MAX_LEVEL = 1.6
MAX_TEXTURED = 1.95  # the same, where texture may explain the excess
MAX_WHITENED = 3.0  # the same for correlated noise: whitening makes texture stronger
MAX_HALF = 3.6  # level at half the size, over that of the finest detail and the model's
MIN_SLOPE = 1.5  # the same, where the finest detail has less noise than the model says
MAX_GROWTH, MAX_REGIONS = 1.07, 1.2  # largest over smallest level
MIN_LARGEST = 0.95  # largest level: if all are smaller, the model's level is to be corrected first
MIN_TREND = 4.0  # standard errors of the slope of a line through variances over brightness
FEWEST_CLASSES = 4  # through which a line is drawn
TREND_LESS = 0.97  # variance at an end of the line: texture, which only adds, does not explain less than the model's
SURELY_LESS = 2.5  # standard deviations below the model's level: texture does not explain that either
VISIBLE = 0.01  # of the range of the image: weaker noise can hardly be seen


@dataclass(frozen=True)
class Contradiction:
    """What does not fit the noise model, and one thing to do about it."""

    kind: str  # "impulses", "correlated", "brightness", "regions", "low", "high" or "unremoved"
    reason: str
    advice: str


def contradictions(planes: Sequence[Evened], noise: Noise) -> tuple[Contradiction, ...]:
    """Compare the planes of an image with its noise model."""
    tiles = TileLevels.joined(TileLevels.of(each.noisy, each.brightness, each.central) for each in planes)
    found = [_impulses(planes), _level(tiles, noise) if len(tiles) >= LEAST_TILES else None]
    return tuple(each for each in found if each is not None)


def unremoved(planes: Sequence[Evened]) -> tuple[Contradiction, ...]:
    """Noise that can be seen in an image from which nothing was removed."""
    tiles = TileLevels.joined(TileLevels.of(each.given, each.given, each.central) for each in planes)
    span = np.ptp(np.quantile([each.given for each in planes], (0.01, 0.99)))
    found = [_impulses(planes)]
    if len(tiles) >= LEAST_TILES and tiles.least() > VISIBLE * float(span):
        reason = f"Nothing was removed, but noise with a level of about {tiles.most():.3g} can be seen."
        found.append(Contradiction("unremoved", reason, _set_level(tiles.most())))
    return tuple(each for each in found if each is not None)


def doubts_about(noise: Noise, noisy: Array, restored: Array, channel_axis: int | None) -> tuple[str, ...]:
    """What speaks against a noise model, in short sentences; nothing if the image is too small to tell."""
    if noisy.ndim - (channel_axis is not None) < 2:
        return ()
    layout = Layout.of(noisy.shape, channel_axis, 2)
    if min(layout.picture_shape[:2]) < LEAST_SIDE:
        return ()
    planes, _ = judged_planes(noisy, restored, noise, layout)
    return tuple(each.reason for each in contradictions(planes, noise))


def _impulses(planes: Sequence[Evened]) -> Contradiction | None:
    found = [find_impulses(each.given, channel_axis=-1, spatial=2) for each in planes]
    worst = max(found, key=lambda each: each.share)
    if not worst.found:
        return None
    words = worst.describe()
    return Contradiction(
        "impulses",
        f"{words[:1].upper()}{words[1:]}: the noise model does not describe them.",
        "Let the noise be estimated, and they are found and filled: leave out sigma and noise in Python, --sigma, "
        "--noise and --poisson on the command line.",
    )


def _level(tiles: TileLevels, noise: Noise) -> Contradiction | None:
    """The first of these that is seen: levels that differ, another correlation, another level."""
    fine, half, chance = tiles.most(), tiles.half_size(), CHANCE * tiles.error()
    low = fine < MIN_LEVEL - chance
    if not noise.is_white:
        found = min(fine, half)
        return _other_level(found, noise) if not MIN_LEVEL - chance < found < MAX_WHITENED + chance else None
    classes = tiles.by_brightness(min(CLASSES, len(tiles) // LEAST_TILES), LEAST_TILES)
    regions = tiles.by_region(LEAST_IN_REGION)
    over_brightness, between_regions = _contrast(classes, texture=False), _contrast(regions)
    if between_regions > max(_limit(regions, MAX_REGIONS), 1.1 * over_brightness):
        return _regions(regions)
    if (low and half > MIN_SLOPE * fine) or half > MAX_HALF * max(fine, 1.0):
        return _correlated(fine, half)
    differs = over_brightness > _limit(classes, MAX_GROWTH) or _follows_brightness(classes)
    if differs and max(each.most(0.25) for each in classes) > MIN_LARGEST:
        return _brightness(classes, noise)
    high = max(tiles.least() / MAX_LEVEL, fine / MAX_TEXTURED) > 1 + chance
    return _other_level(fine, noise) if low or high else None


def _contrast(groups: Sequence[TileLevels], *, texture: bool = True) -> float:
    """How much the noise differs between groups of tiles: the largest level over the smallest.

    It is the least that it can be, unless one group shows for sure that the model's level is too high there, and
    `texture` need not be feared.
    """
    if not groups:
        return 1.0
    smallest = min(groups, key=lambda each: each.most(0.25))
    sure = not texture and smallest.most(0.25) < 1 - SURELY_LESS * smallest.error(0.25)
    largest = max(each.most(0.25) if sure else each.least(0.25) for each in groups)
    return largest / max(smallest.most(0.25), np.finfo(float).tiny)


def _follows_brightness(classes: Sequence[TileLevels]) -> bool:
    """Whether the variance rises or falls along a line over brightness, to less than the model's at one end."""
    if len(classes) < FEWEST_CLASSES:
        return False
    level, error = np.array([(each.most(0.25), each.error(0.25)) for each in classes]).T
    x = np.array([np.median(each.brightness) for each in classes])
    weight = (2 * level * error) ** -2.0  # of variances
    x = x - np.average(x, weights=weight)
    mean, inertia = np.average(level**2, weights=weight), float(weight @ x**2)
    slope = float(weight @ (x * level**2)) / inertia
    misfit = float(weight @ (level**2 - mean - slope * x) ** 2) / (len(x) - 2)
    clear = abs(slope) > MIN_TREND * math.sqrt(max(1.0, misfit) / inertia)
    return clear and bool((mean + slope * x).min() < TREND_LESS)


def _limit(groups: Sequence[TileLevels], limit: float) -> float:
    return limit + CHANCE * max((each.error(0.25) for each in groups), default=0.0)


def _correlated(fine: float, half: float) -> Contradiction:
    return Contradiction(
        "correlated",
        f"The noise is correlated: the finest detail of the image has {fine:.2g} times the level of the noise model, "
        f"that at half its size {half:.2g} times.",
        "Measure the noise in a flat part of the image: noise=noise_from_flat(image[top:bottom, left:right]) in "
        "Python, --noise-from X,Y,W,H on the command line.",
    )


def _regions(regions: Sequence[TileLevels]) -> Contradiction:
    levels = [each.most(0.25) for each in regions]
    return Contradiction(
        "regions",
        f"The noise differs between regions: {min(levels):.2g} to {max(levels):.2g} times the level of the model.",
        "Give the level of every pixel: noise=Noise.map(levels) in Python; on the command line, denoise the regions as "
        "separate files.",
    )


def _brightness(classes: Sequence[TileLevels], noise: Noise) -> Contradiction:
    dark, bright = classes[0].most(0.25), classes[-1].most(0.25)
    return Contradiction(
        "brightness",
        f"The noise differs with brightness: {dark:.2g} times the level of the noise model in dark parts, {bright:.2g} "
        "times in bright ones.",
        'Use noise that grows with brightness: noise=estimate_noise(image, model="poisson-gaussian") in Python, '
        "--poisson on the command line."
        if bright > dark and not noise.gain.any()
        else "Let the noise be estimated: leave out sigma and noise in Python, --sigma, --noise and --poisson on the "
        "command line.",
    )


def _other_level(factor: float, noise: Noise) -> Contradiction:
    words = f"the finest detail of the image has {factor:.2g} times this level."
    if noise.is_constant:
        advice = _set_level(factor * noise.level)
    else:
        advice = f"Try the noise model at another level: noise.times({factor:.2g}) in Python."
    if factor < 1:
        return Contradiction("high", f"The noise level is too high: {words}", advice)
    return Contradiction("low", f"The noise level is too low: {words}", advice)


def _set_level(level: float) -> str:
    return f"Try this noise level: sigma={level:.3g} in Python, --sigma {level:.3g} on the command line."
