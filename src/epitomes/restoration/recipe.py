"""Recipes: how `denoise` learns an epitome from the noisy image alone.

The paper fixes one lambda per noise level for all images; here it is a multiple of sigma. How the rest was chosen, and
what else was tried, is in `docs/denoising.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats, positive, whole
from epitomes.epitome import Epitome
from epitomes.learn.start import natural
from epitomes.phi import windows

PRICE = 4.5  # lam over sigma
PASSES = 3.0  # over the patches of the image, at most
BATCH = 4096  # patches per step
ENOUGH = 300 * 300  # pixels: what larger images teach more, they need not teach at every pass


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """From a start, learn online over the noisy patches, a fixed number of steps whatever the size of the image."""

    start: Epitome
    lam: float  # in the units of the image: a multiple of sigma
    n_steps: int
    batch: int = BATCH
    forget: float = 4.0  # how fast moments fade: at step t, about t / forget steps count

    def __post_init__(self) -> None:
        positive("lam", self.lam)
        whole("n_steps", self.n_steps, least=1)
        whole("batch", self.batch, least=1)
        positive("forget", self.forget, zero=True)


def single(noisy: ArrayLike, sigma: float, *, price: float = PRICE, passes: float = PASSES) -> Recipe:
    """One 42 x 42 epitome, 1225 atoms: the paper's E. `price` is lam over sigma; more `passes` gain a little."""
    return _recipe((42, 42), noisy, sigma, price, passes)


def several(noisy: ArrayLike, sigma: float, *, price: float = PRICE, passes: float = PASSES) -> Recipe:
    """Twenty 15 x 15 epitomes, 1280 atoms: the paper's IE. The rest as for `single`."""
    return _recipe((20, 15, 15), noisy, sigma, price, passes)


def _recipe(epitome_shape: tuple[int, ...], noisy: ArrayLike, sigma: float, price: float, passes: float) -> Recipe:
    level = positive("sigma", sigma)
    n_steps = patience(as_floats("noisy", noisy), level, positive("passes", passes))
    return Recipe(
        start=natural(windows(epitome_shape, (8, 8))),
        lam=positive("price", price) * level,
        n_steps=n_steps,
        forget=min(16.0, max(4.0, n_steps / 10)),  # long runs remember about ten batches, short ones all they can
    )


def patience(noisy: Array, sigma: float, passes: float) -> int:
    """The number of steps: fewer passes where noise drowns the image, for an epitome that learns long learns noise.

    With s the noise relative to the contrast of the image, `1 / s^3` passes over all patches, at least 1 and at most
    `passes`; but no more steps than `passes` over an image of 300 x 300 takes, which are enough for larger ones.
    """
    times = max(1.0, min(passes, (contrast(noisy, sigma) / sigma) ** 3))
    return max(1, round(min(times * noisy.size, passes * ENOUGH) / BATCH))


def contrast(noisy: Array, sigma: float) -> float:
    """The standard deviation of the image without its noise, at least a tenth of sigma."""
    return math.sqrt(max(float(np.var(noisy, dtype=np.float64)) - sigma**2, (0.1 * sigma) ** 2))
