"""Arrangements: which patches suit a volume or clip, and whether its planes are aligned along their motion.

Volumes and still scenes call for deep patches. Where things move, or planes lie far apart, flat ones are better. Which
it is cannot be read off the file, so the first stage is tried on tiles and judged by held-out noise: with the noisy
volume y of noise level 1 and more noise n, `y + n / 2` is denoised and compared with `y - 2 n`, whose noise is
independent of it. Patches do not overlap there: the ranking is the same, in half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from epitomes.checks import Array
from epitomes.restoration.non_local.volumes.stages import Search
from epitomes.restoration.non_local.volumes.stream import Triple

PLANES, SIDE = 8, 96  # of tiles: wide ones, out of which things do not move at once
FRACTION, MOST = 0.3, 3  # of the volume that is tried, and largest number of tiles
SHARE = 0.5  # of the noise that is added for the trial
PAIRS = 8  # of neighbouring planes that are compared
LARGEST, COARSE = 256, 15  # pixels: of planes that are compared, and of what counts as low frequency in them
RELATED = 0.35  # correlation of details, below which planes have nothing in common
FAINT = 0.1  # power of details, in variances of the noise, below which it does not matter
SURE = 1.5  # standard errors by which another arrangement than the first must be better


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """How groups are found across planes."""

    name: str
    words: str  # for people
    search: Search
    coding: Search  # of stages that code patches over atoms
    pilot: Triple  # patch
    aligned: bool = False

    def coarse(self) -> Arrangement:
        """The same with patches that do not overlap."""
        return replace(self, search=replace(self.search, stride=self.search.patch))


STILL = Arrangement(
    name="still",
    words="groups across planes as they lie",
    search=Search(patch=(4, 4, 4), search_radius=(4, 5, 5), stride=(3, 3, 3)),
    coding=Search(patch=(3, 3, 3), search_radius=(4, 5, 5), stride=(2, 2, 2)),
    pilot=(4, 4, 4),
)
FLAT = Arrangement(
    name="flat",
    words="groups of flat patches across planes as they lie",
    search=Search(patch=(2, 6, 6), search_radius=(4, 5, 5), stride=(1, 4, 4)),
    coding=Search(patch=(2, 5, 5), search_radius=(4, 5, 5), stride=(1, 3, 3)),
    pilot=(2, 8, 8),
)
ALIGNED = Arrangement(
    name="aligned",
    words="groups across planes that are aligned along their motion",
    search=Search(patch=(2, 6, 6), search_radius=(4, 4, 4), stride=(1, 4, 4)),
    coding=Search(patch=(2, 5, 5), search_radius=(4, 4, 4), stride=(1, 3, 3)),
    pilot=(1, 8, 8),
    aligned=True,
)
ARRANGEMENTS = {each.name: each for each in (STILL, FLAT, ALIGNED)}

Try = Callable[[Array, float, Arrangement], Array]  # the first stage of a volume with noise of some level


def choose(image: Array, sigma: float, attempt: Try, seed: int) -> Arrangement:
    """The arrangement with the least error on held-out noise; the first one unless another is surely better."""
    rng, arrangements = np.random.default_rng(seed), list(ARRANGEMENTS.values())
    sums, squares, n = np.zeros(len(arrangements)), np.zeros(len(arrangements)), 0
    for tile in tried_on(image):
        extra = rng.standard_normal(tile.shape) * sigma
        noisier, other = tile + SHARE * extra, tile - extra / SHARE
        errors = [
            np.square(attempt(noisier, sigma * np.hypot(1, SHARE), each.coarse()) - other) for each in arrangements
        ]
        for k, error in enumerate(errors):
            more = error - errors[0]
            sums[k], squares[k] = sums[k] + more.sum(), squares[k] + np.square(more).sum()
        n += tile.size
    uncertain = np.sqrt(squares) / n
    best = int(np.argmin(sums))
    return arrangements[best if sums[best] / n < -SURE * uncertain[best] else 0]


def related(image: Array, sigma: float) -> bool:
    """Whether neighbouring planes have something in common at some shift, or too little in them for that to matter.

    Details are compared, by the peak of their cross-correlation. Their power is the correlation of neighbouring pixels,
    in which white noise has no part.
    """
    common = power = 0.0
    pairs = np.unique(np.linspace(0, len(image) - 2, min(PAIRS, len(image) - 1)).astype(int))
    for at in pairs:
        one, other = (_details(plane) for plane in image[at : at + 2])
        waves = np.fft.rfft2(one) * np.conj(np.fft.rfft2(other))
        common += float(np.fft.irfft2(waves, one.shape).max()) / one.size
        power += sum(float(np.mean(each[:, 1:] * each[:, :-1])) for each in (one, other)) / 2
    return power < FAINT * len(pairs) * sigma**2 or common > RELATED * power


def _details(plane: Array) -> NDArray[np.float64]:
    """The middle of a plane without its low frequencies; of colours, of their mean."""
    grey = np.asarray(plane, np.float64)
    grey = grey if grey.ndim == 2 else grey.mean(axis=2)
    corner = [max(0, (size - LARGEST) // 2) for size in grey.shape]
    grey = grey[corner[0] : corner[0] + LARGEST, corner[1] : corner[1] + LARGEST]
    return np.asarray(grey - uniform_filter(grey, COARSE))


def tried_on(image: Array) -> list[Array]:
    """Some tiles of a volume `(planes, height, width[, channels])`, those with most structure first, as float64."""
    counts = [max(1, size // most) for size, most in zip(image.shape[:3], (PLANES, SIDE, SIDE), strict=True)]
    found = []
    for place in np.ndindex(*counts):
        if place[0] not in {counts[0] // 4, counts[0] // 2, 3 * counts[0] // 4}:
            continue  # variances of all tiles of a long clip would take too long
        corner = [k * size // n for k, size, n in zip(place, image.shape[:3], counts, strict=True)]
        found.append(image[tuple(slice(at, at + most) for at, most in zip(corner, (PLANES, SIDE, SIDE), strict=True))])
    found.sort(key=lambda tile: float(np.var(tile, dtype=np.float64)))
    wanted = min(MOST, max(1, round(FRACTION * image.size / found[0].size)))
    chosen = np.linspace(len(found) - 1, (len(found) - 1) // 2, wanted).astype(int)
    return [np.asarray(found[k], np.float64) for k in dict.fromkeys(chosen)]
