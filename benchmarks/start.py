"""The epitome that the races code with: 42 x 42 pixels, windows of 8 x 8, so 1225 atoms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from epitomes import Epitome, windows

SIDE = 42
PATCH = (8, 8)


def race_epitome() -> tuple[Epitome, str]:
    """The epitome that the library ships, and the word "shipped"; else low-passed noise, and the word "noise"."""
    phi = windows((SIDE, SIDE), PATCH)
    try:
        from epitomes.demo import shipped_epitome

        shipped = shipped_epitome()
    except (ImportError, FileNotFoundError):
        return Epitome(smooth_noise((SIDE, SIDE), seed=0), phi), "noise"
    pixels = shipped.pixels if isinstance(shipped, Epitome) else shipped
    return Epitome(np.ascontiguousarray(pixels, np.float32), phi), "shipped"


def smooth_noise(shape: tuple[int, ...], seed: int, width: float = 1.5) -> NDArray[np.float32]:
    """White noise behind a Gaussian filter of that standard deviation, scaled to variance one."""
    noise = gaussian_filter(np.random.default_rng(seed).standard_normal(shape), width, mode="wrap")
    return (noise / noise.std()).astype(np.float32)


def moved(epitome: Epitome, share: float, seed: int = 1) -> Epitome:
    """The epitome plus smooth noise such that the median atom moves by `share` of its norm: one step of learning."""
    noise = smooth_noise(epitome.pixels.shape, seed)
    away = np.linalg.norm(epitome.phi(noise), axis=1)
    norms = np.linalg.norm(epitome.phi(epitome.pixels), axis=1)
    step = share / np.median(away / np.maximum(norms, np.finfo(np.float32).tiny))
    return Epitome((epitome.pixels + step * noise).astype(np.float32), epitome.phi)
