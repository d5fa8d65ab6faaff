"""Time series of volumes: time points are turned into cosine frequencies over time, as channels with common groups.

The turn is orthonormal, so the noise stays as it is, and what lasts comes together in the first channel. Whether that
pays cannot be known: things move, and stacks may count volumes that have nothing to do with each other. It is tried on
tiles, by the held-out noise that arrangements are judged by. Windows of a few time points bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike

from epitomes.checks import Array
from epitomes.groups._bands import Slice
from epitomes.noise.dct_blocks import cosines
from epitomes.restoration.method import Callback
from epitomes.restoration.non_local.colour import from_planar
from epitomes.restoration.non_local.volumes.arrangement import Arrangement, best_of, tile_places
from epitomes.restoration.non_local.volumes.method import (
    Whole,
    attempt,
    measured,
    noisy_planes,
    progress,
    shape_of,
    stages_of,
    stream,
    trial_stages,
)
from epitomes.restoration.non_local.volumes.stream import Stage

SURE = 2.0  # standard errors by which time points must be better together
WINDOW = 4  # time points that are denoised together, at most


@dataclass(frozen=True, eq=False)
class Series:
    """Volumes `(planes, height, width[, channels])` of the same shape, one for each time point, with their noise."""

    volumes: Sequence[Array]
    sigmas: Sequence[float]

    def __len__(self) -> int:
        return len(self.volumes)

    def planes(self, whole: Whole) -> Iterator[Slice]:
        """The planes of all time points together, in units of the noise: all channels of each frequency over time."""
        each = [noisy_planes(*one, whole) for one in zip(self.volumes, self.sigmas, strict=True)]
        turn = cosines(len(self)).astype(np.float32)
        for planes in zip(*each, strict=True):
            waves = np.einsum("ft,tcyx->fcyx", turn, np.stack(planes))
            yield np.ascontiguousarray(waves.reshape(-1, *waves.shape[2:]), np.float32)

    def estimate(
        self,
        whole: Whole,
        stages: list[Stage],
        dtype: DTypeLike,
        threads: int | None,
        advance: Callable[[float], None],
    ) -> list[Array]:
        """All time points after some stages."""
        results = [np.empty(volume.shape, dtype) for volume in self.volumes]
        shape, turn = shape_of(self.volumes[0]), cosines(len(self)).astype(np.float32)
        for k, plane in enumerate(stream(self.planes(whole), shape, whole, stages, threads, advance)):
            waves = plane.current.reshape(len(self), -1, *plane.current.shape[1:])
            times = np.einsum("ft,fcyx->tcyx", turn, waves)
            for result, sigma, time in zip(results, self.sigmas, times, strict=True):
                result[k] = from_planar(time[:, None], whole.mean, sigma, whole.turn, result.shape[1:], dtype)
        return results


def denoise_series(
    series: Series,
    arrangement: Arrangement,
    *,
    preset: str,
    dtype: DTypeLike,
    threads: int | None,
    callback: Callback | None,
) -> list[Array]:
    """Denoise some time points together."""
    whole = measured(series.volumes[0], series.sigmas[0], arrangement)
    stages = stages_of(preset, whole, shape_of(series.volumes[0]), None)
    words = f"{len(series)} time points, {len(series.volumes[0])} planes"
    return series.estimate(whole, stages, dtype, threads, progress(stages, callback, words))


def pays(series: Series, arrangement: Arrangement, preset: str, seed: int, threads: int | None) -> bool:
    """Whether time points are better denoised together than each by itself."""
    scaled = [np.asarray(volume) for volume in series.volumes]
    tiles = (
        np.stack([volume[place] / sigma for volume, sigma in zip(scaled, series.sigmas, strict=True)])
        for place in tile_places(scaled[0])
    )
    attempts = [partial(one, arrangement=arrangement, preset=preset, threads=threads) for one in (_one_by_one, _joined)]
    return best_of(tiles, 1.0, attempts, seed, SURE) == 1


def windows(n: int) -> list[range]:
    """Consecutive time points that are denoised together, as many in each window as in the others, but for one."""
    ends = np.linspace(0, n, -(-n // WINDOW) + 1).round().astype(int)
    return [range(first, last) for first, last in pairwise(ends.tolist())]


def _one_by_one(times: Array, sigma: float, *, arrangement: Arrangement, preset: str, threads: int | None) -> Array:
    return np.stack([attempt(each, sigma, arrangement=arrangement, preset=preset, threads=threads) for each in times])


def _joined(times: Array, sigma: float, *, arrangement: Arrangement, preset: str, threads: int | None) -> Array:
    whole = measured(times[0], sigma, arrangement)
    stages = trial_stages(preset, whole, shape_of(times[0]))
    series = Series(list(times), [sigma] * len(times))
    return np.stack(series.estimate(whole, stages, np.float64, threads, lambda share: None))
