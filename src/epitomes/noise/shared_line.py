"""Channels of one sensor: their noise lies on one line over brightness, whatever colour they see.

A single channel may be too narrow in brightness, or too textured, to show the line; together they show it well. Colours
that were balanced after counting have different gains, and no common line. They are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from epitomes.noise.flat_patches import FlatPatches
from epitomes.noise.level_function import LevelLine, LevelPoints, fit_line, grows, line_doubt

MIN_AGREEING = 0.7  # share of the points of every channel that must lie on the common line


def with_shared_line(
    found: Sequence[FlatPatches], offsets: Sequence[float] | None = None, *, certain: bool = False
) -> list[FlatPatches] | None:
    """The channels with the line that they share; None if none of them shows growing noise, or they disagree.

    `offsets` are the brightness of each channel without light, from which their brightness counts. With `certain`, the
    channels are known to share a line, and are not asked whether they do.
    """
    if not found or (not certain and (len(found) < 2 or not any(grows(each.line, each.points) for each in found))):
        return None
    means = np.array([each.plane.mean for each in found]) - (0 if offsets is None else np.asarray(offsets))
    common = math.sqrt(math.fsum(each.plane.scale**2 for each in found) / len(found))
    shifts = (means - means.mean()) / common
    units = [(each.plane.scale / common, float(shift)) for each, shift in zip(found, shifts, strict=True)]
    points = _joined([each.points for each in found], units)
    line = fit_line(points)
    inliers = np.split(line.inliers, np.cumsum([each.points.brightness.size for each in found])[:-1])
    if not certain and not (grows(line, points) and min(each.mean() for each in inliers) >= MIN_AGREEING):
        return None
    doubt = line_doubt(line, points) if certain else None
    return [
        replace(
            each,
            line=_in_units(replace(line, inliers=mine), *unit),
            doubts=each.doubts if doubt is None else (doubt, *each.doubts),
        )
        for each, mine, unit in zip(found, inliers, units, strict=True)
    ]


def _joined(points: Sequence[LevelPoints], units: Sequence[tuple[float, float]]) -> LevelPoints:
    """The points of all channels in common units; those of a channel are `(scale, shift)`."""
    return LevelPoints(
        np.concatenate([scale * each.brightness + shift for each, (scale, shift) in zip(points, units, strict=True)]),
        np.concatenate([scale**2 * each.variance for each, (scale, _) in zip(points, units, strict=True)]),
        np.concatenate([each.error for each in points]),
        np.concatenate([each.texture for each in points]),
    )


def _in_units(line: LevelLine, scale: float, shift: float) -> LevelLine:
    """The line in the units of one channel: `scale^2 v = slope (scale b + shift) + intercept`."""
    change = np.array([[1 / scale, 0.0], [shift / scale**2, 1 / scale**2]])
    slope, intercept = change @ (line.slope, line.intercept)
    covariance = None if line.covariance is None else change @ line.covariance @ change.T
    return LevelLine(float(slope), float(intercept), covariance, line.inliers)
