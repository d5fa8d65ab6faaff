"""Race: denoising at sigma 25 against BM3D, elapsed time with two threads; and peak memory for large images.

"fast", "balanced" and "best" are presets of the non-local method. By the paper's method, "single" and "several" learn
one or twenty epitomes from the noisy image and then denoise; "given" denoises with the shipped single epitome. Quality
differs, so each row has both PSNRs, and `--curve FILE` draws them over time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import peak, timing
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, read_pictures
from benchmarks.record import Memory, Race
from benchmarks.rivals import bm3d
from benchmarks.start import PATCH, race_epitome
from benchmarks.timing import Lap
from epitomes.draw import Series, png_curve
from epitomes.formats import write
from epitomes.restoration import NonLocal, Patchwise, Recipe, denoise
from epitomes.restoration.non_local.presets import PRESETS
from epitomes.validation import psnr

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
    found = []
    for picture in chosen[:1] if options.quick else chosen:
        for seed in range(options.seeds):
            for race in measure(picture, seed, threads, options):
                found.append(race)
                yield race
    if options.curve is not None and found:
        draw_curve(options.curve, found)
    for width in QUICK_WIDTHS if options.quick else WIDTHS:
        yield memory(width, threads)


def measure(picture: Picture, seed: int, threads: int, options: Options) -> Iterator[Race]:
    clean = middle(picture.pixels, QUICK_CROP) if options.quick else picture.pixels
    noisy = add_noise(clean, SIGMA, seed)
    peer = bm3d.denoiser(noisy, SIGMA, threads)
    if peer is None:
        return
    shipped, kind = race_epitome()
    methods = {
        "single": Patchwise(recipe=Recipe(epitome_shape=(42, 42))),
        "several": Patchwise(recipe=Recipe()),
        "given": Patchwise(epitome=shipped),
        **{preset: NonLocal(preset=preset) for preset in PRESETS},
    }
    ours: dict[str, Runner] = {
        f"epitomes-{name}": partial(denoise, noisy, SIGMA, method=method, threads=threads)
        for name, method in methods.items()
    }
    laps = timing.interleave(
        {**ours, PEER: peer}, rounds=1 if options.quick else options.rounds, clock="wall", patience=options.patience
    )
    n_patches = patches_in(clean)
    for name in ours:
        yield row(name, laps[name], laps[PEER], clean, picture, kind, seed, threads, n_patches)


def patches_in(image: NDArray[Any]) -> int:
    """Number of 8 x 8 patches."""
    return int(np.prod([side - width + 1 for side, width in zip(image.shape, PATCH, strict=True)]))


def draw_curve(path: Path, found: Sequence[Race]) -> None:
    """Draw PSNR over time for the largest image: one line through the presets, medians over noise realisations."""
    size = max(race.n_patches for race in found)
    races = [race for race in found if race.n_patches == size]

    def at(method: str) -> tuple[float, float]:
        same = [race for race in races if race.method == method]
        return statistics.median(race.seconds for race in same), statistics.fmean(race.psnr or 0.0 for race in same)

    lines = {"non-local: fast, balanced, best": [at(f"epitomes-{preset}") for preset in PRESETS]}
    lines["paper, one epitome"] = [at("epitomes-single")]
    lines["paper, twenty epitomes"] = [at("epitomes-several")]
    peers = [(race.peer_seconds, race.peer_psnr or 0.0) for race in races if race.method == "epitomes-fast"]
    lines[PEER] = [(statistics.median(x for x, _ in peers), statistics.fmean(y for _, y in peers))]
    chart = png_curve(
        [Series(name, [x for x, _ in points], [y for _, y in points]) for name, points in lines.items()],
        title=f"{races[0].image}, sigma {SIGMA}: PSNR over time, {races[0].threads} threads",
        x_label="seconds",
        y_label="PSNR in dB",
        log_x=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, chart, overwrite=True)


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
    *,
    race: str = "denoise",
    sigma: float = SIGMA,
) -> Race:
    return Race(
        race=race,
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
        sigma=sigma,
        psnr=psnr(clean, ours.result),
        peer_psnr=psnr(clean, peer.result),
    )


def memory(width: int, threads: int) -> Memory:
    """Measure the paper's method with learning on a square image of that width."""
    found = peak.measure(peak.Task(method="paper", height=width, width=width, threads=threads))
    return Memory(
        memory="denoise, learning included",
        width=width,
        height=width,
        peak_mb=found.peak_mb,
        before_mb=found.before_mb,
        bytes_per_pixel=found.used_mb * 2**20 / width**2,
        threads=threads,
    )
