"""Noise of weakly textured patches (after Liu, Tanaka and Okutomi, 2013, and Chen, Zhu and Heng, 2015).

White noise has the same energy in every direction of patch space; texture does not. The principal components of flat
patches show the few directions that texture hardly reaches. A patch counts as flat if it has little energy in the
strong directions, and its noise is measured in the weak ones. White noise in the two is independent, so selecting flat
patches does not select quiet noise. The directions are learned on one half of the image and used on the other, so they
do not fit the noise. The two biases of these methods (selection, and the smallest eigenvalues) are avoided rather than
corrected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from epitomes.noise.patch_rows import WIDTH, Indices, cosine_basis, patch_view, selected_rows, valid_patches
from epitomes.noise.planes import Flags, Floats

N_WEAK = 4  # directions in which noise is measured
N_STRONG = WIDTH**2 - 1 - N_WEAK  # all others but that of constant patches
FLAT_SHARE = 0.1  # share of patches, the flattest, on which the directions are learned
MAX_PATCHES = 2**19  # patches that are measured; of larger images, every k-th line of patches
MAX_TRAINING = 2**16  # patches among which the flat ones are chosen, at most twice as many
MIN_TRAINING = 4 * WIDTH**2  # patches needed to learn directions; smaller images use the highest frequencies
STRIP = 32  # lines of patches; even strips are one half of the image, odd ones the other
TILE = 16  # pixels; the noise of patches in one tile is dependent
MIN_PATCHES = 64  # patches in the smallest set that is considered
SAMPLES_PER_PATCH = 0.4  # independent values that a patch adds, at least; overlapping patches share pixels
BOUND_ERRORS = 2.0  # standard errors between an estimate and its upper bound
ROUNDING = 1e-24  # share of the variance of the image: below it there is rounding, not noise


@dataclass(frozen=True, eq=False)
class PatchStatistics:
    """Measurements of patches, one entry per patch."""

    energy: Floats  # mean square in the weak directions: noise variance plus the remaining texture
    mean: Floats
    tile: Indices  # number of the tile in which the patch lies
    textures: tuple[Floats, ...]  # two measures: energy in the strong directions, and the same relative to typical ones

    def __len__(self) -> int:
        return len(self.energy)

    def where(self, chosen: Flags) -> PatchStatistics:
        kept = tuple(texture[chosen] for texture in self.textures)
        return PatchStatistics(self.energy[chosen], self.mean[chosen], self.tile[chosen], kept)


@dataclass(frozen=True)
class NoiseFloor:
    """The noise of the flattest patches."""

    variance: float
    error: float  # standard error of the variance, relative to it
    mean: float  # brightness of these patches
    share: float  # share of patches, the flattest, that agree with the variance within 10 %; small under texture
    texture: float  # their energy in the strong directions over that in the weak ones; about 1 for white noise alone


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit vectors as columns, orthogonal to each other and to constant patches."""

    weak: Floats  # (WIDTH^2, N_WEAK)
    strong: Floats  # (WIDTH^2, all others)
    strong_energy: Floats  # energy of flat patches in each strong direction


def patch_statistics(image: Floats, valid: Flags) -> PatchStatistics:
    """Measure all patches of `image` whose pixels are all `valid`."""
    patches = PatchSet(image)
    indices = np.flatnonzero(valid_patches(valid, MAX_PATCHES))
    return patches.measure(_cross_fitted(patches, indices[:: max(1, len(indices) // MAX_TRAINING)]), indices)


def _cross_fitted(patches: PatchSet, indices: Indices) -> list[Directions]:
    """Directions for either half, learned on the flattest patches of the other one."""
    if min(np.bincount(patches.half[indices], minlength=2)) < MIN_TRAINING:
        return [highest_frequencies(), highest_frequencies()]
    first = principal_directions(patches.covariance(indices))
    texture = patches.measure([first, first], indices).textures[1]
    learned = []
    for other in (1, 0):
        mine = patches.half[indices] == other
        flat = texture <= np.quantile(texture[mine], max(FLAT_SHARE, MIN_TRAINING / mine.sum()))
        learned.append(principal_directions(patches.covariance(indices[mine & flat])))
    return learned


def noise_floor(statistics: PatchStatistics) -> NoiseFloor:
    """The set of flattest patches whose variance has the smallest upper bound.

    Texture only adds energy, so every set bounds the noise from above. Small sets are flatter, large ones more certain.
    Flatness is measured in two ways: shading dominates the plain energy, fine detail counts more in the relative one.
    """
    best, least_bound = NoiseFloor(0.0, 0.0, 0.0, 1.0, 1.0), math.inf
    for texture in statistics.textures:
        order = np.argsort(texture, kind="stable")
        energy, tile = statistics.energy[order], statistics.tile[order]
        sizes = [len(order)]
        while sizes[-1] >= 2 * MIN_PATCHES:
            sizes.append(sizes[-1] // 2)
        variances = [float(energy[:size].mean()) for size in sizes]
        if variances[-1] <= ROUNDING:
            return NoiseFloor(0.0, 0.0, float(statistics.mean[order[: sizes[-1]]].mean()), 1.0, 1.0)
        for size, variance in zip(sizes, variances, strict=True):
            error = _relative_error(energy[:size], tile[:size], variance)
            if variance * (1 + BOUND_ERRORS * error) < least_bound:
                least_bound = variance * (1 + BOUND_ERRORS * error)
                agreeing = max(n for n, other in zip(sizes, variances, strict=True) if other <= 1.1 * variance)
                mean, strong = (float(each[order[:size]].mean()) for each in (statistics.mean, statistics.textures[0]))
                best = NoiseFloor(variance, error, mean, agreeing / sizes[0], strong / N_STRONG / variance)
    return best


def _relative_error(energy: Floats, tile: Indices, variance: float) -> float:
    """Relative standard error of the mean energy of patches, clustered by tile."""
    tiles = int(np.count_nonzero(np.bincount(tile)))
    sums = np.bincount(tile, energy - variance)
    spread = math.sqrt(float(np.sum(sums**2)) * tiles / max(1, tiles - 1)) / len(energy) / variance
    return max(spread, math.sqrt(2 / (SAMPLES_PER_PATCH * len(energy))))


def principal_directions(covariance: Floats) -> Directions:
    """The directions of least energy, and all others but that of constant patches."""
    total = max(float(np.trace(covariance)), np.finfo(float).tiny)
    energies, directions = np.linalg.eigh(covariance + total)  # lifts constant patches above all others: they come last
    strong_energy = np.maximum(energies[N_WEAK:-1], ROUNDING)
    return Directions(directions[:, :N_WEAK], directions[:, N_WEAK:-1], strong_energy)


def highest_frequencies() -> Directions:
    """For images too small to learn from: the highest frequencies are weak, because natural images are smooth."""
    basis, frequency = cosine_basis()
    directions = basis[np.argsort(frequency, kind="stable")].T
    return Directions(directions[:, -N_WEAK:], directions[:, 1:-N_WEAK], np.ones(N_STRONG))


class PatchSet:
    """The patches of an image, and the half and the tile in which each lies."""

    def __init__(self, image: Floats) -> None:
        self.view = patch_view(image, MAX_PATCHES)
        lines, columns = self.view.shape[:2]
        line, column = np.divmod(np.arange(lines * columns), columns)
        along = line if lines >= columns else column
        self.half = along // min(STRIP, max(1, max(lines, columns) // 2)) % 2
        down, across = (pitch // step for pitch, step in zip(self.view.strides[:2], image.strides, strict=True))
        self.tile = line * down // TILE * (image.shape[1] // TILE + 1) + column * across // TILE

    def covariance(self, indices: Indices) -> Floats:
        """Covariance of patches without their means."""
        total = np.zeros((WIDTH**2, WIDTH**2))
        for _, rows in selected_rows(self.view, indices):
            centred = rows - rows.mean(axis=1)[:, None]
            total += centred.T @ centred
        return total / max(1, len(indices))

    def measure(self, directions: list[Directions], indices: Indices) -> PatchStatistics:
        """Measure every patch in the directions for its half."""
        energy, mean, plain, relative = (np.empty(len(indices)) for _ in range(4))
        for piece, rows in selected_rows(self.view, indices):
            mean[piece] = rows.mean(axis=1)
            for half, found in enumerate(directions):
                mine = self.half[indices[piece]] == half
                strong = np.square(rows[mine] @ found.strong)
                energy[piece][mine] = np.square(rows[mine] @ found.weak).mean(axis=1)
                plain[piece][mine] = strong.sum(axis=1)
                relative[piece][mine] = strong @ (1 / found.strong_energy)
        return PatchStatistics(energy, mean, self.tile[indices], (plain, relative))
