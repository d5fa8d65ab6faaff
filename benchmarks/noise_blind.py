"""Blind denoising: what it costs not to know sigma. A noisy picture with the true level, and with the estimated one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, to_race
from benchmarks.record import Claim
from epitomes.noise import estimate_noise
from epitomes.restoration import denoise
from epitomes.validation import psnr

SIGMAS = (10, 25, 50)
METHODS = ("paper", "nonlocal")
BAR = 0.1  # dB that may be lost, on the mean


@dataclass(frozen=True, kw_only=True)
class Blind:
    noise: str
    image: str
    method: str  # of `denoise`
    sigma: float
    seed: int
    estimate: float
    psnr: float  # with the estimated level
    known_psnr: float  # with the true one
    loss: float  # dB; negative: the estimate did better
    pictures: str


def run(options: Options) -> Iterator[Blind | Claim]:
    for sigma in SIGMAS[1:2] if options.quick else SIGMAS:
        rows = []
        for picture in to_race(options.images, options.quick):
            for seed in range(options.seeds):
                for row in measure(picture, sigma, seed, options.threads):
                    rows.append(row)
                    yield row
        for method in METHODS:
            loss = statistics.fmean(row.loss for row in rows if row.method == method)
            name = f"blind denoising at sigma {sigma}, method {method}"
            note = "mean loss in dB against the true level, and the bar"
            yield Claim(claim=name, image="mean", value=loss, against=BAR, holds=loss <= BAR, note=note)


def measure(picture: Picture, sigma: float, seed: int, threads: int) -> Iterator[Blind]:
    noisy = add_noise(picture.pixels, sigma, seed)
    guess = estimate_noise(noisy).level
    for method in METHODS:
        blind, known = (
            psnr(picture.pixels, denoise(noisy, level, method=method, threads=threads)) for level in (guess, sigma)
        )
        yield Blind(
            noise="blind",
            image=picture.name,
            method=method,
            sigma=sigma,
            seed=seed,
            estimate=guess,
            psnr=blind,
            known_psnr=known,
            loss=known - blind,
            pictures=picture.source,
        )
