"""Rounds: groups of similar patches complete each other, again and again, while trust in the estimate grows.

Images are planar, `(channels, planes, height, width)`, float32. Each channel is estimated by itself, in the groups of
all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.groups import Matching, estimate
from epitomes.groups.conditional import Conditional
from epitomes.groups.matching import Planar

Triple = tuple[int, int, int]  # planes, rows, columns

CONTRAST = 50.0  # standard deviation of an image for which levels are given
EXACT = 0.5  # standard deviation of known pixels without noise, for that contrast: keeps systems well posed


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How often, and with how much doubt, groups are completed.

    The level is the standard deviation that the estimate is thought to miss, for an image of contrast 50. It falls from
    `first` to `last` by equal factors. A change of an unknown pixel is taken `reach` times, because each round goes
    part of the way only; the last round is taken as it is.
    """

    n: int
    first: float = 10.0
    last: float = 2.0
    patch: Triple = (1, 8, 8)
    stride: Triple = (1, 4, 4)
    search_radius: Triple = (0, 18, 18)
    group_size: int = 64
    most: int = 16  # members of a group that are estimated
    reach: float = 1.5

    @property
    def margin(self) -> Triple:
        """How far what is known of an image matters to its unknown pixels."""
        deep, high, wide = (far + side for far, side in zip(self.search_radius, self.patch, strict=True))
        return deep - 1, high, wide

    def run(
        self,
        known: Planar,
        unknown: NDArray[np.bool_],
        start: Planar,
        sigma: float,
        *,
        threads: int | None = None,
        advance: Callable[[float], None] | None = None,
    ) -> Planar:
        """Complete an image from its known pixels, which have noise `sigma`, and a first estimate.

        `unknown` has planes, rows and columns.
        """
        spread = [max(float(channel[~unknown].std()), 1e-6) / CONTRAST for channel in known]
        variance = sigma**2 + (EXACT * spread[0]) ** 2
        variances = np.where(unknown, np.inf, variance).astype(np.float32)
        shrinker = Conditional(variances=variances, most=self.most)
        patch = _fitting(self.patch, unknown.shape)
        matching = Matching(
            patch=patch,
            search_radius=self.search_radius,
            stride=_fitting(self.stride, patch),
            group_size=self.group_size,
        )
        current = start
        for number, level in enumerate(np.geomspace(self.first, self.last, self.n)):
            found = estimate(
                known,
                matching=matching,
                shrinker=shrinker,
                level=[float(level * each) for each in spread],
                by_channel=True,
                match_on=current,
                guide=current,
                threads=threads,
                callback=None if advance is None else _part(advance, number, self.n),
            )
            if number + 1 < self.n and self.reach != 1:
                found[..., unknown] += np.float32(self.reach - 1) * (found - current)[..., unknown]
            current = found if sigma > 0 else np.where(unknown, found, known)
        return current


def _part(advance: Callable[[float], None], number: int, n: int) -> Callable[[float], None]:
    return lambda fraction: advance((number + fraction) / n)


def _fitting(sides: Triple, shape: tuple[int, ...]) -> Triple:
    """Sides that are no longer than those of an image."""
    deep, high, wide = (min(side, size) for side, size in zip(sides, shape, strict=True))
    return deep, high, wide
