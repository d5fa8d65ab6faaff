"""Passes of the non-local method: each turns the noisy image and the last estimate into a better estimate.

All of them work on planar float32 images in units of the noise, so that its standard deviation is 1. A pass is made for
each of its patch sizes, and the estimates are averaged: one epitome serves them all. Sizes are those for a contrast of
twice the noise; `fitted_patch` says how they follow it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array, positive, whole
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.groups import LowRank, Matching, SharedAtoms, estimate
from epitomes.groups._estimate import lines_of
from epitomes.groups.matching import Planar
from epitomes.learn import online, run
from epitomes.patches import Patches
from epitomes.phi import GatherPhi, Phi
from epitomes.phi.description import describe
from epitomes.restoration.contrast import contrast
from epitomes.restoration.whole_image import Support, WholeImage

ROWS = 256  # of an image whose residual is averaged at once
MOST_ATOMS = 20.0  # per patch: from there on an adapted epitome gains nothing
CODED_ATOMS = 80.0  # per patch, over all steps of learning
PATCH_COST = 10.0  # of a learned patch in a step, relative to a pixel in a pass: for the progress shown

Advance = Callable[[float], None]  # told the fraction of a pass that is done
Side = tuple[int, ...]  # of a patch, along each axis


@dataclass(frozen=True, eq=False)
class State:
    """Where the passes stand. A pass owns its state and may overwrite the estimate in it."""

    noisy: Planar
    current: Planar  # the last estimate
    epitome: Epitome
    contrast: float  # of the image, in units of the noise
    part: bool = False  # of an image, not the whole
    second: Planar | None = None  # another estimate, whose errors differ

    @classmethod
    def begin(cls, noisy: Planar, pilot: Planar, epitome: Epitome, whole: WholeImage | None = None) -> State:
        """The state before the first pass."""
        if whole is not None:
            return cls(noisy, pilot, epitome, whole.contrast, part=True)
        return cls(noisy, pilot, epitome, clipped_contrast(noisy))


@runtime_checkable
class Pass(Protocol):
    """One step from a state to the next."""

    def cost(self, n_values: int) -> float:
        """Time it takes for an image of `n_values` relative to other passes, about."""
        ...

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        """Improve the estimate or the epitome."""
        ...


@runtime_checkable
class LocalPass(Pass, Protocol):
    """A pass after which a pixel depends on the pixels near it alone, so that images can be worked on in parts."""

    def support(self, epitome: Epitome, contrast: float) -> Support:
        """How far the pass reaches, and the grid on which parts must begin."""
        ...


class GroupSettings(Protocol):
    """What all passes over groups are told."""

    @property
    def group_size(self) -> int: ...

    @property
    def search_radius(self) -> int: ...

    @property
    def stride(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class AdaptPass:
    """Adapt the epitome to the current estimate; of colours, to their lightness."""

    lam: float = 0.6  # in units of the noise; estimates hold little of it
    most_steps: int = 12
    batch: int = 2000

    def __post_init__(self) -> None:
        positive("lam", self.lam)
        whole("most_steps", self.most_steps, least=1)
        whole("batch", self.batch, least=1)

    def cost(self, n_values: int) -> float:
        return PATCH_COST * self.batch * self.n_steps(n_values) / n_values

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        patches = Patches(state.current[0, 0], state.epitome.phi.patch_shape)
        steps = online(patches, state.epitome, coder=Lasso(lam=self.lam), batch=self.batch, rng=seed, threads=threads)
        n_steps = self.n_steps(len(patches))
        watch = None if advance is None else lambda step: advance(step.progress.index / n_steps)
        return replace(state, epitome=run(steps, max_steps=n_steps, callback=watch).epitome)

    def n_steps(self, n_patches: int) -> int:
        """Steps for an image: two passes over the patches of small ones are enough."""
        return min(self.most_steps, -(-2 * n_patches // self.batch))


def bounded(passes: Sequence[Pass], atoms: float) -> tuple[Pass, ...]:
    """The passes for patches that need so many atoms: where they need many, learning is slow and gains little."""
    if atoms >= MOST_ATOMS:
        return tuple(step for step in passes if not isinstance(step, AdaptPass))
    steps = max(1, int(CODED_ATOMS / max(atoms, 1.0)))
    return tuple(
        replace(step, most_steps=min(step.most_steps, steps)) if isinstance(step, AdaptPass) else step
        for step in passes
    )


@dataclass(frozen=True, kw_only=True)
class AtomsPass:
    """Joint sparse coding: groups share atoms, chosen on the current estimate; codes of noisy patches have low rank."""

    patches: tuple[int, ...] = (8, 6)
    group_size: int = 80
    search_radius: int = 20
    stride: int = 4
    threshold: float | None = 0.4  # largest distance of a member, in variances of the noise
    selection_size: int = 16  # members on which atoms are chosen
    bound: float = 0.006  # their error at which the pursuit stops, in variances of the noise
    most_atoms: int = 20
    strength: float = 2.2
    select_on_noisy: bool = False  # choose atoms on the noisy image instead: for the first pass, with a bound near 1
    by_rank: bool = False
    keep: float = 0.0  # share of the current estimate in the new one: two that err in different ways err less together

    def __post_init__(self) -> None:
        _require_groups(self)
        positive("bound", self.bound, zero=True)
        if self.threshold is not None:
            positive("threshold", self.threshold, zero=True)
        whole("selection_size", self.selection_size, least=1)
        whole("most_atoms", self.most_atoms, least=1)
        for name in ("select_on_noisy", "by_rank"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if positive("keep", self.keep, zero=True) >= 1:
            raise ValueError(f"keep must be below 1, got {self.keep}")

    def cost(self, n_values: int) -> float:
        # Atoms chosen on noisy patches are many, however small the groups.
        size = 1.15 if self.select_on_noisy else self.group_size / 80
        return len(self.patches) * size * (4 / self.stride) ** 2

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        noisy, current = state.noisy, state.current
        patches = coding_patches([fitted_patch(side, state) for side in self.patches], state.epitome)
        mean = Mean(len(patches), advance)
        for patch in patches:
            shrinker = SharedAtoms(
                atoms=atoms_of(state.epitome, patch),
                bound=self.bound,
                selection_size=self.selection_size,
                most_atoms=self.most_atoms,
                strength=self.strength,
                by_rank=self.by_rank,
            )
            found = estimate(
                noisy,
                guide=noisy if self.select_on_noisy else current,
                match_on=current,
                matching=matching_of(self, patch, self.threshold),
                shrinker=shrinker,
                level=[1.0] * len(noisy),
                by_channel=True,
                threads=threads,
                callback=mean.advance,
            )
            mean.add(found)
        fresh = mean.result()
        if self.keep:
            fresh *= np.float32(1 - self.keep)
            for kept, channel in zip(fresh, current, strict=True):
                kept += np.float32(self.keep) * channel
        return replace(state, current=fresh)

    def support(self, epitome: Epitome, contrast: float) -> Support:
        return support_of_groups(self, coding_patches(_scaled(self.patches, contrast), epitome))


@dataclass(frozen=True, kw_only=True)
class FeedbackPass:
    """Residual feedback: a share of the residual is added back, and groups of the sum are shrunk to low rank.

    With the noisy image y and the estimate f, `u = f + share (y - f)`. The share is smaller where noise hides the
    image, and larger where it is faint (`share_factor`). The noise left in u is not
    known; for the group of a reference it is taken as `trust sqrt(1 - mean (y - u)^2)`, the mean over the reference's
    pixels, or 0 where it is above 1: noise that was not added back is missing from u, and detail in the residual makes
    the pass milder.
    Members may differ by `looseness` times the contrast of the image, per pixel and in units of the noise.
    """

    patches: tuple[int, ...] = (7,)
    group_size: int = 80
    search_radius: int = 20
    stride: int = 4
    looseness: float = 1.0
    strength: float = 2.83
    share: float = 0.39
    trust: float = 0.56

    def __post_init__(self) -> None:
        _require_groups(self)
        for name in ("looseness", "share", "trust"):
            positive(name, getattr(self, name), zero=True)

    def cost(self, n_values: int) -> float:
        return len(self.patches) * (0.4 + 0.7 * self.group_size / 80) * (4 / self.stride) ** 2

    def run(self, state: State, *, seed: int, threads: int | None, advance: Advance | None = None) -> State:
        noisy, mixed = state.noisy, state.current
        share = self.share * share_factor(state.contrast)
        for each, channel in zip(mixed, noisy, strict=True):  # in place: an image of 24 megapixels is large
            each += np.float32(share) * (channel - each)

        patches = [fitted_patch(side, state) for side in self.patches]
        mean = Mean(len(patches), advance)
        for patch in patches:
            errors = (mean_squares(y, u, patch, part=state.part) for y, u in zip(noisy, mixed, strict=True))
            found = estimate(
                mixed,
                matching=matching_of(self, patch, self.looseness * state.contrast),
                shrinker=LowRank(strength=self.strength),
                level=[np.float32(self.trust) * np.sqrt(np.maximum(0, 1 - error)) for error in errors],
                by_channel=True,
                threads=threads,
                callback=mean.advance,
            )
            mean.add(found)
        return replace(state, current=mean.result())

    def support(self, epitome: Epitome, contrast: float) -> Support:
        return support_of_groups(self, _scaled(self.patches, contrast))


def support_of_steps(passes: Sequence[Pass], epitome: Epitome, contrast: float) -> Support:
    """How far passes reach in an image of this contrast, one after another, and the grid that they have in common."""
    reach, rows, columns = 0, 1, 1
    for step in passes:
        assert isinstance(step, LocalPass)  # others are refused before
        own = step.support(epitome, contrast)
        reach, rows, columns = reach + own.halo[0], math.lcm(rows, own.grid[0]), math.lcm(columns, own.grid[1])
    return Support((reach, reach), (rows, columns))


def support_of_groups(settings: GroupSettings, patches: Sequence[Side]) -> Support:
    """How far groups of these patches reach, and the grid of their references.

    A pixel depends on the groups with a member that covers it. Their references are at most the search radius from that
    member, and are compared with patches that are as far away again: twice the radius and a patch. The estimates of a
    few lines of references are summed together, so parts begin where such a band begins.
    """
    reach, rows, columns = 2 * settings.search_radius + max(max(patch) for patch in patches), 1, 1
    for high, wide in patches:
        down = min(settings.stride, high)
        rows = math.lcm(rows, lines_of(down) * down)
        columns = math.lcm(columns, min(settings.stride, wide))
    return Support((reach, reach), (rows, columns))


def coding_patches(wanted: Sequence[Side], epitome: Epitome) -> list[Side]:
    """The patch shapes that atoms are coded with: those wanted, or the epitome's own where it has no other.

    Epitomes that are windows of pictures have atoms of any size that fits in the smallest picture. Sub-pixel shifts,
    rotations, scales and flat dictionaries have atoms of one size.
    """
    phi = epitome.phi
    own: list[Side] = [phi.patch_shape]
    if not isinstance(phi, GatherPhi) or all(picture.shape == phi.patch_shape for picture in phi.pictures):
        return own
    try:
        for patch in wanted:
            resized(phi, patch)
    except (TypeError, ValueError):  # made by hand, or too small for the patch
        return own
    return list(wanted)


def atoms_of(epitome: Epitome, patch: Side) -> Array:
    """Atoms of one patch shape: the epitome's own, or those of the same phi for other patches."""
    if patch == epitome.phi.patch_shape:
        return epitome.dictionary.atoms
    return Epitome(epitome.pixels, resized(epitome.phi, patch)).dictionary.atoms


def resized(phi: Phi, patch: Side) -> GatherPhi:
    """The same phi for patches of another shape: the same pixels, borders, turns and parts."""
    return replace(describe(phi), patch_shape=patch).build()


def share_factor(contrast: float) -> float:
    """How much more or less of the residual is added back, by the contrast of the image in units of the noise.

    `(contrast / 2)^0.2` below 2, `(contrast / 3)^0.35` above 3 and 1.3 at most, 1 between them.
    """
    if contrast < 2:
        return float((contrast / 2) ** 0.2)
    return min(max(1.0, float((contrast / 3) ** 0.35)), 1.3)


def mean_squares(
    first: NDArray[np.float32], second: NDArray[np.float32], patch: tuple[int, int], part: bool = False
) -> Planar:
    """The mean of `(first - second)^2` over every patch of `(planes, height, width)`, at the place of the patch.

    Sums from the border on are faster; those of a `part` must not depend on where it begins.
    """
    high, wide = patch
    planes, height, width = first.shape
    means = np.empty((planes, height - high + 1, width - wide + 1), np.float32)
    for top in range(0, means.shape[1], ROWS):
        rows = slice(top, min(top + ROWS, means.shape[1]) + high - 1)
        squares = np.square(first[:, rows] - second[:, rows], dtype=np.float64)
        if part:
            boxes = _summed(_summed(squares, high, axis=1), wide, axis=2)
        else:
            sums = np.pad(squares, ((0, 0), (1, 0), (1, 0))).cumsum(axis=1).cumsum(axis=2)
            boxes = sums[:, high:, wide:] - sums[:, :-high, wide:] - sums[:, high:, :-wide] + sums[:, :-high, :-wide]
        means[:, top : top + ROWS] = boxes / (high * wide)
    return means


def _summed(values: NDArray[np.float64], n: int, axis: int) -> NDArray[np.float64]:
    """Sums of n neighbours along an axis, each added in order."""
    lines = np.moveaxis(values, axis, 0)
    total = lines[: len(lines) - n + 1].copy()
    for k in range(1, n):
        total += lines[k : len(lines) - n + 1 + k]
    return np.moveaxis(total, 0, axis)


def clipped_contrast(noisy: Planar) -> float:
    """The contrast of an image in units of the noise, between 1/2 and 10; of colours, that of the lightness."""
    return min(max(contrast(noisy[0], 1.0), 0.5), 10.0)


def fitted_patch(side: int, state: State) -> tuple[int, int]:
    """The patch for this noise: `side (2 / contrast)^0.2`, rounded, and no larger than the image.

    Detail that stands out of the noise is told apart by small patches; faint detail shows only in large ones.
    """
    scaled = scaled_side(side, state.contrast)
    return min(scaled, state.noisy.shape[2]), min(scaled, state.noisy.shape[3])


def scaled_side(side: int, contrast: float) -> int:
    """The side of a patch for an image of this contrast."""
    return max(3, round(side * float((2 / contrast) ** 0.2)))


def _scaled(sides: Sequence[int], contrast: float) -> list[Side]:
    """Square patches for an image of this contrast."""
    return [(side, side) for side in (scaled_side(side, contrast) for side in sides)]


class Mean:
    """The mean of `n` estimates, summed in place of the first one, and the progress on the way to it."""

    def __init__(self, n: int, advance: Advance | None) -> None:
        self.n, self.done = n, 0
        self.total: Planar | None = None
        self.told = advance

    @property
    def advance(self) -> Advance | None:
        """Progress of the next estimate as a part of all."""
        if self.told is None:
            return None
        told, done, n = self.told, self.done, self.n
        return lambda fraction: told((done + fraction) / n)

    def add(self, found: Planar) -> None:
        if self.total is None:
            self.total = found
        else:
            self.total += found
        self.done += 1

    def result(self) -> Planar:
        assert self.total is not None
        if self.n > 1:
            self.total *= np.float32(1 / self.n)
        return self.total


def _require_groups(settings: AtomsPass | FeedbackPass) -> None:
    """Refuse settings of groups that no image can have."""
    patches: object = settings.patches
    if not isinstance(patches, tuple) or not patches:
        raise TypeError(f"patches must be a tuple of side lengths, got {patches!r}")
    for side in patches:
        whole("each side of patches", side, least=2)
    whole("group_size", settings.group_size, least=1)
    whole("search_radius", settings.search_radius, least=0)
    whole("stride", settings.stride, least=1)
    positive("strength", settings.strength, zero=True)


def matching_of(settings: GroupSettings, patch: Side, threshold: float | None) -> Matching:
    """How groups of such patches are found."""
    high, wide = patch
    # A stride longer than the patch would leave pixels out.
    down, across = (min(settings.stride, side) for side in patch)
    return Matching(
        patch=(1, high, wide),
        search_radius=(0, settings.search_radius, settings.search_radius),
        stride=(1, down, across),
        group_size=settings.group_size,
        threshold=threshold,
    )
