"""A first estimate of planes, for matching: cosine coefficients of overlapping blocks that stand out of the noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from epitomes import blocks
from epitomes.groups._bands import RunningAverage, Slice
from epitomes.groups.matching import Planar, positions
from epitomes.restoration.non_local.volumes.stream import Plane, Triple, fitting

THRESHOLD = 2.7  # standard deviations of the noise
STEP = 2  # from one block to the next
LINES = 16  # of blocks in a band


def piloted(
    planes: Iterator[Slice], shape: Triple, patch: Triple, threads: int | None, advance: Callable[[float], None]
) -> Iterator[Plane]:
    """Estimate noisy planes in units of the noise; blocks with few coefficients count more."""
    sides = fitting(patch, shape)
    depth, tops, lefts = (positions(size, side, min(STEP, side)) for size, side in zip(shape, sides, strict=True))
    held, first, average = deque[Slice](), 0, None
    for number, at in enumerate(depth):
        while first + len(held) < at + sides[0]:
            held.append(next(planes))
        box = np.stack([held[at - first + k] for k in range(sides[0])], axis=1)
        average = average or RunningAverage(len(box), shape[1:])

        def work(band: tuple[int, int], stop: blocks.Stop, box: Planar = box) -> tuple[slice, Planar, Planar]:
            return _thresholded(box, sides, tops[slice(*band)], lefts, stop)

        for rows, total, weight in blocks.run(work, blocks.split(len(tops), LINES), threads=threads):
            average.add(slice(int(at), int(at) + sides[0]), (rows,), total, weight)
        end = shape[0] if number + 1 == len(depth) else int(depth[number + 1])
        sums, weights = average.finish(end)
        advance(1 / len(depth))
        for k in range(sums.shape[1]):
            yield Plane(held.popleft(), (sums[:, k] / weights[:, k]).astype(np.float32))
            first += 1


def _thresholded(
    box: Planar,
    sides: Triple,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    stop: blocks.Stop,
) -> tuple[slice, Planar, Planar]:
    """Sums and weights of the estimates of some lines of blocks, and the rows that they cover."""
    _, high, wide = sides
    rows = slice(int(tops[0]), int(tops[-1]) + high)
    total, weight = np.zeros((2, len(box), sides[0], rows.stop - rows.start, box.shape[3]), np.float32)
    for c, channel in enumerate(box):
        if stop[0]:
            break
        view = sliding_window_view(channel, (high, wide), axis=(1, 2))[
            :, tops[:, None], lefts
        ]  # planes, lines, columns
        axes = (0, 3, 4)
        coefficients = dctn(view, axes=axes, norm="ortho")
        kept = np.abs(coefficients) > THRESHOLD
        kept[0, :, :, 0, 0] = True
        by = 1 / kept.sum(axis=axes, dtype=np.float32)
        estimate = idctn(coefficients * kept, axes=axes, norm="ortho") * by[None, :, :, None, None]
        for i in range(high):
            for j in range(wide):
                at = np.ix_(tops - rows.start + i, lefts + j)
                total[c][(slice(None), *at)] += estimate[:, :, :, i, j]
                weight[c][(slice(None), *at)] += by
    return rows, total, weight
