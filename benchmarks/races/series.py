"""Race `race-series`: series of volumes and long clips of still scenes, told sigma, against BM4D and MP-PCA.

BM4D takes each volume of a diffusion series by itself, and a clip as one volume.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import timing
from benchmarks.made_series import calcium_movie, diffusion_series
from benchmarks.options import Options
from benchmarks.pictures import add_noise
from benchmarks.record import SeriesRace
from benchmarks.rivals import bm4d, mppca
from benchmarks.sequences import TEMPLATE, package, scaled
from epitomes.formats import read
from epitomes.restoration import NonLocal, denoise
from epitomes.validation import psnr

SIGMAS = (5, 10, 25)
PART = slice(74, 90), slice(84, 124), slice(64, 104)  # of the template
SHORT = 6  # volumes, or frames times eight, of quick runs

Runs = dict[str, Callable[[], NDArray[Any]]]


def run(options: Options) -> Iterator[SeriesRace]:
    cases: dict[str, NDArray[np.float32]] = {"calcium": calcium_movie()}
    if (home := package("nilearn")) is not None:
        cases["diffusion"] = diffusion_series(scaled(read(home / TEMPLATE).pixels), PART)
    for (name, clean), sigma in product(cases.items(), SIGMAS[1:2] if options.quick else SIGMAS):
        if name.startswith(options.cases or name):
            yield from measure(
                name, clean[: SHORT * (1 if clean.ndim == 4 else 8)] if options.quick else clean, sigma, options
            )


def measure(name: str, clean: NDArray[np.float32], sigma: int, options: Options) -> Iterator[SeriesRace]:
    """One row per preset and peer; and one for volumes one by one, or for groups across planes."""
    noisy = add_noise(clean, sigma, 0)
    runs, peers = ours(noisy, sigma, options), theirs(noisy, sigma, options)
    clock = timing.clock_name(options.threads)
    laps = timing.interleave({**runs, **peers}, rounds=1, clock=clock, patience=options.patience)
    for method, lap in laps.items():
        yield SeriesRace(
            race="series",
            series=name,
            method=method,
            sigma=sigma,
            psnr=psnr(clean, lap.result),
            seconds=lap.seconds,
            threads=options.threads,
            shape=list(clean.shape),
        )


def ours(noisy: NDArray[Any], sigma: float, options: Options) -> Runs:
    methods = {preset: NonLocal(preset=preset) for preset in ("fast", *options.presets)}
    if noisy.ndim == 4:
        methods["balanced, one by one"] = NonLocal(times="single")
    else:
        methods["balanced, deep"] = NonLocal(planes="deep")
    return {
        name: partial(denoise, noisy, sigma, spatial=3, method=method, threads=options.threads)
        for name, method in methods.items()
    }


def theirs(noisy: NDArray[Any], sigma: float, options: Options) -> Runs:
    found: Runs = {}
    volumes = [bm4d.denoiser(each, sigma, options.threads) for each in (noisy if noisy.ndim == 4 else [noisy])]
    if all(each is not None for each in volumes):
        found["bm4d"] = lambda: np.concatenate([each()[None] for each in volumes if each is not None]).reshape(
            noisy.shape
        )
    series = mppca.denoiser(noisy, options.threads) if noisy.ndim == 4 else None
    return found if series is None else {**found, "MP-PCA": series}
