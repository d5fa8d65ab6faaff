"""Estimates of channels, planes and pictures, combined into that of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epitomes.layout import Layout
from epitomes.noise.correlation import worst
from epitomes.noise.doubts import Doubts, gather
from epitomes.noise.model import PARAMETERS, Noise


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated noise and the doubts about it."""

    noise: Noise
    doubts: Doubts

    def finished(self) -> Noise:
        """The noise, with the doubts as sentences."""
        kinds = tuple(doubt.kind for doubt in self.doubts)
        return replace(self.noise, doubts=tuple(map(str, self.doubts)), doubt_kinds=kinds)


def over_channels(found: Sequence[Estimate]) -> Estimate:
    """One image from its channels: root mean square of the levels, or parameters per channel if one has a gain."""
    levels = [(each.noise.level, *_interval(each.noise)) for each in found]
    sigma, low, high = (math.hypot(*values) / math.sqrt(len(found)) for values in zip(*levels, strict=True))
    measured = [each.noise.correlation for each in found if each.noise.correlation is not None]
    noise = Noise(
        **_per_channel(found) if any(map(_has_gain, found)) else {"sigma": np.asarray(sigma)},
        interval=(low, high),
        correlation=worst(measured) if measured else None,
        parts=_parts(found),
        estimated=True,
        magnitude=all(each.noise.magnitude for each in found),
    )
    return Estimate(noise, gather([each.doubts for each in found], "channel"))


def over_planes(found: Sequence[Estimate], noun: str = "plane") -> Estimate:
    """One volume from its planes: medians over those of the more frequent model, and doubts that most planes share."""
    correlated = [each for each in found if each.noise.blocks is not None]
    if 2 * len(correlated) > len(found):
        return _typical(correlated, found, noun)
    found = [each for each in found if each.noise.blocks is None]
    rician = [each for each in found if each.noise.magnitude]
    growing = [each for each in found if _has_gain(each)]
    alike = [each for each in found if not (_has_gain(each) or each.noise.magnitude)]
    alike = next((some for some in (rician, growing) if 2 * len(some) > len(found)), alike or found)
    lows, highs = zip(*(_interval(each.noise) for each in alike), strict=True)
    gains = [each.noise.gain_interval for each in alike if each.noise.gain_interval is not None]
    noise = Noise(
        **{name: np.median(values, axis=0) for name, values in _stacked(alike).items()},
        interval=(min(lows), max(highs)),
        gain_interval=(min(low for low, _ in gains), max(high for _, high in gains)) if gains else None,
        parts=_parts(found),
        estimated=True,
        magnitude=all(each.noise.magnitude for each in alike),
    )
    return Estimate(noise, gather([each.doubts for each in found], noun, majority=True))


def over_pictures(found: Sequence[Estimate], layout: Layout) -> Estimate:
    """A stack from its pictures: parameters per picture, broadcastable to the stack."""
    ends = zip(*(_interval(each.noise) for each in found), strict=True)
    low, high = (math.hypot(*values) / math.sqrt(len(found)) for values in ends)
    values: dict[str, Any] = {}
    for name, stacked in _stacked(found).items():
        channels = () if layout.n_channels is None else (stacked[0].size,)
        values[name] = layout.original(stacked.reshape(*layout.stack_shape, *[1] * layout.spatial, *channels))
    magnitude = all(each.noise.magnitude for each in found)
    noise = Noise(**values, interval=(low, high), parts=_parts(found), estimated=True, magnitude=magnitude)
    return Estimate(noise, gather([each.doubts for each in found], layout.noun))


def _typical(correlated: Sequence[Estimate], found: Sequence[Estimate], noun: str) -> Estimate:
    """The plane whose correlated noise has the median level."""
    typical = sorted(correlated, key=lambda each: each.noise.level)[len(correlated) // 2]
    noise = replace(typical.noise, parts=_parts(found))
    return Estimate(noise, gather([each.doubts for each in found], noun, majority=True))


def _has_gain(estimate: Estimate) -> bool:
    return bool(estimate.noise.gain.any())


def _per_channel(found: Sequence[Estimate]) -> dict[str, Any]:
    """The parameters of all channels. One without noise has the least level of the others: stabilisation needs one."""
    values = _stacked(found)
    levels = np.array([each.noise.level for each in found])
    values["sigma"] = np.where(levels > 0, values["sigma"], levels[levels > 0].min())
    return values


def _stacked(found: Sequence[Estimate]) -> dict[str, Any]:
    """The parameters of all parts along a new first axis; those that no part has are left out."""
    values = {}
    for name in PARAMETERS:
        given = [getattr(each.noise, name) for each in found]
        if any(value is not None and (name == "sigma" or value.any()) for value in given):
            given = [np.zeros(()) if value is None else value for value in given]
            values[name] = np.stack(np.broadcast_arrays(*given))
    return values


def _interval(noise: Noise) -> tuple[float, float]:
    return (noise.level, noise.level) if noise.interval is None else noise.interval


def _parts(found: Sequence[Estimate]) -> tuple[Noise, ...]:
    return tuple(each.finished() for each in found)
