"""Race: our BM3D against the package of its authors, PSNR of both in each row.

Grey images are taken whole, of colour images the middle. `--cases grey` or `--cases colour` measures one kind alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_colours, read_pictures
from benchmarks.races.denoise import PEER, QUICK_CROP, patches_in, row
from benchmarks.record import Race
from benchmarks.rivals import bm3d
from epitomes.baselines import BM3D
from epitomes.restoration import denoise

SIGMAS = (10, 25, 50)
METHODS = {"grey": "epitomes-bm3d", "colour": "epitomes-bm3d-colour"}
COLOUR_CROP = 256  # the peer takes eight seconds for it


def run(options: Options) -> Iterator[Race]:
    for kind in METHODS:
        if not options.wants(kind):
            continue
        found = read_pictures(options.images) if kind == "grey" else read_colours(options.images)
        for picture in found[:1] if options.quick else found:
            yield from measure(kind, picture, options)


def measure(kind: str, picture: Picture, options: Options) -> Iterator[Race]:
    """Compare on one picture, at all noise levels."""
    method, colour, threads = METHODS[kind], kind == "colour", options.threads
    clean = picture.pixels
    if options.quick or colour:
        clean = middle(clean, QUICK_CROP if options.quick else COLOUR_CROP)
    for sigma in SIGMAS:
        noisy = add_noise(clean, sigma, 0)
        peer = bm3d.denoiser(noisy, sigma, threads)
        if peer is None:
            return
        ours = partial(denoise, noisy, sigma, method=BM3D(), channel_axis=-1 if colour else None, threads=threads)
        clock = timing.clock_name(threads)
        laps = timing.interleave({method: ours, PEER: peer}, rounds=1, clock=clock, patience=options.patience)
        n_patches = patches_in(clean[..., 0] if colour else clean)
        found = row(
            method,
            laps[method],
            laps[PEER],
            clean,
            picture,
            "none",
            0,
            threads,
            n_patches,
            race="bm3d",
            sigma=sigma,
        )
        yield replace(found, clock=clock)
