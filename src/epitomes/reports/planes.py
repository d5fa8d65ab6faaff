"""Planes: the frames of a clip, or three orthogonal cuts through a volume, before and after, for a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from epitomes.draw import EmbeddedImage, embed_photo
from epitomes.draw.tones import grey_levels
from epitomes.reports.data import Volume
from epitomes.reports.pictures import block_means

MOST_FRAMES = 32  # of a clip: neighbours, so that it can be played
MOST_CUTS = 20  # across each axis of a volume: evenly spaced
WIDEST = 320  # pixels: larger planes are reduced
LEAST_SIDE = 48  # pixels: planes are not reduced below it
AXES = (("planes", "Plane"), ("rows", "Row"), ("columns", "Column"))


@dataclass(frozen=True, eq=False)
class View:
    """Some planes across one axis."""

    name: str
    label: str  # of one plane
    places: list[int]
    total: int  # planes across this axis
    factor: int  # pixels of the volume along a side of a pixel here
    before: list[EmbeddedImage]
    after: list[EmbeddedImage]

    @property
    def middle(self) -> int:
        """The one that is shown first."""
        return len(self.places) // 2

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(len(one.png) for one in (*self.before, *self.after))

    def as_dict(self) -> dict[str, Any]:
        """What the script of the page needs."""
        sources = {name: [one.uri for one in getattr(self, name)] for name in ("before", "after")}
        return {"label": self.label, "places": self.places, "total": self.total, **sources}


def views(volume: Volume, low: float, high: float, most_bytes: int) -> list[View]:
    """Cut a volume along its axes, a clip into frames; fewer pixels if they would take more than `most_bytes`."""
    axes = (0,) if volume.clip else (0, 1, 2)
    factor = math.ceil(max(volume.noisy.shape[1:3]) / WIDEST)
    while True:
        found = [_view(volume, axis, factor, low, high) for axis in axes]
        if sum(view.size for view in found) <= most_bytes or max(volume.noisy.shape[1:3]) <= LEAST_SIDE * factor:
            return found
        factor += 1


def _view(volume: Volume, axis: int, factor: int, low: float, high: float) -> View:
    total = volume.noisy.shape[axis]
    if volume.clip:
        first = max(0, (total - MOST_FRAMES) // 2)
        places = list(range(first, min(total, first + MOST_FRAMES)))
    else:
        places = [int(at) for at in np.unique(np.linspace(0, total - 1, min(total, MOST_CUTS)).round())]
    before, after = (
        [embed_photo(grey_levels(block_means(array.take(k, axis), factor), low, high)) for k in places]
        for array in (volume.noisy, volume.restored)
    )
    name, label = ("frames", "Frame") if volume.clip else AXES[axis]
    return View(name, label, places, total, factor, before, after)
