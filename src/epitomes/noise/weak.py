"""Weak directions: what in a patch is noise for sure (after Liu, Tanaka, Okutomi 2013 and Chen, Zhu, Heng 2015).

Noise is alike in all directions of patch space, texture is not: the principal components of flat patches show the few
directions that texture hardly reaches. A patch counts as flat by its energy in the strong directions, and its noise is
measured in the weak ones. White noise in the two is independent, so that choosing flat patches does not choose quiet
noise. The directions are learned on one half of the image and used on the other, so that they do not fit noise. The two
biases of this family of methods, chosen patches and smallest eigenvalues, are thus absent, not corrected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.noise.door import Flags, Floats
from epitomes.noise.windows import WIDTH, Places, chosen_rows, cosines, whole, windows

WEAKEST = 4  # directions that measure
FLATTEST = 0.1  # the share of patches that teaches the weak directions
MOST = 2**19  # patches that are looked at; of larger images, every k-th line of patches
PUPILS = 2**16  # patches that the directions are learned on, at most twice as many
TEACHING = 4 * WIDTH**2  # patches that can teach, at least; smaller images take the highest frequencies as they are
STRIP = 32  # lines of patches; even strips are one half of the image, odd ones the other
TILE = 16  # pixels: patches of one tile share noise
FEWEST = 64  # patches that may decide
WORTH = 0.4  # independent values that a patch brings, at least; neighbours share pixels
CAUTION = 2.0  # standard errors
NOTHING = 1e-24  # of the variance of the image: rounding, not noise


@dataclass(frozen=True, eq=False)
class Measured:
    """One entry per patch."""

    energy: Floats  # mean square in the weak directions: the noise variance, and what texture is left there
    level: Floats  # mean of the patch
    tile: NDArray[np.int64]  # patches with the same number lie together
    textures: tuple[Floats, ...]  # energy in the strong directions: plain, and each over what is usual there

    def __len__(self) -> int:
        return len(self.energy)

    def where(self, chosen: Flags) -> Measured:
        kept = tuple(texture[chosen] for texture in self.textures)
        return Measured(self.energy[chosen], self.level[chosen], self.tile[chosen], kept)


@dataclass(frozen=True)
class Floor:
    """The noise of the flattest patches."""

    variance: float
    error: float  # standard error of the variance, relative
    level: float  # mean of these patches
    share: float  # of all patches: as many flattest ones give the same within 10 %; small where texture is everywhere


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit vectors as columns, orthogonal to each other and to constant patches."""

    weak: Floats  # (WIDTH^2, WEAKEST)
    strong: Floats  # (WIDTH^2, all others)
    usual: Floats  # energy of flat patches in each strong one


def measured(image: Floats, usable: Flags) -> Measured:
    """All patches of `image` whose pixels are all `usable`."""
    patches = Patches(image)
    places = np.flatnonzero(whole(usable, MOST))
    return patches.split(_taught(patches, places[:: max(1, len(places) // PUPILS)]), places)


def _taught(patches: Patches, places: Places) -> list[Directions]:
    """Directions for either half, learned on the flattest patches of the other one."""
    if min(np.bincount(patches.half[places], minlength=2)) < TEACHING:
        return [highest(), highest()]
    first = principal(patches.covariance(places))
    texture = patches.split([first, first], places).textures[1]
    taught = []
    for other in (1, 0):
        mine = patches.half[places] == other
        flat = texture <= np.quantile(texture[mine], max(FLATTEST, TEACHING / mine.sum()))
        taught.append(principal(patches.covariance(places[mine & flat])))
    return taught


def floor(found: Measured) -> Floor:
    """The set of flattest patches whose variance has the smallest upper bound.

    Texture only adds, so every set bounds the noise from above. Small sets are flatter, large ones more certain; and
    what is flat has two measures, for shading outweighs fine detail in plain energy, and counts alike in relative one.
    """
    best, bound = Floor(0.0, 0.0, 0.0, 1.0), math.inf
    for texture in found.textures:
        order = np.argsort(texture, kind="stable")
        energy, tile = found.energy[order], found.tile[order]
        sizes = [len(order)]
        while sizes[-1] >= 2 * FEWEST:
            sizes.append(sizes[-1] // 2)
        variances = [float(energy[:size].mean()) for size in sizes]
        if variances[-1] <= NOTHING:
            return Floor(0.0, 0.0, float(found.level[order[: sizes[-1]]].mean()), 1.0)
        for size, variance in zip(sizes, variances, strict=True):
            error = _error(energy[:size], tile[:size], variance)
            if variance * (1 + CAUTION * error) < bound:
                bound = variance * (1 + CAUTION * error)
                share = max(n for n, other in zip(sizes, variances, strict=True) if other <= 1.1 * variance) / sizes[0]
                best = Floor(variance, error, float(found.level[order[:size]].mean()), share)
    return best


def _error(energy: Floats, tile: NDArray[np.int64], variance: float) -> float:
    """Relative standard error of the mean energy of patches; those of one tile go together."""
    tiles = int(np.count_nonzero(np.bincount(tile)))
    sums = np.bincount(tile, energy - variance)
    spread = math.sqrt(float(np.sum(sums**2)) * tiles / max(1, tiles - 1)) / len(energy) / variance
    return max(spread, math.sqrt(2 / (WORTH * len(energy))))


def principal(covariance: Floats) -> Directions:
    """The directions of least energy, and all others but the mean of the patch."""
    everything = max(float(np.trace(covariance)), np.finfo(float).tiny)
    energies, directions = np.linalg.eigh(covariance + everything)  # lifts the mean above all others: it comes last
    usual = np.maximum(energies[WEAKEST:-1], NOTHING)
    return Directions(directions[:, :WEAKEST], directions[:, WEAKEST:-1], usual)


def highest() -> Directions:
    """Without patches that could teach: the highest frequencies are weak, for nature is smooth."""
    basis, frequency = cosines()
    directions = basis[np.argsort(frequency, kind="stable")].T
    return Directions(directions[:, -WEAKEST:], directions[:, 1:-WEAKEST], np.ones(WIDTH**2 - 1 - WEAKEST))


class Patches:
    """The patches of an image, their means set aside, and where they lie."""

    def __init__(self, image: Floats) -> None:
        self.view = windows(image, MOST)
        lines, columns = self.view.shape[:2]
        line, column = np.divmod(np.arange(lines * columns), columns)
        along = line if lines >= columns else column
        self.half = along // min(STRIP, max(1, max(lines, columns) // 2)) % 2
        down, across = (pitch // step for pitch, step in zip(self.view.strides[:2], image.strides, strict=True))
        self.tile = line * down // TILE * (image.shape[1] // TILE + 1) + column * across // TILE

    def covariance(self, places: Places) -> Floats:
        total = np.zeros((WIDTH**2, WIDTH**2))
        for _, rows in chosen_rows(self.view, places):
            centred = rows - rows.mean(axis=1)[:, None]
            total += centred.T @ centred
        return total / max(1, len(places))

    def split(self, taught: list[Directions], places: Places) -> Measured:
        """Every patch by the directions for its half."""
        energy, level, plain, relative = (np.empty(len(places)) for _ in range(4))
        for piece, rows in chosen_rows(self.view, places):
            level[piece] = rows.mean(axis=1)
            for half, directions in enumerate(taught):
                mine = self.half[places[piece]] == half
                strong = np.square(rows[mine] @ directions.strong)
                energy[piece][mine] = np.square(rows[mine] @ directions.weak).mean(axis=1)
                plain[piece][mine] = strong.sum(axis=1)
                relative[piece][mine] = strong @ (1 / directions.usual)
        return Measured(energy, level, self.tile[places], (plain, relative))
