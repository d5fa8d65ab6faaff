"""Noise: how much there is and of what kind, and how to make any of it white with a known level.

`estimate_noise`, `fit_poisson_gaussian` and `noise_correlation` look at an image. `anscombe`, `stabilised` and
`whitened` turn it into one with even white noise, each with its way back, so that any denoiser for white noise can be
used.
"""

from epitomes.noise._anscombe import anscombe, inverse_anscombe
from epitomes.noise.correlation import NoiseCorrelation, noise_correlation
from epitomes.noise.estimate import NoiseEstimate, estimate_noise
from epitomes.noise.poisson import PoissonFit, PoissonGaussian, fit_poisson_gaussian
from epitomes.noise.spectrum import Whitened, kernel_spectrum, sample_spectrum, whitened
from epitomes.noise.stabilise import Stabilised, stabilised

__all__ = [
    "NoiseCorrelation",
    "NoiseEstimate",
    "PoissonFit",
    "PoissonGaussian",
    "Stabilised",
    "Whitened",
    "anscombe",
    "estimate_noise",
    "fit_poisson_gaussian",
    "inverse_anscombe",
    "kernel_spectrum",
    "noise_correlation",
    "sample_spectrum",
    "stabilised",
    "whitened",
]
