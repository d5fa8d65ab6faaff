"""White noise of one plane: Rician if its air shows it, Poisson-Gaussian if it grows with brightness, or Gaussian."""

from __future__ import annotations

from dataclasses import replace

from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import FlatPatches, flat_patches
from epitomes.noise.gaussian import gaussian_noise, nothing
from epitomes.noise.level_function import grows
from epitomes.noise.planes import Plane
from epitomes.noise.poisson_gaussian import poisson_gaussian_noise
from epitomes.noise.rician import estimate_rician, shows_rician


def estimate_white(plane: Plane) -> Estimate:
    """Estimate white noise of a plane, with the model that its flat patches show."""
    found = flat_patches(plane)
    return nothing(found) if isinstance(found, Doubt) else white_noise(found)


def white_noise(found: FlatPatches) -> Estimate:
    """The noise that flat patches show: Rician, or Poisson-Gaussian if it grows with brightness, or Gaussian."""
    rician = shows_rician(found)
    if rician is True:
        return estimate_rician(found.plane)
    estimate = poisson_gaussian_noise(found) if grows(found.line, found.points) else gaussian_noise(found)
    return replace(estimate, doubts=(*estimate.doubts, rician)) if isinstance(rician, Doubt) else estimate
