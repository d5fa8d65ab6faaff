"""Counts of light: Anscombe transform, a denoiser, exact unbiased inverse. Ours and BM3D between the same two.

"paper" is the paper's method with patches of three scales, which it uses by default for strong noise only: with one
scale it is 0.5 to 2 dB below BM3D.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, to_race
from benchmarks.record import Claim
from benchmarks.rivals import bm3d
from epitomes.noise import Noise, anscombe, estimate_noise, inverse_anscombe
from epitomes.restoration import NonLocal, Patchwise, denoise
from epitomes.validation import psnr

PEAKS = (4, 20, 100)  # counts of the brightest pixel
METHODS = {"paper": Patchwise(multiscale=True), "nonlocal": NonLocal()}
BAR = 0.2  # dB below BM3D that the paper's method may be
LIGHT = Noise.poisson_gaussian(1.0)


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
    fit = estimate_noise(counts, model="poisson-gaussian")
    peer = bm3d.denoiser(anscombe(counts, LIGHT), 1.0, threads)
    peer_psnr = None if peer is None else psnr(light, inverse_anscombe(peer(), LIGHT), peak=peak)
    for method in METHODS:
        yield Counted(
            noise="counts",
            image=picture.name,
            method=method,
            peak=peak,
            seed=seed,
            psnr=psnr(light, restored(counts, LIGHT, method, threads), peak=peak),
            fitted_psnr=psnr(light, restored(counts, fit, method, threads), peak=peak),
            gain=float(fit.gain),
            reliable=fit.reliable,
            pictures=picture.source,
            peer=None if peer is None else "bm3d",
            peer_psnr=peer_psnr,
        )


def restored(counts: NDArray[np.float32], noise: Noise, method: str, threads: int) -> NDArray[np.floating]:
    return denoise(counts, noise=noise, method=METHODS[method], threads=threads)
