"""A first estimate under correlated noise: DCT coefficients of overlapping blocks that stand out of the noise."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import dctn, idctn

from epitomes import blocks
from epitomes.groups.matching import Planar
from epitomes.noise.dct_blocks import SIDE
from epitomes.noise.planes import Floats

THRESHOLD = 2.7  # standard deviations of the noise of a coefficient
STEP = 2  # from one block to the next
LINES = 16  # of blocks in a band
BAND = STEP * LINES  # rows from one band to the next


def thresholded(noisy: Planar, deviation: Floats, threads: int | None) -> Planar:
    """Keep the means, and coefficients above `THRESHOLD` times `deviation`, `(8, 8, channels)`.

    Estimates of blocks with few coefficients count more.
    """
    height, width = noisy.shape[2:]
    # A multiple of the step, so that blocks reach every border.
    padding = [(0, -(side - SIDE) % STEP) for side in (height, width)]
    padded = np.pad(noisy[:, 0], [(0, 0), *padding], mode="reflect")
    limits = np.asarray(THRESHOLD * deviation, np.float32)
    limits[0, 0] = -1.0
    lines = len(range(0, padded.shape[1] - SIDE + 1, STEP))
    columns = len(range(0, padded.shape[2] - SIDE + 1, STEP))

    def work(band: tuple[int, int], stop: blocks.Stop) -> tuple[int, Planar, Planar]:
        first, last = band
        rows = padded[:, first * STEP : (last - 1) * STEP + SIDE]
        total, weight = np.zeros((2, *rows.shape), np.float32)
        for c, channel in enumerate(rows):
            if stop[0]:
                break
            view = sliding_window_view(channel, (SIDE, SIDE))[::STEP, ::STEP]
            coefficients = dctn(view, axes=(2, 3), norm="ortho")
            kept = np.abs(coefficients) > limits[:, :, c]
            by = 1 / kept.sum(axis=(2, 3), dtype=np.float32)
            estimate = idctn(coefficients * kept, axes=(2, 3), norm="ortho") * by[:, :, None, None]
            for i in range(SIDE):
                for j in range(SIDE):
                    at = (
                        slice(i, i + STEP * (last - first - 1) + 1, STEP),
                        slice(j, j + STEP * (columns - 1) + 1, STEP),
                    )
                    total[c][at] += estimate[:, :, i, j]
                    weight[c][at] += by
        return first * STEP, total, weight

    bands = [(first, min(first + LINES, lines)) for first in range(0, lines, LINES)]
    sums = np.zeros((2, *padded.shape), np.float32)
    for first, last in blocks.split(len(bands), 4 * blocks.n_threads(threads)):
        for top, total, weight in blocks.run(work, bands[first:last], threads=threads):
            sums[0][:, top : top + total.shape[1]] += total
            sums[1][:, top : top + total.shape[1]] += weight
    return np.ascontiguousarray((sums[0] / sums[1])[:, None, :height, :width])
