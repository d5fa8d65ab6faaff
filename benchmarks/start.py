"""The epitome that the races code with: 42 x 42 pixels, windows of 8 x 8, so 1225 atoms."""

from __future__ import annotations

import numpy as np

from epitomes import Epitome
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows

SIDE = 42
PATCH = (8, 8)


def race_epitome() -> tuple[Epitome, str]:
    """The epitome of natural pictures that the library ships, in float32, and the word that rows say of it."""
    return natural(windows((SIDE, SIDE), PATCH)), "shipped"


def moved(epitome: Epitome, share: float, seed: int = 1) -> Epitome:
    """The epitome plus smooth noise such that the median atom moves by `share` of its norm: one step of learning."""
    noise = smooth_noise(epitome.phi, rng=seed).pixels
    away = np.linalg.norm(epitome.phi(noise), axis=1)
    norms = np.linalg.norm(epitome.phi(epitome.pixels), axis=1)
    step = share / np.median(away / np.maximum(norms, np.finfo(np.float32).tiny))
    return Epitome((epitome.pixels + step * noise).astype(np.float32), epitome.phi)
