"""Noise: one model for every noise, its estimation from an image, and its stabilisation.

`estimate_noise` returns a `Noise`; `Noise.gaussian`, `Noise.map`, `Noise.poisson_gaussian` and `Noise.from_spectrum`
describe noise that is known. `Noise.stabilise` makes any of it white and Gaussian, with the way back, so that any
denoiser for white Gaussian noise can be used.
"""

from epitomes.noise._anscombe import anscombe, inverse_anscombe
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.burst import ShotError, merge_burst, noise_from_burst
from epitomes.noise.correlation import NoiseCorrelation, noise_correlation
from epitomes.noise.estimate import estimate_noise
from epitomes.noise.impulses import Impulses, find_impulses
from epitomes.noise.model import Noise
from epitomes.noise.samples import noise_from_flat
from epitomes.noise.spectrum import kernel_spectrum, sample_spectrum
from epitomes.noise.stabilise import Stabilised
from epitomes.noise.stripes import Stripes, find_stripes

__all__ = [
    "BlockSpectrum",
    "Impulses",
    "Noise",
    "NoiseCorrelation",
    "ShotError",
    "Stabilised",
    "Stripes",
    "anscombe",
    "estimate_noise",
    "find_impulses",
    "find_stripes",
    "inverse_anscombe",
    "kernel_spectrum",
    "merge_burst",
    "noise_correlation",
    "noise_from_burst",
    "noise_from_flat",
    "sample_spectrum",
]
