"""The images of a report, in sizes that fit in a page.

The noisy and the denoised image share one grey scale. A large image is reduced by block means, which also reduces its
noise; therefore a detail of it is shown at full resolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.draw import EmbeddedImage, embed
from epitomes.draw.tones import Bytes, amounts, grey_levels, robust_range
from epitomes.reports.data import ReportData

MOST_PIXELS = 2_000_000  # of an image in the page
LEAST_SIDE = 64  # pixels: images are not reduced below it
DETAIL = 320  # pixels, the side of the detail
WIDE, NARROW = 768, 384  # CSS pixels: small images are enlarged up to it, by whole numbers
LARGEST_ZOOM = 6
SPREAD = 3.0  # standard deviations of the residual between grey and black or white
LEAK = 8.0  # score of the leak map that is brightest


@dataclass(frozen=True, eq=False)
class Pair:
    """The noisy and the denoised image, in one grey scale."""

    noisy: EmbeddedImage
    restored: EmbeddedImage


@dataclass(frozen=True, eq=False)
class Album:
    """All images of a report, reduced alike."""

    factor: int  # pixels of the image along a side of a pixel in the album
    low: float  # value that is black in the noisy and the denoised image
    high: float  # value that is white
    whole: Pair
    residual: EmbeddedImage
    spread: float  # minus this is black in the residual, plus this is white
    error: EmbeddedImage | None
    most_error: float  # error that is brightest
    leak: EmbeddedImage | None
    detail: Pair | None  # at full resolution; None if the images are not reduced
    corner: tuple[int, int]  # row and column where the detail begins

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        pairs = [self.whole] if self.detail is None else [self.whole, self.detail]
        files = [self.residual, self.error, self.leak, *(one for pair in pairs for one in (pair.noisy, pair.restored))]
        return sum(len(one.png) for one in files if one is not None)


def album(data: ReportData, most_bytes: int) -> Album:
    """Make the images, reduced only as far as needed to keep all files together below `most_bytes`."""
    height, width = data.noisy.shape[:2]
    factor = max(1, math.ceil(math.sqrt(height * width / MOST_PIXELS)))
    while True:
        made = _album(data, factor)
        if made.size <= most_bytes or max(height, width) <= LEAST_SIDE * factor:
            return made
        factor = max(factor + 1, math.floor(factor * math.sqrt(made.size / most_bytes)))


def _album(data: ReportData, factor: int) -> Album:
    noisy, restored = data.before, data.after
    sample = restored[::factor, ::factor]  # enough of a large image to find its range
    low, high = (0.0, 255.0) if data.noisy.dtype == np.uint8 else robust_range([sample], outside=0.1)
    residual = block_means(noisy - restored, factor)
    spread = SPREAD * float(residual.std())
    error = None if data.error is None else block_means(_one_channel(data.error.std), factor)
    most_error = 0.0 if error is None else float(np.quantile(error, 0.99))
    leak = None if data.audit is None else block_means(data.audit.leak_map, factor)
    corner = busiest_square(restored, DETAIL)
    window = tuple(slice(first, first + DETAIL) for first in corner)

    def pair(first: NDArray[Any], second: NDArray[Any]) -> Pair:
        return Pair(*(embed_enlarged(grey_levels(one, low, high), WIDE) for one in (first, second)))

    return Album(
        factor=factor,
        low=low,
        high=high,
        whole=pair(block_means(noisy, factor), block_means(restored, factor)),
        residual=embed_enlarged(grey_levels(residual, -spread, spread), NARROW),
        spread=spread,
        error=None if error is None else embed_enlarged(amounts(error, most_error), NARROW),
        most_error=most_error,
        leak=None if leak is None else embed_enlarged(amounts(leak, LEAK), NARROW),
        detail=None if factor == 1 else pair(noisy[window], restored[window]),
        corner=corner,
    )


def embed_enlarged(pixels: Bytes, room: int) -> EmbeddedImage:
    """Embed an image, enlarged by a whole number if it is smaller than `room` CSS pixels."""
    zoom = max(1, min(LARGEST_ZOOM, room // max(pixels.shape[:2])))
    return embed(pixels, zoom=zoom, sharp=zoom > 1)


def block_means(image: NDArray[Any], factor: int) -> NDArray[np.float64]:
    """Reduce an image to means over blocks of `factor` x `factor` pixels; the last blocks may be smaller."""
    out = np.asarray(image, np.float64)
    if factor == 1:
        return out
    for axis in (0, 1):
        starts = np.arange(0, out.shape[axis], factor)
        counts = np.diff(np.append(starts, out.shape[axis]))
        out = np.add.reduceat(out, starts, axis=axis) / counts.reshape(
            [-1 if a == axis else 1 for a in range(out.ndim)]
        )
    return out


def busiest_square(image: NDArray[Any], side: int) -> tuple[int, int]:
    """Find the square, of a grid of squares, in which the image varies most; return its first row and column."""
    plane = _one_channel(image)
    best, corner = -1.0, (0, 0)
    for top in range(0, max(1, plane.shape[0] - side + 1), side):
        for left in range(0, max(1, plane.shape[1] - side + 1), side):
            contrast = float(plane[top : top + side, left : left + side].std())
            if contrast > best:
                best, corner = contrast, (top, left)
    return corner


def _one_channel(image: NDArray[Any]) -> NDArray[Any]:
    """Reduce colours to their root mean square."""
    return image if image.ndim == 2 else np.sqrt(np.mean(np.square(image, dtype=np.float64), axis=2))
