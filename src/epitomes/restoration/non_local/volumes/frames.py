"""Frames: many planes of a scene that stands still, turned into the few directions in which they vary together.

Groups across planes reach a few planes only. Where the same place is seen a hundred times, as in calcium imaging, most
of what can be known of a plane is in planes far away. Each plane is then a volume of its own in a series (`series`), in
windows that are long but bounded. Whether that is better than groups across planes is tried by held-out noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import DTypeLike

from epitomes.checks import Array
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local.volumes.arrangement import SHARED, Arrangement, best_of, tile_places
from epitomes.restoration.non_local.volumes.method import (
    attempt,
    chosen,
    measured,
    shape_of,
    trial_stages,
)
from epitomes.restoration.non_local.volumes.series import MIXED, Series, denoise_series, windows
from epitomes.restoration.non_local.volumes.stream import Triple

LEAST = 24  # planes of a window, below which groups across planes reach far enough
MOST = 64  # planes of a window
PIXELS = 16  # for each plane of a window, at least: with fewer, directions are those of the noise
VALUES = 2**23  # in a window: of large planes there are fewer
BYTES = 110  # of memory for each of these
TILE = 64  # rows and columns of the trial, which has as many planes as a window
SURE = 2.0  # standard errors by which it must be better
FEW = 0.35  # directions that stand out of the noise, per plane: where there are more, it is not even tried
ABOVE = 1.05  # times the edge of the noise
TRIAL_SHARE = 0.3  # of the time that it takes to choose among arrangements


def arranged(
    image: Array,
    sigma: float,
    planes: str,
    spacing: float | None,
    preset: str,
    seed: int,
    threads: int | None,
    callback: Callback | None = None,
) -> Arrangement:
    """The arrangement that `planes` names; with "auto" the one that suits a volume or clip best, maybe `SHARED`."""
    found = chosen(image, sigma, planes, spacing, preset, seed, threads, within(callback, 0.0, 1 - TRIAL_SHARE))
    if planes != "auto" or spacing is not None or not may_share(shape_of(image), channels_of(image)):
        return found
    tile = np.asarray(image[_tile(image)], np.float64)
    if n_directions(tile, sigma) > FEW * len(tile):
        return found
    ways: list[Callable[..., list[Array]]] = [partial(_across, arrangement=found), _shared]
    attempts = [partial(way, preset=preset, threads=threads) for way in ways]
    best = best_of([tile], sigma, attempts, seed, SURE)
    if callback is not None:
        callback(1.0, "comparing arrangements of planes")
    return SHARED if best else found


def n_directions(planes: Array, sigma: float) -> int:
    """In how many directions planes vary together, by more than noise does: beyond `(sqrt(m) + sqrt(n))^2 sigma^2`.

    That is the largest eigenvalue of the products of n planes of m values of white noise, about.
    """
    rows = planes.reshape(len(planes), -1)
    rows = rows - rows.mean(axis=1, keepdims=True)
    energies = np.linalg.eigvalsh(np.einsum("ap,bp->ab", rows, rows))
    edge = ABOVE * (np.sqrt(rows.shape[0]) + np.sqrt(rows.shape[1])) ** 2 * sigma**2
    return int(np.count_nonzero(energies > edge))


def may_share(shape: Triple, channels: int = 1) -> bool:
    """Whether windows of a volume or clip are long enough for `SHARED`."""
    return min(len(window) for window in windows_of(shape, channels)) >= LEAST


def memory_of_frames(shape: Triple, channels: int = 1) -> int:
    """What a volume or clip needs beside itself if it is denoised so, in bytes."""
    return BYTES * shape[1] * shape[2] * channels * max(map(len, windows_of(shape, channels)))


def windows_of(shape: Triple, channels: int = 1) -> list[range]:
    """Planes that are denoised together."""
    n, high, wide = shape
    most = min(MOST, max(2, high * wide // PIXELS))
    return windows(n, high * wide * channels, most=most, values=VALUES)


def channels_of(image: Array) -> int:
    """How many channels a volume has."""
    return image.shape[3] if len(image.shape) == 4 else 1


def denoise_frames(
    image: Array,
    sigma: float,
    *,
    preset: str,
    dtype: DTypeLike,
    threads: int | None,
    callback: Callback | None,
) -> Iterator[Array]:
    """The planes of a clip `(planes, height, width[, channels])` by what they share, window after window."""
    done, n, planes = 0, len(image), iter(image)  # of a file, it is read once
    for window in windows_of(shape_of(image), channels_of(image)):
        part = within(callback, done / n, (done + len(window)) / n)
        series = _series(np.stack(list(islice(planes, len(window)))), sigma)
        for volume in denoise_series(series, SHARED, preset=preset, dtype=dtype, threads=threads, callback=part):
            yield volume[0]
        done += len(window)


def _series(planes: Array, sigma: float) -> Series:
    """Each plane as a volume of one."""
    return Series([plane[None] for plane in planes], [sigma] * len(planes), MIXED)


def _tile(image: Array) -> tuple[slice, slice, slice]:
    """As many planes as a window has, of the part of a clip that has most structure."""
    longest = max(map(len, windows_of(shape_of(image), channels_of(image))))
    found = []
    for place, size, most in zip(tile_places(image, 1)[0], image.shape[:3], (longest, TILE, TILE), strict=True):
        length = min(most, size)
        first = min(max((place.start + place.stop - length) // 2, 0), size - length)
        found.append(slice(first, first + length))
    return found[0], found[1], found[2]


def _across(image: Array, sigma: float, *, arrangement: Arrangement, preset: str, threads: int | None) -> list[Array]:
    return [list(attempt(image, sigma, arrangement=arrangement, preset=preset, threads=threads))[-1]]


def _shared(image: Array, sigma: float, *, preset: str, threads: int | None) -> list[Array]:
    series = _series(image, sigma)
    whole, shape = measured(series.volumes[0], sigma, SHARED), shape_of(series.volumes[0])
    stages = trial_stages(preset, whole, shape)
    planes = series.estimate(whole, stages, np.float64, threads, lambda share: None)
    return [np.concatenate(planes)]
