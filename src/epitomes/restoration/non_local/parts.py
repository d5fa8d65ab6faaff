"""Parts of an image by the non-local method: what must be known of the whole, and how far its passes reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from epitomes.checks import Array
from epitomes.colours import CELL, turn_of
from epitomes.epitome import Epitome
from epitomes.groups._estimate import LINES
from epitomes.restoration.non_local.colour import Turn, to_planar
from epitomes.restoration.non_local.outliers import MOST_RANGE, outliers_of
from epitomes.restoration.non_local.passes import (
    AdaptPass,
    AtomsPass,
    FeedbackPass,
    Pass,
    clipped_contrast,
    coding_patches,
    scaled_side,
)
from epitomes.restoration.non_local.presets import passes_of
from epitomes.restoration.patchwise.method import MOST_CONTRAST, precise
from epitomes.restoration.whole_image import Support, WholeImage

if TYPE_CHECKING:
    from epitomes.restoration.non_local.method import NonLocal

OUTLIERS = (
    f"values differ by more than {MOST_RANGE:g} times the noise, and outliers are found in whole images only: clip "
    "them first, or check sigma"
)


def settled_whole(method: NonLocal, sample: Array, sigma: float, channels: bool) -> WholeImage:
    """What parts of an image must know, from a sample of it; modes in which a pixel depends on all are refused."""
    passes = passes_of(method.preset) if method.passes is None else method.passes
    if any(isinstance(step, AdaptPass) for step in passes):
        raise ValueError(
            "an epitome that adapts to the whole image (preset='best') does not work part by part: use "
            "preset='balanced' or 'fast'"
        )
    if unknown := [step for step in passes if not isinstance(step, (AtomsPass, FeedbackPass))]:
        raise ValueError(f"how far {unknown[0]!r} reaches is not known: use AtomsPass and FeedbackPass")
    if method.multiscale:
        raise ValueError("patches of three scales reach across the whole image: leave out multiscale")
    if sample.ndim - channels != 2:
        raise ValueError(
            "groups across planes reach through a whole volume: use NonLocal(planes='single'), which denoises each "
            "plane by itself, or the paper's method with an epitome of three-dimensional patches"
        )
    if outliers_of(sample, sigma) is not None:
        raise ValueError(OUTLIERS)
    mean, turn = float(sample.mean(dtype=np.float64)), turn_of(sample)
    planar = to_planar(sample, mean, sigma, turn)
    fine = [precise(channel, 1.0, MOST_CONTRAST) for channel in planar[:, 0]]
    return WholeImage(
        levels=tuple(float(each.mean(dtype=np.float64)) for each in fine),
        double=tuple(each.dtype == np.float64 for each in fine),
        mean=mean,
        contrast=clipped_contrast(planar),
        turned=turn is CELL,
        stride=method.settled(sample, sigma).stride or 1,
    )


def turn_for(whole: WholeImage, part: Array) -> Turn:
    """The turn of the channels of a part: that of the whole."""
    if part.shape[2:] == (len(CELL),):
        return CELL if whole.turned else None
    return turn_of(part)


def support_of_passes(passes: Sequence[Pass], epitome: Epitome, whole: WholeImage | None) -> Support:
    """How far the pilot and all passes reach, and the grid of their references.

    A pixel depends on the groups with a member that covers it. Their references are at most the search radius from that
    member, and are compared with patches that are as far away again: twice the radius and a patch, for each pass. The
    estimates of a few lines of references are summed together, so parts begin where such a band begins.
    """
    if whole is None:
        raise ValueError("the support depends on the contrast of the whole image: call for_parts first")
    own = epitome.phi.patch_shape
    reach, rows, columns = max(own), 1, 1
    for side in own:
        rows = columns = math.lcm(rows, min(whole.stride, side))
    for step in passes:
        assert isinstance(step, (AtomsPass, FeedbackPass))  # others are refused by `settled_whole`
        patches = [(side, side) for side in (scaled_side(side, whole.contrast) for side in step.patches)]
        if isinstance(step, AtomsPass):
            patches = [(high, wide) for high, wide in coding_patches(patches, epitome)]
        reach += 2 * step.search_radius + max(max(patch) for patch in patches)
        for high, wide in patches:
            rows = math.lcm(rows, LINES * min(step.stride, high))
            columns = math.lcm(columns, min(step.stride, wide))
    return Support((reach, reach), (rows, columns))
