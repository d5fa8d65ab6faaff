"""Arrangements: which patches suit a volume or clip, and whether its planes are aligned along their motion.

Volumes and still scenes call for deep patches. Where things move, or planes lie far apart, flat ones are better. Which
it is cannot be read off the file, so all are tried on tiles and judged by held-out noise: with the noisy volume y of
noise level 1 and more noise n, `y + n / 2` is denoised and compared with `y - 2 n`, whose noise is independent of it.
Patches hardly overlap there: the ranking is the same, in less time. Those that are surely worse drop out on the way,
after a tile or after a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from epitomes.checks import Array
from epitomes.restoration.non_local.volumes.stages import Search
from epitomes.restoration.non_local.volumes.stream import Triple

# Of tiles: in shallow ones deep patches do worse than in the whole, and out of small ones things move at once.
PLANES, SIDE = 16, 96
TILE = PLANES, SIDE, SIDE
FRACTION, MOST = 0.5, 2  # of the volume that is tried, and largest number of tiles
SHARE = 0.5  # of the noise that is added for the trial
TRIAL = 7919  # beside the seed
PAIRS = 8  # of neighbouring planes that are compared
LARGEST, COARSE = 256, 15  # pixels: of planes that are compared, and of what counts as low frequency in them
RELATED = 0.35  # correlation of details, below which planes have nothing in common
FAINT = 0.1  # power of details, in variances of the noise, below which it does not matter
SURE = 1.0  # standard errors by which another arrangement than the first must be better
WORSE = 2.0  # standard errors by which an arrangement is worse that drops out
FAR_WORSE = 3.0  # the same on one tile, after any stage: after the first one, motion is underrated
REACH = 6.0  # pixels: of groups where the distance of planes is known
APART = 1.75  # distance of planes over that of pixels, from which planes lie far apart


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """How groups are found across planes."""

    name: str
    words: str  # for people
    search: Search
    coding: Search  # of stages that code patches over atoms
    pilot: Triple  # patch
    aligned: bool = False


STILL = Arrangement(
    name="still",
    words="groups across planes as they lie",
    search=Search(patch=(4, 4, 4), search_radius=(4, 5, 5), stride=(3, 3, 3)),
    coding=Search(patch=(3, 3, 3), search_radius=(4, 5, 5), stride=(2, 2, 2)),
    pilot=(4, 4, 4),
)
DEEP = Arrangement(
    name="deep",
    words="groups of wide and deep patches across planes as they lie",
    search=Search(patch=(4, 6, 6), search_radius=(4, 5, 5), stride=(3, 4, 4)),
    coding=Search(patch=(4, 5, 5), search_radius=(4, 5, 5), stride=(3, 3, 3)),
    pilot=(4, 4, 4),
)
FLAT = Arrangement(
    name="flat",
    words="groups of flat patches across planes as they lie",
    search=Search(patch=(2, 6, 6), search_radius=(4, 5, 5), stride=(1, 5, 5)),
    coding=Search(patch=(2, 5, 5), search_radius=(4, 5, 5), stride=(1, 3, 3)),
    pilot=(2, 8, 8),
)
WIDE = Arrangement(
    name="wide",
    words="groups of wide and flat patches across planes as they lie",
    search=Search(patch=(2, 8, 8), search_radius=(4, 5, 5), stride=(1, 5, 5)),
    coding=FLAT.coding,
    pilot=FLAT.pilot,
)
ALIGNED = Arrangement(
    name="aligned",
    words="groups across planes that are aligned along their motion",
    search=Search(patch=(2, 8, 8), search_radius=(4, 4, 4), stride=(1, 5, 5)),
    coding=Search(patch=(2, 5, 5), search_radius=(4, 4, 4), stride=(1, 3, 3)),
    pilot=(1, 8, 8),
    aligned=True,
)
SHARED = Arrangement(
    name="shared",
    words="planes by what many of them share",
    search=Search(patch=(1, 6, 6), search_radius=(0, 12, 12), stride=(1, 3, 3)),
    coding=Search(patch=(1, 5, 5), search_radius=(0, 12, 12), stride=(1, 3, 3)),
    pilot=(1, 8, 8),
)
ACROSS = DEEP, STILL, FLAT, WIDE, ALIGNED  # arrangements of groups across planes
ARRANGEMENTS = {each.name: each for each in (*ACROSS, SHARED)}

Try = Callable[[Array, float], Iterable[Array]]  # estimates of a noisy tile with noise of some level, stage by stage


def candidates(spacing: float | None) -> list[Arrangement]:
    """Arrangements to try; the first is taken where no other is surely better.

    `spacing` is the distance of planes over that of pixels, if it is known. Then nothing moves from plane to plane.
    Where planes lie far apart, patches are not deep, and groups reach as far across planes as within them.
    """
    if spacing is None:
        return list(ACROSS)
    if spacing < APART:
        return [each for each in ACROSS if not each.aligned]
    deep, far = max(1, round(REACH / spacing)), round(REACH)
    near = [
        replace(each, search=each.search.reaching((deep, far, far)), coding=each.coding.reaching((deep, far, far)))
        for each in (FLAT, WIDE)
    ]
    return near


def name_of(words: str) -> str | None:
    """The arrangement that these words end with, as `Restored.how` does; None if there is none."""
    return next((name for name, each in ARRANGEMENTS.items() if words.endswith(each.words)), None)


def best_of(
    tiles: Iterable[Array],
    sigma: float,
    attempts: Sequence[Try],
    seed: int,
    sure: float = 0.0,
    advance: Callable[[], None] = lambda: None,
) -> int:
    """Which attempt has the least error on held-out noise; the first if that is not worse by `sure` standard errors.

    All attempts have the same number of stages.
    """
    # Other numbers than those of simulated noise with the same seed, on which the trial would be deceived.
    rng, left = np.random.default_rng((seed, TRIAL)), list(range(len(attempts)))
    # Sums of the differences between the squared errors of every two attempts, and of the squares of these.
    sums, squares = np.zeros((2, len(attempts), len(attempts)))
    best = 0
    for tile in tiles:
        extra = rng.standard_normal(tile.shape) * sigma
        noisier, other = tile + SHARE * extra, tile - extra / SHARE
        stages = {k: iter(attempts[k](noisier, sigma * float(np.hypot(1, SHARE)))) for k in left}
        errors: dict[int, Array] = {}
        while found := {k: np.square(each - other) for k in left if (each := next(stages[k], None)) is not None}:
            advance()
            errors, left = found, _close(found)
            if len(left) == 1:
                break
        for i, j in product(left, left):
            more = errors[i] - errors[j]
            sums[i, j], squares[i, j] = sums[i, j] + more.sum(), squares[i, j] + np.square(more).sum()
        best = left[int(np.argmin(sums[left, left[0]]))]
        left = [k for k in left if sums[k, best] <= WORSE * np.sqrt(squares[k, best])]
        if len(left) == 1:
            break
    return best if 0 not in left or sums[0, best] > sure * np.sqrt(squares[0, best]) else 0


def _close(errors: dict[int, Array]) -> list[int]:
    """Attempts that are not far worse than the best one."""
    best = min(errors.values(), key=np.sum)
    more = {k: each - best for k, each in errors.items()}
    return [k for k, each in more.items() if each.sum() <= FAR_WORSE * np.sqrt(np.square(each).sum())]


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


def tried_on(image: Array, most: int = MOST) -> Iterator[Array]:
    """Some tiles of a volume `(planes, height, width[, channels])`, those with most structure first, as float64."""
    return (np.asarray(image[place], np.float64) for place in tile_places(image, most))


def tile_places(image: Array, most: int = MOST) -> list[tuple[slice, ...]]:
    """Where these tiles are."""
    counts = [max(1, size // side) for size, side in zip(image.shape[:3], TILE, strict=True)]
    found = []
    for place in np.ndindex(*counts):
        if place[0] not in {counts[0] // 4, counts[0] // 2, 3 * counts[0] // 4}:
            continue  # variances of all tiles of a long clip would take too long
        corner = [k * size // n for k, size, n in zip(place, image.shape[:3], counts, strict=True)]
        found.append(tuple(slice(at, at + side) for at, side in zip(corner, TILE, strict=True)))
    found.sort(key=lambda tile: float(np.var(image[tile], dtype=np.float64)))
    wanted = min(n_tried(image.shape[:3], most), len(found))
    chosen = np.linspace(len(found) - 1, (len(found) - 1) // 2, wanted).astype(int)
    return [found[k] for k in dict.fromkeys(chosen)]


def n_tried(shape: tuple[int, ...], most: int = MOST) -> int:
    """How many tiles of a volume are tried, at most."""
    voxels = float(np.prod(np.minimum(shape, TILE)))
    return min(most, max(1, round(FRACTION * float(np.prod(shape)) / voxels)))
