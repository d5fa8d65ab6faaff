"""Presets of the non-local method and BM3D on the same noise, with the published means of LSSC and WNNM.

The images are those of table 1, the means those of table 2. With a folder of natural images, every 20th of them is
measured, too; they were held out before anything was tuned.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, apart, from_files, middle
from benchmarks.record import Table
from benchmarks.rivals import bm3d
from benchmarks.tables import setting
from epitomes.paper import printed
from epitomes.restoration import denoise
from epitomes.restoration.non_local.presets import PRESETS
from epitomes.validation import psnr

NAME = "best"
HELD_OUT = "best-held-out"
PEER = "bm3d"
SIGMAS = (10, 15, 20, 25, 50)
HELD_OUT_SIGMAS = (5, 15, 25, 35, 50, 75)
QUICK_SIGMAS = (25,)
QUICK_CROP = 96
QUICK_PICTURES = 2
WNNM = {10: 35.51, 15: 33.65, 25: 31.43, 50: 28.26}  # Gu et al. 2014, mean of the five of table 2; 20 is not printed


def run(options: Options) -> Iterator[Table]:
    if unknown := [name for name in options.presets if name not in PRESETS]:
        raise SystemExit(f"--presets {','.join(unknown)} is unknown: choose from {', '.join(PRESETS)}")
    kept = [] if options.held_out is None else small(from_files(apart(options.held_out)[0]), options)
    photos = setting(options).photos.all
    faithful = {photo.name for photo in photos if photo.faithful}
    pictures = small([Picture(photo.name, photo.pixels, photo.source) for photo in photos], options)
    found = []
    for row in rows(NAME, pictures, QUICK_SIGMAS if options.quick else SIGMAS, options.seeds, options):
        found.append(row)
        yield row
    print(summary(found, published=not options.quick and faithful >= set(printed.FIVE)), flush=True)
    if not kept:
        return
    found = []
    for row in rows(HELD_OUT, kept, QUICK_SIGMAS if options.quick else HELD_OUT_SIGMAS, 1, options):
        found.append(row)
        yield row
    print(summary(found, published=False), flush=True)


def rows(
    table: str, pictures: Sequence[Picture], sigmas: Sequence[int], seeds: int, options: Options
) -> Iterator[Table]:
    """Measure every method on every image, noise level and noise realisation."""
    for picture in pictures:
        for sigma in sigmas:
            for seed in range(seeds):
                noisy = add_noise(picture.pixels, sigma, seed)
                for name, method in methods(noisy, sigma, options).items():
                    began = time.perf_counter()
                    estimate = method()
                    seconds = time.perf_counter() - began
                    yield Table(
                        table=table,
                        row=name,
                        image=picture.name,
                        sigma=sigma,
                        seed=seed,
                        psnr=psnr(picture.pixels, estimate),
                        seconds=seconds,
                    )


def methods(noisy: NDArray[np.float32], sigma: float, options: Options) -> dict[str, Callable[[], NDArray[Any]]]:
    """Return all methods by name; BM3D if it is installed."""
    found: dict[str, Callable[[], NDArray[Any]]] = {
        preset: partial(denoise, noisy, sigma, preset=preset, threads=options.threads) for preset in options.presets
    }
    peer = bm3d.denoiser(noisy, sigma, options.threads)
    return found if peer is None else {**found, PEER: peer}


def small(pictures: list[Picture], options: Options) -> list[Picture]:
    """Return all images; for quick runs, the middle of the first two."""
    if not options.quick:
        return pictures
    return [
        Picture(picture.name, middle(picture.pixels, QUICK_CROP), picture.source)
        for picture in pictures[:QUICK_PICTURES]
    ]


def summary(found: Sequence[Table], *, published: bool) -> str:
    """Summarise means per noise level, differences to BM3D, and the cells in which BM3D is better."""
    cells = averaged(found)
    names = list(dict.fromkeys(name for name, _, _ in cells))
    images = list(dict.fromkeys(image for _, image, _ in cells))
    sigmas = sorted({sigma for _, _, sigma in cells})
    chosen = [image for image in images if image != printed.LEFT_OUT] or images
    means = {
        name: [statistics.fmean(cells[name, image, sigma] for image in chosen) for sigma in sigmas] for name in names
    }
    what = ", ".join(chosen) if len(chosen) <= 6 else f"{len(chosen)} images, {chosen[0]} to {chosen[-1]}"
    lines = [f"PSNR in dB, means over {what}", line("sigma", [f"{sigma:g}" for sigma in sigmas] + ["mean"])]
    lines += [line(name, numbers(values)) for name, values in means.items()]
    if PEER in means:
        for name in names:
            if name != PEER:
                gaps = [ours - theirs for ours, theirs in zip(means[name], means[PEER], strict=True)]
                lines.append(line(f"{name} - {PEER}", numbers(gaps, "+.3f")))
    if published:
        lines.append(line("LSSC, published", numbers([printed.table2("LSSC", sigma) for sigma in sigmas])))
        lines.append(line("WNNM, published", numbers([WNNM.get(round(sigma)) for sigma in sigmas])))
    if PEER in means:
        lines += [below(cells, name) for name in names if name != PEER]
    return "\n".join(lines)


def averaged(found: Sequence[Table]) -> dict[tuple[str, str, float], float]:
    """Average over noise realisations, by method, image and noise level."""
    draws: dict[tuple[str, str, float], list[float]] = {}
    for row in found:
        draws.setdefault((row.row, row.image, row.sigma), []).append(row.psnr)
    return {key: statistics.fmean(values) for key, values in draws.items()}


def below(cells: dict[tuple[str, str, float], float], name: str) -> str:
    """List the cells in which a method is not better than BM3D."""
    gaps = {
        (image, sigma): value - cells[PEER, image, sigma] for (who, image, sigma), value in cells.items() if who == name
    }
    worse = [f"{image} {sigma:g} ({gap:+.3f})" for (image, sigma), gap in gaps.items() if gap <= 0]
    (image, sigma), least = min(gaps.items(), key=lambda item: item[1])
    words = f"{name}: {len(worse)} of {len(gaps)} cells not above {PEER}; worst {least:+.3f} ({image} {sigma:g})"
    return f"{words}: {', '.join(worse)}" if worse else words


def numbers(values: Sequence[float | None], form: str = ".2f") -> list[str]:
    """Format the cells of a line, and their mean if none is missing."""
    known = [value for value in values if value is not None]
    mean = statistics.fmean(known) if len(known) == len(values) else None
    return ["-" if value is None else format(value, form) for value in (*values, mean)]


def line(label: str, cells: Sequence[str]) -> str:
    """Format a line of the summary."""
    return f"{label:<18}" + "".join(f"{cell:>9}" for cell in cells)
