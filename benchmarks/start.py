"""The epitome of the races: 42 x 42 pixels, 1225 atoms of 8 x 8."""

from __future__ import annotations

import numpy as np

from epitomes import Epitome
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows

SIDE = 42
PATCH = (8, 8)


def race_epitome() -> tuple[Epitome, str]:
    """Return the shipped epitome of natural images in float32, and its name in rows."""
    return natural(windows((SIDE, SIDE), PATCH)), "shipped"


def moved(epitome: Epitome, share: float, seed: int = 1) -> Epitome:
    """Add smooth noise such that the median atom changes by `share` of its norm, as in one step of learning."""
    noise = smooth_noise(epitome.phi, rng=seed).pixels
    away = np.linalg.norm(epitome.phi(noise), axis=1)
    norms = np.linalg.norm(epitome.phi(epitome.pixels), axis=1)
    step = share / np.median(away / np.maximum(norms, np.finfo(np.float32).tiny))
    return Epitome((epitome.pixels + step * noise).astype(np.float32), epitome.phi)
