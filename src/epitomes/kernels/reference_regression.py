"""Anchored regression: the NumPy specification of the kernel `regress`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def regress(
    images: Floats,
    side: int,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    anchors: Floats,
    maps: Floats,
    limit: float,
    first: int,
    total: Floats,
) -> None:
    """Turn each patch, find its anchor, multiply its inputs by the anchor's map, limit this, turn back, and add."""
    last, m = first + len(total), side * side
    for top in tops:
        for left in lefts:
            patches = images[:, top : top + side, left : left + side].astype(np.float64)
            patches[0] -= patches[0].mean()
            turned, steps = _upright(patches)
            values = turned.reshape(len(images), m).copy()
            contrast = np.sqrt(np.mean(values[0] ** 2)) + 1e-9
            values[0] *= np.log1p(2 * contrast) / contrast
            nearest = int(np.argmin(np.square(anchors - values[0]).sum(axis=1)))
            change = (values.reshape(-1) @ maps[nearest])[:m].reshape(side, side)
            size = np.sqrt(np.mean(change**2))
            change *= limit / size if size > limit else 1
            for step in reversed(steps):
                change = _turn(change, step)
            rows = np.arange(top, top + side)
            inside = (rows >= first) & (rows < last)
            total[rows[inside] - first, left : left + side] += change[inside].astype(np.float32)


def _upright(patches: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
    """Flip and transpose so that the first patch rises to the right and downwards, and most to the right."""
    side = patches.shape[-1]
    slope = np.arange(side) - (side - 1) / 2
    right, down = float((patches[0] * slope).sum()), float((patches[0] * slope[:, None]).sum())
    steps = ["left-right"] * (right < 0) + ["up-down"] * (down < 0) + ["transpose"] * (abs(down) > abs(right))
    for step in steps:
        patches = _turn(patches, step)
    return patches, steps


def _turn(patches: NDArray[np.float64], step: str) -> NDArray[np.float64]:
    if step == "transpose":
        return np.swapaxes(patches, -1, -2)
    return np.flip(patches, -1 if step == "left-right" else -2)
