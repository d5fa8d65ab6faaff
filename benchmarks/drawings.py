"""Drawn pictures: what cameras hardly see and instruments and screens often do.

    waves     sums of two waves
    gratings  the same, cut to two values
    stripes   straight black and white ones, and chequers
    ramps     planes with shallow waves
    areas     rectangles and discs of one grey each, with sharp edges
    cells     soft discs, bright inside, on a background that is not even
    stars     points of some widths, most of them faint
    strokes   thin lines, black on white or white on black

The seed alone decides a picture: methods learn from some seeds (`make-regressions`) and are measured on others
(`table-drawn`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.pictures import Picture

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

SIDE = 180


def drawn(n: int, first_seed: int) -> Iterator[Picture]:
    """Pictures of every kind in turn, each with a seed of its own."""
    for k in range(n):
        name = list(KINDS)[k % len(KINDS)]
        seed = first_seed + k
        pixels = KINDS[name](np.random.default_rng(seed))
        yield Picture(f"{name}-{seed}", np.clip(pixels, 0, 255).astype(np.float32), "drawn")


def _grid() -> tuple[Doubles, Doubles]:
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float64)
    return y, x


def _wave(rng: np.random.Generator, shortest: float, longest: float) -> Doubles:
    (y, x), angle = _grid(), rng.uniform(0, np.pi)
    across = np.cos(angle) * x + np.sin(angle) * y + rng.uniform(0, SIDE)
    return np.asarray(np.sin(2 * np.pi / rng.uniform(shortest, longest) * across))


def _waves(rng: np.random.Generator) -> Doubles:
    return 128 + rng.uniform(10, 50) * _wave(rng, 3, 16) + rng.uniform(10, 50) * _wave(rng, 3, 16)


def _gratings(rng: np.random.Generator) -> Doubles:
    return np.asarray(128 + rng.uniform(20, 100) * np.sign(_waves(rng) - 128))


def _stripes(rng: np.random.Generator) -> Doubles:
    y, x = _grid()
    period = rng.integers(2, 17)
    bands = (x // period) % 2
    if rng.random() < 0.3:
        bands = (bands + (y // period) % 2) % 2
    elif rng.random() < 0.5:
        bands = bands.T
    low, high = rng.uniform(0, 100), rng.uniform(140, 255)
    return np.asarray(low + (high - low) * bands)


def _ramps(rng: np.random.Generator) -> Doubles:
    y, x = _grid()
    plane = rng.uniform(-0.6, 0.6) * (x - SIDE / 2) + rng.uniform(-0.6, 0.6) * (y - SIDE / 2)
    return 128 + plane + rng.uniform(0, 25) * _wave(rng, 20, 120)


def _areas(rng: np.random.Generator) -> Doubles:
    (y, x), picture = _grid(), np.full((SIDE, SIDE), rng.uniform(0, 255))
    for _ in range(rng.integers(10, 60)):
        top, left, high, wide = rng.uniform(-20, SIDE, 2).tolist() + rng.uniform(3, 80, 2).tolist()
        if rng.random() < 0.5:
            inside = (abs(y - top) < high / 2) & (abs(x - left) < wide / 2)
        else:
            inside = (y - top) ** 2 + (x - left) ** 2 < (high / 2) ** 2
        picture[inside] = rng.uniform(0, 255)
    return picture


def _cells(rng: np.random.Generator) -> Doubles:
    (y, x), picture = _grid(), 40 + 10 * _wave(rng, 100, 300)
    for _ in range(rng.integers(5, 40)):
        top, left, radius = rng.uniform(0, SIDE), rng.uniform(0, SIDE), rng.uniform(3, 22)
        distance = np.hypot(y - top, (x - left) * rng.uniform(0.6, 1.6))
        picture += rng.uniform(20, 120) / (1 + np.exp((distance - radius) / rng.uniform(0.4, 2)))
    return np.asarray(picture)


def _stars(rng: np.random.Generator) -> Doubles:
    (y, x), picture = _grid(), np.full((SIDE, SIDE), rng.uniform(5, 40))
    width = rng.uniform(0.8, 2.5)
    for _ in range(rng.integers(20, 150)):
        squares = (y - rng.uniform(0, SIDE)) ** 2 + (x - rng.uniform(0, SIDE)) ** 2
        picture += rng.exponential(60) * np.exp(-squares / (2 * width**2))
    return picture


def _strokes(rng: np.random.Generator) -> Doubles:
    (y, x), ink = _grid(), np.zeros((SIDE, SIDE), bool)
    for _ in range(rng.integers(30, 120)):
        top, left, angle = rng.uniform(0, SIDE), rng.uniform(0, SIDE), rng.choice([0, np.pi / 2, rng.uniform(0, np.pi)])
        along = np.cos(angle) * (x - left) + np.sin(angle) * (y - top)
        across = -np.sin(angle) * (x - left) + np.cos(angle) * (y - top)
        ink |= (abs(along) < rng.uniform(2, 25)) & (abs(across) < rng.uniform(0.6, 2))
    dark, bright = rng.uniform(0, 80), rng.uniform(170, 255)
    return np.where(ink == (rng.random() < 0.5), bright, dark)


KINDS: dict[str, Callable[[np.random.Generator], Doubles]] = {
    "waves": _waves,
    "gratings": _gratings,
    "stripes": _stripes,
    "ramps": _ramps,
    "areas": _areas,
    "cells": _cells,
    "stars": _stars,
    "strokes": _strokes,
}
