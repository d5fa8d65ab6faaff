"""Series whose truth is known: diffusion images of a brain, and a calcium movie. Both are made, not measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Floats = NDArray[np.float32]

MARGIN = 12  # voxels around the part that is used, from which directions of fibres are found
N_DIRECTIONS = 24
WEIGHTING = 1.0  # b, in ms / um^2
GREY, WHITE, WATER = (
    150.0,
    50.0,
    80.0,
)  # brightness of T1: where white matter begins, and how far; below the last, water
SEED = 3


def diffusion_series(t1: Floats, part: tuple[slice, slice, slice]) -> Floats:
    """Volumes with the signal of one tensor per voxel, the first without weighting: `(1 + N_DIRECTIONS, ...)`.

    What T1 shows decides the tissue; fibres run along the edges that T1 shows around a voxel. Water diffuses freely,
    grey matter less, white matter along its fibres: 2.5, 0.8, and 1.7 and 0.3 um^2 / ms.
    """
    around = tuple(slice(each.start - MARGIN, each.stop + MARGIN) for each in part)
    fibres = _along_edges(t1[around])[(slice(MARGIN, -MARGIN),) * 3]
    brightness = t1[part]
    white, water = np.clip((brightness - GREY) / WHITE, 0, 1), np.clip((WATER - brightness) / 60, 0, 1)
    other = (1 - white) * (0.8 * (1 - water) + 2.5 * water)
    along, across = other + 1.7 * white, other + 0.3 * white
    first = (brightness > 15) * (100 + 100 * water + 20 * (1 - white))
    cosines = np.square(np.einsum("zyxi,ni->nzyx", fibres, directions(N_DIRECTIONS)))
    weighted = first * np.exp(-WEIGHTING * (across + (along - across) * cosines))
    return np.concatenate([first[None], weighted]).astype(np.float32)


def _along_edges(volume: Floats) -> NDArray[np.float64]:
    """The direction in which a volume changes least around each voxel."""
    slopes = np.stack(np.gradient(gaussian_filter(volume.astype(np.float64), 1.8)))
    products = [[gaussian_filter(slopes[i] * slopes[j], 3) for j in range(3)] for i in range(3)]
    return np.asarray(np.linalg.eigh(np.moveaxis(np.array(products), (0, 1), (-2, -1)))[1][..., 0])


def directions(n: int) -> NDArray[np.float64]:
    """Directions spread evenly over a hemisphere, along a golden spiral."""
    height = 1 - (np.arange(n) + 0.5) / n
    turn = np.pi * (1 + 5**0.5) * np.arange(n)
    radius = np.sqrt(1 - height**2)
    return np.stack([height, radius * np.cos(turn), radius * np.sin(turn)], axis=1)


def calcium_movie(frames: int = 128, side: int = 64, cells: int = 25) -> Floats:
    """Cells that flash and fade in tissue that stands still, `(frames, side, side)`."""
    rng = np.random.default_rng(SEED)
    tissue = 60 + 60 * gaussian_filter(rng.standard_normal((side, side)), 1.2)
    clip = np.repeat(tissue[None], frames, axis=0)
    y, x = np.mgrid[:side, :side]
    for _ in range(cells):
        row, column = rng.integers(4, side - 4, 2)
        distance = np.hypot(y - row, x - column)
        cell = np.clip(rng.uniform(2.5, 4.5) - distance, 0, 1) * (1 - 0.5 * np.exp(-np.square(distance) / 2))
        course = np.zeros(frames)
        for start in rng.integers(0, frames, 4):
            course[start:] += rng.uniform(0.3, 1) * np.exp(-np.arange(frames - start) / 10)
        clip += 110 * course[:, None, None] * cell
    return clip.clip(0, 255).astype(np.float32)
