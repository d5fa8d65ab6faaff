"""Race: K-SVD denoising against one made of `spams.omp` and NumPy, with exact and with approximate updates.

The peer takes ten iterations over all patches of one noisy image. "approximate" and "exact" do the same from the same
start; "growing" is our default, whose first iterations take few patches. Each row has both PSNRs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_pictures
from benchmarks.record import Race
from benchmarks.rivals import ksvd
from epitomes.baselines import KSVD
from epitomes.restoration import denoise
from epitomes.validation import psnr

SIGMAS = (10, 25, 50)
QUICK_CROP = 96
PEER = "spams.omp + numpy"
AUTHORS = ((10**9, 10),)  # all patches, ten times, as the peer
METHODS = {
    "approximate": KSVD(peak=255.0, schedule=AUTHORS),
    "exact": KSVD(peak=255.0, schedule=AUTHORS, exact=True),
    "growing": KSVD(peak=255.0),  # the default: first iterations on few patches; against approximate updates
}


def run(options: Options) -> Iterator[Race]:
    picture = read_pictures(options.images)[0]
    for sigma in SIGMAS[1:2] if options.quick else SIGMAS:
        for name, method in METHODS.items():
            for seed in range(options.seeds):
                yield from measure(picture, sigma, name, method, seed, options)


def measure(picture: Picture, sigma: float, name: str, method: KSVD, seed: int, options: Options) -> Iterator[Race]:
    clean = middle(picture.pixels, QUICK_CROP) if options.quick else picture.pixels
    noisy = add_noise(clean, sigma, seed)
    peer = ksvd.denoiser(noisy, sigma, options.threads, exact=method.exact)
    if peer is None:
        return
    ours = partial(denoise, noisy, sigma, method=method, threads=options.threads)
    clock = timing.clock_name(options.threads)
    laps = timing.interleave({"ours": ours, "peer": peer}, rounds=1 if options.quick else 2, clock=clock)
    mine, theirs = laps["ours"], laps["peer"]
    yield Race(
        race="ksvd",
        image=picture.name,
        method=f"epitomes-{name}",
        peer=PEER,
        ratio=timing.ratio(theirs, mine),
        seconds=mine.seconds,
        peer_seconds=theirs.seconds,
        paired_ratio=timing.paired_ratio(theirs, mine),
        rounds=len(mine.rounds),
        clock=clock,
        threads=options.threads,
        n_patches=int(np.prod([side - 7 for side in clean.shape])),
        pictures=picture.source,
        epitome="cosines",
        seed=seed,
        sigma=sigma,
        psnr=psnr(clean, mine.result),
        peer_psnr=psnr(clean, theirs.result),
    )
