"""Passes of the non-local mode: each turns the noisy image and the last estimate into a better estimate.

All of them work on planar float32 images in units of the noise, so that its standard deviation is 1. A pass is made for
each of its patch sizes, and the estimates are averaged: one epitome serves them all. Sizes are those for a contrast of
twice the noise; `fitting` says how they follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.groups import LowRank, Matching, SharedAtoms, Shrinker, estimate
from epitomes.groups.matching import Planar
from epitomes.learn import online, run
from epitomes.patches import Patches
from epitomes.phi import windows
from epitomes.restoration import recipe


@dataclass(frozen=True)
class State:
    """Where the passes stand."""

    noisy: Planar
    current: Planar  # the last estimate
    epitome: Epitome


class Pass(Protocol):
    """One step from a state to the next."""

    def run(self, state: State, threads: int | None) -> State: ...


@dataclass(frozen=True, kw_only=True)
class AdaptPass:
    """The epitome goes on learning, from the current estimate; of colours, from their lightness."""

    lam: float = 0.6  # in units of the noise: estimates hold little of it
    most_steps: int = 24
    batch: int = 1000

    def run(self, state: State, threads: int | None) -> State:
        patches = Patches(state.current[0, 0], state.epitome.phi.patch_shape)
        steps = online(patches, state.epitome, coder=Lasso(lam=self.lam), batch=self.batch, threads=threads)
        twice = -(-2 * len(patches) // self.batch)  # small images say all they have in two rounds
        return replace(state, epitome=run(steps, max_steps=min(self.most_steps, twice)).epitome)


@dataclass(frozen=True, kw_only=True)
class AtomsPass:
    """Groups share atoms of the epitome, chosen on the current estimate; codes of the noisy image have low rank."""

    patches: tuple[int, ...] = (8, 6)
    n_matches: int = 80
    reach: int = 20
    stride: int = 4
    limit: float | None = 0.4  # distance of members, in variances of the noise
    bound: float = 0.006  # error of the voters, likewise
    n_voters: int = 16
    most_atoms: int = 20
    strength: float = 2.2
    noisy_voters: bool = False  # choose atoms on the noisy image instead: for the first pass, with a bound near 1
    by_rank: bool = False
    keep: float = 0.0  # share of the current estimate in the new one: two that err in different ways err less together

    def run(self, state: State, threads: int | None) -> State:
        noisy, current = state.noisy, state.current
        total = np.zeros_like(noisy)
        for side in self.patches:
            patch = fitting(side, noisy)
            shrinker = SharedAtoms(
                atoms=atoms(state.epitome, patch),
                bound=self.bound,
                n_voters=self.n_voters,
                most_atoms=self.most_atoms,
                strength=self.strength,
                by_rank=self.by_rank,
            )
            total += _by_channel(
                noisy,
                guide=noisy if self.noisy_voters else current,
                match_on=current,
                matching=_matching(self, patch, self.limit),
                shrinker=shrinker,
                levels=[1.0] * len(noisy),
                threads=threads,
            )
        fresh = np.float32((1 - self.keep) / len(self.patches)) * total
        return replace(state, current=fresh + np.float32(self.keep) * current)


@dataclass(frozen=True, kw_only=True)
class FeedbackPass:
    """A share of what the estimate left out is given back; groups of the sum have low rank, in their own directions.

    With the noisy image y and the estimate f, `u = f + share (y - f)`. The noise left in u is not known; for the group
    of a reference it is taken as `trust sqrt(1 - mean (y - u)^2)`, the mean over the reference's pixels, or 0 where it
    is above 1: what was not given back of noise is missing in u, what is left out of the image makes the pass milder.
    Members may differ by `looseness` times the contrast of the image, per pixel and in units of the noise.
    """

    patches: tuple[int, ...] = (7,)
    n_matches: int = 80
    reach: int = 20
    stride: int = 4
    looseness: float = 1.0
    strength: float = 2.83
    share: float = 0.4
    trust: float = 0.56

    def run(self, state: State, threads: int | None) -> State:
        noisy, current = state.noisy, state.current
        mixed = current + np.float32(self.share) * (noisy - current)
        limit = self.looseness * contrast(noisy)
        total = np.zeros_like(noisy)
        for side in self.patches:
            patch = fitting(side, noisy)
            levels = [
                np.float32(self.trust) * np.sqrt(np.maximum(0, 1 - patch_means(channel, patch))).astype(np.float32)
                for channel in np.square(noisy - mixed, dtype=np.float64)
            ]
            total += _by_channel(
                mixed,
                guide=mixed,
                match_on=mixed,
                matching=_matching(self, patch, limit),
                shrinker=LowRank(strength=self.strength),
                levels=levels,
                threads=threads,
            )
        return replace(state, current=total / np.float32(len(self.patches)))


def atoms(epitome: Epitome, patch: tuple[int, int]) -> Array:
    """Atoms of another patch size from the same epitome."""
    return Epitome(epitome.pixels, windows(epitome.phi.epitome_shape, patch)).dictionary.atoms


def patch_means(image: NDArray[np.float64], patch: tuple[int, int]) -> NDArray[np.float64]:
    """The mean over every patch of `(planes, height, width)`, at the place of the patch."""
    sums = np.pad(image, ((0, 0), (1, 0), (1, 0))).cumsum(axis=1).cumsum(axis=2)
    high, wide = patch
    boxes = sums[:, high:, wide:] - sums[:, :-high, wide:] - sums[:, high:, :-wide] + sums[:, :-high, :-wide]
    means: NDArray[np.float64] = boxes / (high * wide)
    return means


def _by_channel(
    noisy: Planar,
    *,
    guide: Planar,
    match_on: Planar,
    matching: Matching,
    shrinker: Shrinker,
    levels: Sequence[float | NDArray[np.float32]],
    threads: int | None,
) -> Planar:
    """Groups are found in all channels at once, and estimated in each by itself."""
    parts = [
        estimate(
            noisy[c : c + 1],
            guide=guide[c : c + 1],
            match_on=match_on,
            matching=matching,
            shrinker=shrinker,
            level=level,
            threads=threads,
        )
        for c, level in enumerate(levels)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _matching(settings: AtomsPass | FeedbackPass, patch: tuple[int, int], limit: float | None) -> Matching:
    return Matching(
        patch=(1, *patch),
        reach=(0, settings.reach, settings.reach),
        stride=(1, settings.stride, settings.stride),
        n_matches=settings.n_matches,
        limit=limit,
    )


def contrast(noisy: Planar) -> float:
    """The standard deviation of the image without its noise, in units of the noise, kept between 1/2 and 10.

    Of colours, that of the lightness.
    """
    return min(max(recipe.contrast(noisy[0], 1.0), 0.5), 10.0)


def fitting(side: int, noisy: Planar) -> tuple[int, int]:
    """The patch for this noise: `side (2 / contrast)^0.2`, rounded, and cut down to an image that is smaller.

    What stands out of the noise is told apart by small patches; what does not needs large ones to be seen at all.
    """
    scaled = max(3, round(side * (2 / contrast(noisy)) ** 0.2))
    return min(scaled, noisy.shape[2]), min(scaled, noisy.shape[3])
