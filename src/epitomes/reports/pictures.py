"""The pictures of a report: tones, sizes that fit in a page, and the detail that shows pixels as they are.

Before and after share one scale. A large image is reduced by means over squares, which also takes noise away: so a
detail of it is shown at full size.
"""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.draw.tones import Bytes, amounts, grey_levels, robust_range
from epitomes.formats import encode_png
from epitomes.reports.story import Story

MOST_PIXELS = 2_000_000  # of a picture in the page
DETAIL = 320  # pixels, the side of the detail
WIDE = 768  # pixels on the screen: smaller pictures are enlarged up to it, by whole numbers
LARGEST_ZOOM = 6
SPREAD = 3.0  # deviations of the residual from grey to black or white
LEAK = 8.0  # score of the leak map that is brightest


@dataclass(frozen=True, eq=False)
class Shown:
    """A PNG file, its size, and how often it is enlarged on the screen."""

    png: bytes
    height: int
    width: int
    zoom: int

    def tag(self, alt: str, kind: str = "") -> str:
        """The picture as HTML."""
        uri = f"data:image/png;base64,{b64encode(self.png).decode()}"
        classes = " ".join(filter(None, (kind, "sharp" if self.zoom > 1 else "")))
        size = f'width="{self.width * self.zoom}" height="{self.height * self.zoom}"'
        return f'<img class="{classes}" src="{uri}" {size} alt="{escape(alt)}">'


@dataclass(frozen=True, eq=False)
class Album:
    """All pictures of a story at one size."""

    factor: int  # pixels of the image along a side of a pixel of its pictures
    low: float  # value that is black before and after
    high: float  # and white
    before: Shown
    after: Shown
    residual: Shown
    spread: float  # of the residual: minus this is black, plus this is white
    error: Shown | None = None
    most_error: float = 0.0  # that is brightest
    leak: Shown | None = None
    detail: tuple[Shown, Shown] | None = None  # before and after, not reduced; None if nothing is
    corner: tuple[int, int] = (0, 0)  # of the detail

    @property
    def size(self) -> int:
        """Bytes of all files."""
        shown = (self.before, self.after, self.residual, self.error, self.leak, *(self.detail or ()))
        return sum(len(one.png) for one in shown if one is not None)


def album(story: Story, most_bytes: int) -> Album:
    """The pictures, reduced as little as `most_bytes` for all files together allow."""
    factor = max(1, math.ceil(math.sqrt(story.noisy.shape[0] * story.noisy.shape[1] / MOST_PIXELS)))
    while True:
        made = _album(story, factor)
        if made.size <= most_bytes or max(made.before.height, made.before.width) <= 64:
            return made
        factor = max(factor + 1, math.floor(factor * math.sqrt(made.size / most_bytes)))


def _album(story: Story, factor: int) -> Album:
    before, after = story.before, story.after
    sample = after[::factor, ::factor]  # enough of a large image for its range
    low, high = (0.0, 255.0) if story.noisy.dtype == np.uint8 else robust_range([sample], outside=0.1)
    residual = reduced(before - after, factor)
    spread = SPREAD * float(residual.std())
    error = None if story.error is None else reduced(_plane(story.error.std), factor)
    most_error = 0.0 if error is None else float(np.quantile(error, 0.99))
    corner = busiest(after, DETAIL)
    window = tuple(slice(first, first + DETAIL) for first in corner)

    def photograph(image: NDArray[Any]) -> Shown:
        return shown(grey_levels(image, low, high))

    return Album(
        factor,
        low,
        high,
        photograph(reduced(before, factor)),
        photograph(reduced(after, factor)),
        shown(grey_levels(residual, -spread, spread), small=True),
        spread,
        None if error is None else shown(amounts(error, most_error), small=True),
        most_error,
        None if story.audit is None else shown(amounts(reduced(story.audit.leak_map, factor), LEAK), small=True),
        None if factor == 1 else (photograph(before[window]), photograph(after[window])),
        corner,
    )


def shown(pixels: Bytes, *, small: bool = False) -> Shown:
    """A picture as a file, enlarged by a whole number where it is small."""
    height, width = pixels.shape[:2]
    room = WIDE // 2 if small else WIDE
    zoom = max(1, min(LARGEST_ZOOM, room // max(height, width)))
    return Shown(encode_png(pixels), height, width, zoom)


def reduced(image: NDArray[Any], factor: int) -> NDArray[np.float64]:
    """Means over squares of `factor` x `factor` pixels; those at the end may be smaller."""
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


def busiest(image: NDArray[Any], side: int) -> tuple[int, int]:
    """The corner of the square, of a grid of squares, in which the image varies most."""
    plane = _plane(image)
    best, corner = -1.0, (0, 0)
    for top in range(0, max(1, plane.shape[0] - side + 1), side):
        for left in range(0, max(1, plane.shape[1] - side + 1), side):
            contrast = float(plane[top : top + side, left : left + side].std())
            if contrast > best:
                best, corner = contrast, (top, left)
    return corner


def _plane(image: NDArray[Any]) -> NDArray[Any]:
    """One number per pixel: the root mean square of colours."""
    return image if image.ndim == 2 else np.sqrt(np.mean(np.square(image, dtype=np.float64), axis=2))
