"""Races `race-volume` and `race-video`: denoising across planes against BM4D and against plane by plane, told sigma."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.pictures import add_noise
from benchmarks.record import SequenceRace
from benchmarks.rivals import bm4d
from benchmarks.sequences import Sequence, clips, flicker, flicker_along, volumes
from epitomes.restoration import NonLocal, denoise
from epitomes.validation import psnr

SIGMAS = (10, 25, 50)
QUICK = (slice(8), slice(40), slice(40))
PEER = "bm4d"


def run_volumes(options: Options) -> Iterator[SequenceRace]:
    yield from _run("volume", volumes(options.images), options)


def run_clips(options: Options) -> Iterator[SequenceRace]:
    yield from _run("video", clips(options.images), options)


def _run(race: str, sequences: Iterator[Sequence], options: Options) -> Iterator[SequenceRace]:
    wanted = [each for each in sequences if not options.cases or each.name.startswith(options.cases)]
    for each, sigma in product(wanted[:1] if options.quick else wanted, SIGMAS[1:2] if options.quick else SIGMAS):
        yield from measure(race, each, sigma, options)


def measure(race: str, sequence: Sequence, sigma: int, options: Options) -> Iterator[SequenceRace]:
    """One row per preset, and one for planes one by one."""
    clean = sequence.pixels[QUICK] if options.quick else sequence.pixels
    noisy = add_noise(clean, sigma, 0)
    runs: dict[str, Callable[[], NDArray[Any]]] = {
        preset: partial(
            denoise, noisy, sigma, method=NonLocal(preset=preset, spacing=sequence.spacing), threads=options.threads
        )
        for preset in ("fast", *options.presets)
    }
    single = NonLocal(preset="balanced", planes="single")
    runs["balanced, plane by plane"] = partial(denoise, noisy, sigma, method=single, threads=options.threads)
    peer = bm4d.denoiser(noisy, sigma, options.threads)
    laps = timing.interleave(
        runs if peer is None else {**runs, PEER: peer},
        rounds=1,
        clock=timing.clock_name(options.threads),
        patience=options.patience,
    )
    for name in runs:
        yield SequenceRace(
            race=race,
            sequence=sequence.name,
            preset=name,
            sigma=sigma,
            psnr=psnr(clean, laps[name].result),
            peer_psnr=None if peer is None else psnr(clean, laps[PEER].result),
            flicker=flicker(clean, laps[name].result),
            peer_flicker=None if peer is None else flicker(clean, laps[PEER].result),
            flicker_along=flicker_along(clean, laps[name].result),
            peer_flicker_along=None if peer is None else flicker_along(clean, laps[PEER].result),
            seconds=laps[name].seconds,
            peer_seconds=None if peer is None else laps[PEER].seconds,
            ratio=None if peer is None else timing.ratio(laps[PEER], laps[name]),
            peer=PEER,
            threads=options.threads,
            shape=list(np.shape(clean)),
            source=sequence.source,
        )
