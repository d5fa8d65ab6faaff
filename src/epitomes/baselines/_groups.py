"""What baselines that work on groups share: references of one plane, and steps that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from epitomes.baselines.baseline import Scene
from epitomes.groups import Matching, Shrinker, estimate
from epitomes.groups._estimate import Level
from epitomes.groups.matching import Planar


class Search(NamedTuple):
    """Groups of square patches in one plane."""

    patch: int
    group_size: int
    stride: int
    radius: int
    threshold: float | None = None  # mean squared difference of members, in variances of the noise
    least_members: int = 1

    @property
    def matching(self) -> Matching:
        stride = min(self.stride, self.patch)  # a longer one would leave pixels out
        return Matching(
            patch=(1, self.patch, self.patch),
            search_radius=(0, self.radius, self.radius),
            stride=(1, stride, stride),
            group_size=self.group_size,
            threshold=self.threshold,
            least_members=self.least_members,
        )


def collaborate(
    scene: Scene,
    noisy: Planar,
    search: Search,
    shrinker: Shrinker,
    stage: str,
    part: tuple[float, float],
    *,
    guide: Planar | None = None,
    match_on: Planar | None = None,
    level: Sequence[Level] | None = None,
) -> Planar:
    """Estimate every channel from groups that are found on the lightness of `match_on`, the guide, or `noisy`."""
    seen = next(image for image in (match_on, guide, noisy) if image is not None)
    return estimate(
        noisy,
        guide=guide,
        match_on=seen[:1],
        matching=search.matching,
        shrinker=shrinker,
        level=[1.0] * len(noisy) if level is None else level,
        by_channel=True,
        threads=scene.threads,
        callback=scene.advance(stage, *part),
    )
