"""Probes: how a denoiser responds to a little additional noise (Ramani, Blu and Unser, 2008).

The risk needs the divergence: the sum, over pixels, of the slope of a restored pixel against its own noisy one. With
random signs b, `b (f(y + e b) - f(y - e b)) / 2 e` has these slopes as its mean, for any f that can be called.

Thresholds and pursuits are discontinuous, so steps must be large enough to cross the jumps. But `y + e b` is noisier
than `y`, and f, which is made for the noise of y, keeps too much of it. So y first moves towards f(y), such that the
noise keeps its level: with `e = a sigma`, the noise `sqrt(1 - a^2) n + e b` has the variance of n. The remaining bias
is of fourth order in a, or comes from residuals that are not noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, Array, as_seed, whole
from epitomes.validation.planes import Floats, same_shape

STEP = 0.05  # size of a step over sigma


class Denoiser(Protocol):
    """A function from an image to an image of the same shape.

    Examples
    --------
    >>> from scipy.ndimage import gaussian_filter
    >>> from epitomes.validation import Denoiser
    >>> denoiser: Denoiser = lambda image: gaussian_filter(image, 1.0)
    """

    def __call__(self, image: NDArray[Any], /) -> ArrayLike: ...


@dataclass(frozen=True, eq=False)
class Probe:
    """Response of a denoiser at every pixel; single pixels are noisy, their means are not."""

    slope: Floats  # of the restored pixel against its noisy one, mean over the probes
    response: Floats  # squared change of the restored pixel per step, mean over the probes
    spread: float  # variance of `sigma^2 slope` over pixels, in one probe
    probes: int


def probe(denoiser: Denoiser, noisy: Array, restored: Floats, sigma: Floats, *, probes: int, rng: RNG) -> Probe:
    """Ask `denoiser` twice per probe, with steps of opposite signs, which cancels all even orders."""
    count = whole("probes", probes, least=1)
    random = np.random.default_rng(as_seed(rng))
    residual = noisy - restored
    energy, noise = float(np.mean(residual**2)), float(np.mean(sigma**2))
    noise_in_it = 1.0 if energy <= noise else noise / energy
    centre = noisy - (1 - math.sqrt(1 - STEP**2)) * noise_in_it * residual
    slope, response, spread = np.zeros(noisy.shape), np.zeros(noisy.shape), 0.0
    for _ in range(count):
        signs = random.integers(0, 2, noisy.shape) * 2.0 - 1.0
        step = STEP * sigma * signs
        up = ask(denoiser, (centre + step).astype(noisy.dtype))
        down = ask(denoiser, (centre - step).astype(noisy.dtype))
        change = (up - down) / (2 * STEP * sigma)
        slope += signs * change / count
        response += change**2 / count
        spread += float(np.var(sigma**2 * signs * change)) / count
    return Probe(slope, response, spread, count)


def ask(denoiser: Denoiser, image: Array) -> Floats:
    """`denoiser(image)` as float64 pixels, checked."""
    if not callable(denoiser):
        raise TypeError(f"denoiser must be a function from image to image, got {type(denoiser).__name__}")
    return same_shape("the result of denoiser", np.asarray(denoiser(image)), image.shape)
