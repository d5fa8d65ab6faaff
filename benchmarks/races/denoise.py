"""Race: denoising at sigma 25 against BM3D, on elapsed time and two threads; and the memory that large images need.

"single" and "several" learn an epitome from the noisy picture and then denoise; "given" denoises with the epitome that
the library ships. Quality differs, so each row carries both PSNRs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import judge, peak, timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_pictures
from benchmarks.record import Memory, Race
from benchmarks.rivals import bm3d
from benchmarks.start import PATCH, race_epitome
from benchmarks.timing import Lap
from epitomes.restore import denoise, several, single

SIGMA = 25
PICTURES = ("house", "boat", "camera")
WIDTHS = (512, 1024)
QUICK_WIDTHS = (512,)
QUICK_CROP = 96
PEER = "bm3d"

Runner = Callable[[], NDArray[Any]]


def run(options: Options) -> Iterator[Race | Memory]:
    threads = max(2, options.threads)
    chosen = [picture for picture in read_pictures(options.images) if picture.name in PICTURES][:2]
    for picture in chosen[:1] if options.quick else chosen:
        for seed in range(options.seeds):
            yield from measure(picture, seed, threads, options)
    for width in QUICK_WIDTHS if options.quick else WIDTHS:
        yield memory(width, threads)


def measure(picture: Picture, seed: int, threads: int, options: Options) -> Iterator[Race]:
    clean = middle(picture.pixels, QUICK_CROP) if options.quick else picture.pixels
    noisy = add_noise(clean, SIGMA, seed)
    peer = bm3d.denoiser(noisy, SIGMA, threads)
    if peer is None:
        return
    shipped, kind = race_epitome()
    ours: dict[str, Runner] = {
        "epitomes-single": lambda: denoise(noisy, SIGMA, recipe=single(noisy, SIGMA), threads=threads).image,
        "epitomes-several": lambda: denoise(noisy, SIGMA, recipe=several(noisy, SIGMA), threads=threads).image,
        "epitomes-given": lambda: denoise(noisy, SIGMA, epitome=shipped, threads=threads).image,
    }
    laps = timing.interleave(
        {**ours, PEER: peer}, rounds=1 if options.quick else options.rounds, clock="wall", patience=options.patience
    )
    n_patches = int(np.prod([side - width + 1 for side, width in zip(clean.shape, PATCH, strict=True)]))
    for name in ours:
        yield row(name, laps[name], laps[PEER], clean, picture, kind, seed, threads, n_patches)


def row(
    name: str,
    ours: Lap[NDArray[Any]],
    peer: Lap[NDArray[Any]],
    clean: NDArray[np.float32],
    picture: Picture,
    kind: str,
    seed: int,
    threads: int,
    n_patches: int,
) -> Race:
    return Race(
        race="denoise",
        image=picture.name,
        method=name,
        peer=PEER,
        ratio=timing.ratio(peer, ours),
        seconds=ours.seconds,
        peer_seconds=peer.seconds,
        paired_ratio=timing.paired_ratio(peer, ours),
        rounds=len(ours.rounds),
        clock="wall",
        threads=threads,
        n_patches=n_patches,
        pictures=picture.source,
        epitome=kind,
        seed=seed,
        sigma=SIGMA,
        psnr=judge.psnr(clean, ours.result),
        peer_psnr=judge.psnr(clean, peer.result),
    )


def memory(width: int, threads: int) -> Memory:
    found = peak.of_denoise(width, threads)
    return Memory(
        memory="denoise, learning included",
        width=width,
        height=width,
        peak_mb=found["after"],
        before_mb=found["before"],
        bytes_per_pixel=(found["after"] - found["before"]) * 2**20 / width**2,
        threads=threads,
    )
