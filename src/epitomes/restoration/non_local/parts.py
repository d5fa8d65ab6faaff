"""Parts of an image by the non-local method: what must be known of the whole, and how far its passes reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from epitomes.checks import Array
from epitomes.colours import CELL, OPPONENT, turn_of
from epitomes.epitome import Epitome
from epitomes.groups.matching import Planar
from epitomes.noise import BlockSpectrum
from epitomes.restoration.non_local.colour import Turn, to_planar
from epitomes.restoration.non_local.correlated import whole_scales
from epitomes.restoration.non_local.outliers import MOST_RANGE, outliers_of
from epitomes.restoration.non_local.passes import (
    AdaptPass,
    LocalPass,
    Pass,
    clipped_contrast,
    support_of_steps,
)
from epitomes.restoration.non_local.presets import passes_of
from epitomes.restoration.non_local.told_level import believed
from epitomes.restoration.patchwise.method import MOST_CONTRAST, precise
from epitomes.restoration.whole_image import Support, WholeImage

if TYPE_CHECKING:
    from epitomes.restoration.non_local.method import NonLocal

OUTLIERS = (
    f"values differ by more than {MOST_RANGE:g} times the noise, and outliers are found in whole images only: clip "
    "them first, or check sigma"
)


def settled_whole(
    method: NonLocal, sample: Array, sigma: float, channels: bool, blocks: BlockSpectrum | None
) -> WholeImage:
    """What parts of an image must know, from a sample of it; modes in which a pixel depends on all are refused."""
    if sample.ndim - channels != 2:
        if blocks is not None or method.across is None:
            raise ValueError(
                "correlated noise is not removed by groups across planes: use NonLocal(planes='single'), for each "
                "plane by itself"
            )
        if outliers_of(sample, sigma) is not None:
            raise ValueError(OUTLIERS)
        return method.across.for_parts(sample, sigma)
    passes = passes_of(method.preset) if method.passes is None else method.passes
    if any(isinstance(step, AdaptPass) for step in passes):
        raise ValueError(
            "an epitome that adapts to the whole image (preset='best') does not work part by part: use "
            "preset='balanced' or 'fast'"
        )
    if unknown := [step for step in passes if not isinstance(step, LocalPass)]:
        raise ValueError(f"how far {unknown[0]!r} reaches is not known: it needs a method support")
    if method.multiscale:
        raise ValueError("patches of three scales reach across the whole image: leave out multiscale")
    if outliers_of(sample, sigma) is not None:
        raise ValueError(OUTLIERS)
    if blocks is not None:
        planar, turned = turned_for_filters(sample, blocks)[:2]
        return WholeImage(levels=(), double=(), scales=whole_scales(planar, turned))
    mean, turn = float(sample.mean(dtype=np.float64)), turn_of(sample)
    planar = to_planar(sample, mean, sigma, turn)
    factor = believed(planar[0, 0], clipped_contrast(planar))
    if factor != 1:
        sigma *= factor
        planar = to_planar(sample, mean, sigma, turn)
    fine = [precise(channel, 1.0, MOST_CONTRAST) for channel in planar[:, 0]]
    return WholeImage(
        levels=tuple(float(each.mean(dtype=np.float64)) for each in fine),
        double=tuple(each.dtype == np.float64 for each in fine),
        mean=mean,
        contrast=clipped_contrast(planar),
        turned=turn is CELL,
        stride=method.settled(sample, sigma).stride or 1,
        believed=factor,
    )


def turned_for_filters(image: Array, blocks: BlockSpectrum) -> tuple[Planar, BlockSpectrum, Turn]:
    """An image and the spectrum of its correlated noise, with the channels of photographs turned, and the turn."""
    turn = OPPONENT if image.shape[2:] == (len(OPPONENT),) else None  # of others the brightness would be lost
    return to_planar(image, 0.0, 1.0, turn), blocks if turn is None else blocks.turned(turn), turn


def support_of_passes(passes: Sequence[Pass], epitome: Epitome, whole: WholeImage) -> Support:
    """How far the pilot and all passes reach, and the grid of their references."""
    own, found = epitome.phi.patch_shape, support_of_steps(passes, epitome, whole.contrast)
    grid = math.lcm(*(min(whole.stride, side) for side in own))
    return Support(found.halo, (math.lcm(grid, found.grid[0]), math.lcm(grid, found.grid[1]))).wider(max(own))
