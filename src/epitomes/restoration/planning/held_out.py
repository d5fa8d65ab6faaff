"""Held-out noise: compare denoisers on an image without the clean one.

Noise can be held out as pixels can (the coupled bootstrap of Oliveira, Lei and Tibshirani, 2021): with z white noise of
standard deviation 1, `u = y + a sigma z` and `v = y - sigma z / a` have independent noise. u is denoised and v judges:
the mean of `(f(u) - v)^2 - (g(u) - v)^2` is that of the difference of the squared errors of f and g, whatever they do,
learning included, and one call of each is enough. The cost is noise that is a tenth stronger than that of y.

Large images are tried on tiles, taken at equal steps from a list sorted by detail: plain and busy places alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.validation import Denoiser
from epitomes.validation._probe import probe
from epitomes.validation._sure import risk_map
from epitomes.validation.planes import Floats, unclipped

SIDE = 96  # of a tile, pixels: twice the search window and a little more
SPLIT = 0.5  # the a above: u is 12 % noisier than y, v has five times its variance
STREAM = 2021  # of random numbers: simulated noise may come from the plain seed, and z must not
DECIBEL = 10 / math.log(10)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Tiles of an image, each with its noise split in two."""

    tiles: tuple[Floats, ...]  # y
    noisier: tuple[Array, ...]  # u, to be denoised
    judges: tuple[Floats, ...]  # v
    tile_sigma: float
    sigma: float  # of u
    judge_sigma: float  # of v

    @property
    def n_values(self) -> int:
        return sum(tile.size for tile in self.tiles)


@dataclass(frozen=True)
class Gain:
    """How much better one denoiser is than another, in dB."""

    decibels: float
    error: float  # its standard deviation by the noise; how well the tiles represent the image is not part of it


def hold_out(noisy: Array, sigma: float, count: int, seed: int) -> HeldOut:
    """Split the noise of `count` tiles, or of fewer if the image is smaller."""
    random = np.random.default_rng((seed, STREAM))
    parts = tuple(tile.astype(np.float64) for tile in tiles(noisy, count))
    draws = [sigma * random.standard_normal(part.shape) for part in parts]
    return HeldOut(
        tiles=parts,
        noisier=tuple((y + SPLIT * z).astype(noisy.dtype) for y, z in zip(parts, draws, strict=True)),
        judges=tuple(y - z / SPLIT for y, z in zip(parts, draws, strict=True)),
        tile_sigma=sigma,
        sigma=sigma * math.hypot(1, SPLIT),
        judge_sigma=sigma * math.hypot(1, 1 / SPLIT),
    )


def tiles(image: Array, count: int, side: int = SIDE) -> list[Array]:
    """`count` tiles that do not overlap, or all there are; the first ones are neither plain nor busy."""
    high, wide = (min(side, length) for length in image.shape[:2])
    rows, columns = (
        [(whole % length) // 2 + at * length for at in range(whole // length)]
        for whole, length in zip(image.shape[:2], (high, wide), strict=True)
    )
    every = [image[top : top + high, left : left + wide] for top in rows for left in columns]
    every.sort(key=_detail)
    kept = min(count, len(every))
    steps = sorted(range(kept), key=lambda at: abs(2 * at + 1 - kept))
    return [every[(2 * at + 1) * len(every) // (2 * kept)] for at in steps]


def mean_square_error(denoiser: Denoiser, held: HeldOut, estimates: tuple[Array, ...], seed: int) -> float:
    """Stein's estimate of the error of `estimates`, made by `denoiser`, which is called twice more for each tile."""
    risks = []
    for at, (u, estimate) in enumerate(zip(held.noisier, estimates, strict=False)):
        level, clean = _everywhere(held.sigma, u), estimate.astype(np.float64)
        slope = probe(denoiser, u, clean, level, probes=1, rng=seed).slope
        risks.append(risk_map(u - clean, level, slope)[_trusted(held, at, clean)])
    found = np.concatenate(risks)
    return max(float(found.mean()), float(found.std()) / math.sqrt(found.size), float(np.finfo(float).tiny))


def gain(first: tuple[Array, ...], second: tuple[Array, ...], held: HeldOut, mse: float) -> Gain:
    """The gain of `second` over `first`, whose mean squared error is `mse`, on the tiles that both have.

    Given u, the noise of v is all that is random in the difference: its variance is `4 (f - g)^2` times that of v.
    """
    changes, differences = [], []
    for at, (v, one, other) in enumerate(zip(held.judges, first, second, strict=False)):
        f, g = one.astype(np.float64), other.astype(np.float64)
        trusted = _trusted(held, at, f)
        changes.append((g - f)[trusted])
        differences.append(((g - f) * (2 * v - f - g))[trusted])
    change, difference = np.concatenate(changes), np.concatenate(differences)
    error = 2 * held.judge_sigma * math.sqrt(float(np.sum(change**2))) / change.size
    rest = max(mse - float(difference.mean()), mse / 10)  # no method is ten times better than another
    return Gain(DECIBEL * math.log(mse / rest), DECIBEL * error / rest)


def _trusted(held: HeldOut, at: int, clean: Floats) -> NDArray[np.bool_]:
    """Where the noise has its full level: not clipped at an end of the range."""
    tile = held.tiles[at]
    return unclipped(tile, clean, _everywhere(held.tile_sigma, tile))


def _everywhere(sigma: float, image: Array) -> Floats:
    return np.broadcast_to(np.float64(sigma), image.shape)


def _detail(tile: Array) -> float:
    """The energy of differences between neighbours; white noise adds the same to every tile."""
    return sum(float(np.mean(np.square(np.diff(tile, axis=axis), dtype=np.float64))) for axis in (0, 1))
