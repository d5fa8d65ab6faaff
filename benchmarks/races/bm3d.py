"""Race: our BM3D against the package of its authors, elapsed time with two threads; PSNR of both in each row."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import add_noise, middle, read_pictures
from benchmarks.races.denoise import PEER, QUICK_CROP, patches_in, row
from benchmarks.record import Race
from benchmarks.rivals import bm3d
from epitomes.baselines import BM3D
from epitomes.restoration import denoise

SIGMAS = (10, 25, 50)
METHOD = "epitomes-bm3d"


def run(options: Options) -> Iterator[Race]:
    threads = max(2, options.threads)
    pictures = [picture for picture in read_pictures(options.images) if picture.pixels.ndim == 2]
    for picture in pictures[:1] if options.quick else pictures:
        clean = middle(picture.pixels, QUICK_CROP) if options.quick else picture.pixels
        for sigma in SIGMAS:
            noisy = add_noise(clean, sigma, 0)
            peer = bm3d.denoiser(noisy, sigma, threads)
            if peer is None:
                return
            ours = partial(denoise, noisy, sigma, method=BM3D(), threads=threads)
            laps = timing.interleave({METHOD: ours, PEER: peer}, rounds=1, clock="wall", patience=options.patience)
            yield row(
                METHOD,
                laps[METHOD],
                laps[PEER],
                clean,
                picture,
                "none",
                0,
                threads,
                patches_in(clean),
                race="bm3d",
                sigma=sigma,
            )
