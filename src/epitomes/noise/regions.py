"""Regions of different noise: an overscan strip, the air around a body, a dark border or a corner without signal.

The quietest patches of an image need not have the noise of the rest. The image is divided twice, by brightness and by
place. A part votes for its level if its flat patches show white noise and nothing else, so that texture has no vote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from epitomes.noise.doubts import Doubt
from epitomes.noise.level_function import brightness_bins
from epitomes.noise.patch_rows import Indices
from epitomes.noise.weak_texture import TILE, NoiseFloor, PatchStatistics, noise_floor

N_BLOCKS = 8  # along the longer side of the image
MIN_BLOCK = 2  # tiles along the side of a block
MIN_PATCHES = 256  # in a part
MIN_SHARE = 0.1  # of the patches of a part that agree on its noise
MAX_TEXTURE = 1.3  # energy of flat patches in the strong directions over that in the weak ones
AGREEMENT = 1.2  # ratio of variances up to which parts have the same noise
MIN_SUPPORT = 0.25  # share of the image that must agree on a level
MIN_RATIO = 1.5  # of variances from which regions differ


@dataclass(frozen=True, eq=False)
class Regions:
    """The part of an image with the larger noise."""

    noisier: NoiseFloor
    quiet_share: float  # of the image that has the smaller noise, roughly


def noisier_region(statistics: PatchStatistics, floor: NoiseFloor, width: int) -> Regions | None:
    """The largest noise that a good part of the image agrees on, if it is well above the noise `floor` of the whole.

    `width` is that of the image in pixels. None if the noise is the same everywhere, as far as flat patches show.
    """
    noisier = floor
    for divide in (brightness_bins, partial(_blocks, width=width)):
        if noisier.variance < MIN_RATIO * floor.variance:
            noisier = _largest_agreed(statistics, divide(statistics)) or floor
    if noisier.variance < MIN_RATIO * floor.variance:
        return None
    border = math.sqrt(noisier.variance * floor.variance)
    count = np.bincount(statistics.tile)
    quiet = np.bincount(statistics.tile, statistics.energy) < border * count
    return Regions(noisier, float(count[quiet].sum() / count.sum()))


def region_doubt(regions: Regions, floor: NoiseFloor, scale: float) -> Doubt:
    """The two levels in words; `scale` is that of the plane."""
    quiet, noisy = (scale * math.sqrt(each.variance) for each in (floor, regions.noisier))
    share = f"{100 * regions.quiet_share:.0f} %" if regions.quiet_share >= 0.005 else "less than 1 %"
    text = f"The noise differs between regions ({quiet:.3g} in {share} of the image, {noisy:.3g} elsewhere)"
    return Doubt("regions", f"{text}: the larger level is used.")


def _largest_agreed(statistics: PatchStatistics, number: Indices) -> NoiseFloor | None:
    """The noise of the parts that agree on the largest level with enough support; None if there is no such level."""
    parts, sizes = np.unique(number, return_counts=True)
    voters = []
    for part in parts[sizes >= MIN_PATCHES]:
        floor = noise_floor(statistics.where(number == part))
        if floor.variance > 0 and floor.share >= MIN_SHARE and floor.texture <= MAX_TEXTURE:
            voters.append((floor.variance, part))
    for level, _ in sorted(voters, reverse=True):
        agreeing = [part for variance, part in voters if 1 / AGREEMENT <= variance / level <= AGREEMENT]
        inside = np.isin(number, agreeing)
        if inside.mean() >= MIN_SUPPORT:
            return noise_floor(statistics.where(inside))
    return None


def _blocks(statistics: PatchStatistics, width: int) -> Indices:
    """The block of each patch: a square of tiles."""
    across = width // TILE + 1
    line, column = np.divmod(statistics.tile, across)
    side = max(MIN_BLOCK, -(-max(int(line.max()) + 1, across) // N_BLOCKS))
    return np.asarray(line // side * across + column // side)
