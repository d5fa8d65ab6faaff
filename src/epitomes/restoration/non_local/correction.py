"""The last passes: a second estimate, and corrections by what was learned from natural images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from epitomes.checks import whole
from epitomes.epitome import Epitome
from epitomes.groups import Collaborative, estimate
from epitomes.regression import ROUNDS, natural_regressions
from epitomes.restoration.non_local.passes import Advance, Pass, State, matching_of, support_of_groups
from epitomes.restoration.whole_image import Support


@dataclass(frozen=True, kw_only=True)
class WienerPass:
    """A second estimate: groups of the noisy image, filtered by the cosine coefficients of the first estimate.

    This is the second step of BM3D (`Collaborative`). By itself the estimate is worse than the first by 0.1 dB, but it
    errs in other ways, and `RegressionPass` learned where which is better. The first estimate stays as it is.
    """

    patch: int = 8  # side, whatever the noise
    group_size: int = 16
    search_radius: int = 12
    stride: int = 4  # distance of references

    def __post_init__(self) -> None:
        whole("patch", self.patch, least=2)
        whole("group_size", self.group_size, least=1)
        whole("search_radius", self.search_radius, least=0)
        whole("stride", self.stride, least=1)

    def cost(self, n_values: int) -> float:
        return 0.25 * self.group_size / 16 * (4 / self.stride) ** 2

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        patch = min(self.patch, state.noisy.shape[2]), min(self.patch, state.noisy.shape[3])
        second = estimate(
            state.noisy,
            guide=state.current,
            match_on=state.current,
            matching=matching_of(self, patch, None),
            shrinker=Collaborative(patch=patch),
            level=[1.0] * len(state.noisy),
            by_channel=True,
            threads=threads,
            callback=advance,
        )
        return replace(state, second=second)

    def support(self, epitome: Epitome, contrast: float) -> Support:
        return support_of_groups(self, [(self.patch, self.patch)])


@dataclass(frozen=True, kw_only=True)
class RegressionPass:
    """Correct the estimate by linear maps that were learned from natural images with white noise.

    A patch of the estimate chooses its map; the map turns it, how the second estimate differs from it, and its
    residual into a correction (`AnchoredRegression`). Corrected estimates are corrected again in the next round.
    """

    rounds: int = ROUNDS
    stride: int = 2  # distance of the patches that are corrected; no more than their side is used

    def __post_init__(self) -> None:
        if whole("rounds", self.rounds, least=1) > ROUNDS:
            raise ValueError(f"rounds must be {ROUNDS} at most, as many as are shipped, got {self.rounds}")
        whole("stride", self.stride, least=1)

    def cost(self, n_values: int) -> float:
        return 0.13 * self.rounds * (2 / self.stride) ** 2

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        second = state.current if state.second is None else state.second
        n, done = self.rounds * len(state.current), 0
        for c, channel in enumerate(state.current[:, 0]):
            others = second[c, 0], state.noisy[c, 0]
            for regression in natural_regressions()[: self.rounds]:
                told = None if advance is None else partial(_advanced, advance, done, n)
                channel = regression.correct(channel, others, stride=self.stride, threads=threads, callback=told)
                done += 1
            state.current[c, 0] = channel  # in place: an image of 24 megapixels is large
        return replace(state, second=None)

    def support(self, epitome: Epitome, contrast: float) -> Support:
        sides = [regression.side for regression in natural_regressions()[: self.rounds]]
        step = math.lcm(*(min(self.stride, side) for side in sides))
        return Support((sum(sides), sum(sides)), (step, step))


def _advanced(advance: Advance, done: int, n: int, fraction: float) -> None:
    advance((done + fraction) / n)


def for_filtered(passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """Passes that go on where correlated noise was filtered.

    The first is for noisy patches, and what was learned from white noise is for white noise.
    """
    return tuple(step for step in passes[1:] if not isinstance(step, (WienerPass, RegressionPass)))
