"""Series of volumes: time points or channels are turned into others that hold what they share, with common groups.

The turn is orthonormal, so the noise stays as it is. By cosine frequencies over time, what lasts comes together in the
first; by the directions in which volumes vary together, what channels of different strength share. Whether that pays
cannot be known: things move, and stacks may count volumes that have nothing to do with each other. It is tried on
tiles, by the held-out noise that arrangements are judged by. Many volumes that vary in few ways, as those of a
diffusion series do, gain most: all but a few directions hold nothing but noise. Windows bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
FEWEST, MOST = 4, 128  # volumes that are denoised together, at most: fewer where planes are large
VALUES = 2**20  # in the planes of a window at one place; stages hold about twelve of these
SAMPLE = 2**18  # values of a volume that show how volumes vary together
JOINED, MIXED = "joined", "mixed"  # turned into frequencies, or into directions in which they vary together


@dataclass(frozen=True, eq=False)
class Series:
    """Volumes `(planes, height, width[, channels])` of the same shape, one for each time point, with their noise."""

    volumes: Sequence[Array]
    sigmas: Sequence[float]
    times: str = JOINED  # how they are turned

    @cached_property
    def turn(self) -> NDArray[np.float32]:
        """An orthonormal matrix, a row for each volume that they are turned into."""
        if self.times == JOINED:
            return cosines(len(self)).astype(np.float32)
        return _directions(self.volumes, self.sigmas).astype(np.float32)

    def __len__(self) -> int:
        return len(self.volumes)

    def planes(self, whole: Whole) -> Iterator[Slice]:
        """The planes of all time points together, in units of the noise: all channels of each frequency over time."""
        each = [noisy_planes(*one, whole) for one in zip(self.volumes, self.sigmas, strict=True)]
        for planes in zip(*each, strict=True):
            waves = np.einsum("ft,tcyx->fcyx", self.turn, np.stack(planes))
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
        shape = shape_of(self.volumes[0])
        for k, plane in enumerate(stream(self.planes(whole), shape, whole, stages, threads, advance)):
            waves = plane.current.reshape(len(self), -1, *plane.current.shape[1:])
            times = np.einsum("ft,fcyx->tcyx", self.turn, waves)
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


def best_times(series: Series, arrangement: Arrangement, preset: str, seed: int, threads: int | None) -> str:
    """How volumes are denoised best: "single", each by itself, or together, `JOINED` or `MIXED`."""
    scaled = [np.asarray(volume) for volume in series.volumes]
    tiles = (
        np.stack([volume[place] / sigma for volume, sigma in zip(scaled, series.sigmas, strict=True)])
        for place in tile_places(scaled[0])
    )
    ways: dict[str, Callable[..., list[Array]]] = {
        "single": _one_by_one,
        JOINED: partial(_together, times=JOINED),
        MIXED: partial(_together, times=MIXED),
    }
    attempts = [partial(way, arrangement=arrangement, preset=preset, threads=threads) for way in ways.values()]
    return list(ways)[best_of(tiles, 1.0, attempts, seed, SURE)]


def windows(n: int, plane: int, *, most: int = MOST, values: int = VALUES) -> list[range]:
    """Consecutive volumes that are denoised together, as many in each window as in the others, but for one.

    `plane` is the number of values in a plane of a volume.
    """
    length = min(max(values // plane, FEWEST), most)
    ends = np.linspace(0, n, -(-n // length) + 1).round().astype(int)
    return [range(first, last) for first, last in pairwise(ends.tolist())]


def _one_by_one(
    times: Array, sigma: float, *, arrangement: Arrangement, preset: str, threads: int | None
) -> list[Array]:
    tried = partial(attempt, arrangement=arrangement, preset=preset, threads=threads)
    return [np.stack([list(tried(each, sigma))[-1] for each in times])]


def _together(
    volumes: Array, sigma: float, *, times: str, arrangement: Arrangement, preset: str, threads: int | None
) -> list[Array]:
    whole = measured(volumes[0], sigma, arrangement)
    stages = trial_stages(preset, whole, shape_of(volumes[0]))
    series = Series(list(volumes), [sigma] * len(volumes), times)
    return [np.stack(series.estimate(whole, stages, np.float64, threads, lambda share: None))]


def _directions(volumes: Sequence[Array], sigmas: Sequence[float]) -> NDArray[np.float64]:
    """Directions in which volumes vary together, in units of their noise, the strongest first, as rows.

    Sums are NumPy's, whose order depends on the sizes alone.
    """
    step = max(1, volumes[0].size // SAMPLE)
    values = [volume.reshape(-1)[::step].astype(np.float64) / s for volume, s in zip(volumes, sigmas, strict=True)]
    centred = [value - value.mean() for value in values]
    covariance = np.array([[np.mean(one * other) for other in centred] for one in centred])
    rows = np.linalg.eigh(covariance)[1].T[::-1]
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.asarray(rows * np.sign(largest))
