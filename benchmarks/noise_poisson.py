"""Counts of light: Anscombe transform, a denoiser, exact unbiased inverse. Ours and BM3D between the same two.

"paper" is the paper's method with a second look at every patch, which it takes by default only under strong noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import judge
from benchmarks.options import Options
from benchmarks.pictures import Picture, to_race
from benchmarks.record import Claim
from benchmarks.rivals import bm3d
from epitomes.noise import PoissonGaussian, anscombe, fit_poisson_gaussian, inverse_anscombe
from epitomes.restoration import denoise

PEAKS = (4, 20, 100)  # counts of the brightest pixel
METHODS = ("paper", "nonlocal")
BAR = 0.2  # dB below BM3D that the paper's method may be
LIGHT = PoissonGaussian(gain=1.0)


@dataclass(frozen=True, kw_only=True)
class Counted:
    noise: str
    image: str
    method: str  # of `denoise`
    peak: float
    seed: int
    psnr: float  # model known
    fitted_psnr: float  # the same, model fitted to the noisy picture
    gain: float  # as fitted; 1 is right
    reliable: bool  # of the fit
    pictures: str
    peer: str | None = None
    peer_psnr: float | None = None  # model known


def run(options: Options) -> Iterator[Counted | Claim]:
    for peak in PEAKS[1:2] if options.quick else PEAKS:
        rows = []
        for picture in to_race(options.images, options.quick):
            for seed in range(options.seeds):
                for row in measure(picture, peak, seed, options.threads):
                    rows.append(row)
                    yield row
        for method in METHODS:
            yield from claims(peak, method, [row for row in rows if row.method == method])


def claims(peak: float, method: str, rows: list[Counted]) -> Iterator[Claim]:
    peers = [row.peer_psnr for row in rows if row.peer_psnr is not None]
    if peers:
        ours, bar = statistics.fmean(row.psnr for row in rows), statistics.fmean(peers) - BAR
        name = f"counts, peak {peak}, method {method}"
        note = f"mean PSNR in dB, ours and BM3D's less {BAR}"
        yield Claim(claim=name, image="mean", value=ours, against=bar, holds=ours >= bar, note=note)


def measure(picture: Picture, peak: float, seed: int, threads: int) -> Iterator[Counted]:
    light = picture.pixels.astype(np.float64) * (peak / 255)
    counts = np.random.default_rng(seed).poisson(light).astype(np.float32)
    fit = fit_poisson_gaussian(counts)
    peer = bm3d.denoiser(anscombe(counts, LIGHT), 1.0, threads)
    peer_psnr = None if peer is None else judge.psnr(light, inverse_anscombe(peer(), LIGHT), peak)
    for method in METHODS:
        yield Counted(
            noise="counts",
            image=picture.name,
            method=method,
            peak=peak,
            seed=seed,
            psnr=judge.psnr(light, restored(counts, LIGHT, method, threads), peak),
            fitted_psnr=judge.psnr(light, restored(counts, fit.model, method, threads), peak),
            gain=fit.model.gain,
            reliable=fit.reliable,
            pictures=picture.source,
            peer=None if peer is None else "bm3d",
            peer_psnr=peer_psnr,
        )


def restored(counts: NDArray[np.float32], model: PoissonGaussian, method: str, threads: int) -> NDArray[np.floating]:
    second_look = True if method == "paper" else None  # the paper's settings alone are 0.5 to 2 dB under BM3D
    even = denoise(anscombe(counts, model), 1.0, method=method, second_look=second_look, threads=threads)
    return inverse_anscombe(even.image, model)
