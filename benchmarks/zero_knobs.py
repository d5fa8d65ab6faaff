"""Zero knobs: what `choose` picks against every fixed setting that it can pick, on ten pictures of scikit-image.

The pictures are those of the noise benchmark, in grey, the middle 256 x 256 of each. Sigma is told. A setting that was
chosen gives the bits of the same setting when it is fixed, so its PSNR is taken from there. No time limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks import judge
from benchmarks.noise import ten
from benchmarks.options import Options
from benchmarks.pictures import add_noise, middle, read_pictures
from benchmarks.record import Claim
from epitomes import denoise
from epitomes.restoration import choose
from epitomes.restoration.ways import BALANCED, BEST, FAST, PAPER, Way, recipe_of

WAYS = (FAST, BALANCED, *PAPER, BEST)
SIGMAS = (25, 10)
WIDTH = 256
QUICK = ("camera", "brick", "coins")  # in the middle 128 x 128, at sigma 25
QUICK_WIDTH = 128
BAR = 0.1  # dB under the best fixed setting


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One picture under one noise, with a fixed setting or with the chosen one."""

    zero_knobs: str  # "fixed" or "chosen"
    image: str
    sigma: float
    seed: int
    way: str
    psnr: float
    seconds: float  # of the processor: of denoising, or of choosing
    pictures: str
    best: str | None = None  # the best fixed setting
    difference: float | None = None  # to it, in dB: 0 or below
    why: str | None = None


def run(options: Options) -> Iterator[Setting | Claim]:
    found = ten() if options.images is None else read_pictures(options.images)
    if options.quick:
        found = [one for one in found if one.name in QUICK or options.images is not None][: len(QUICK)]
    chosen = []
    for sigma in SIGMAS[: 1 if options.quick else None]:
        for picture in found:
            clean = replace(picture, pixels=middle(picture.pixels, QUICK_WIDTH if options.quick else WIDTH))
            for seed in range(options.seeds):
                *fixed, choice = measure(clean.name, clean.pixels, sigma, seed, clean.source, options.threads)
                yield from fixed
                yield choice
                chosen.append(choice)
    least = min(row.difference or 0.0 for row in chosen)
    within = [row.difference is not None and row.difference >= -BAR for row in chosen]
    yield Claim(
        claim=f"chosen within {BAR} dB of the best fixed setting",
        image="share",
        value=sum(within) / len(within),
        against=1.0,
        holds=all(within),
        note=f"share of {len(within)} cases; the least difference is {least:.3f} dB",
    )


def measure(
    name: str, clean: NDArray[np.float32], sigma: float, seed: int, source: str, threads: int
) -> Iterator[Setting]:
    """A row for every fixed setting, then one for the choice."""
    noisy = add_noise(clean, sigma, seed)
    fixed: dict[str, float] = {}
    for way in WAYS:
        began = time.process_time()
        image = denoised(way, noisy, sigma, threads)
        seconds = time.process_time() - began
        fixed[way.label] = judge.psnr(clean, image)
        yield Setting(
            zero_knobs="fixed",
            image=name,
            sigma=sigma,
            seed=seed,
            way=way.label,
            psnr=fixed[way.label],
            seconds=seconds,
            pictures=source,
        )
    began = time.process_time()
    choice = choose(noisy, sigma, threads=threads)
    best = max(fixed, key=lambda label: fixed[label])
    yield Setting(
        zero_knobs="chosen",
        image=name,
        sigma=sigma,
        seed=seed,
        way=choice.label,
        psnr=fixed[choice.label],
        seconds=time.process_time() - began,
        pictures=source,
        best=best,
        difference=fixed[choice.label] - fixed[best],
        why="; ".join(choice.reasons),
    )


def denoised(way: Way, noisy: NDArray[np.float32], sigma: float, threads: int) -> NDArray[np.float32]:
    """The fixed setting, spelled out."""
    recipe = recipe_of(way, noisy, sigma)
    image: NDArray[np.float32] = denoise(
        noisy,
        sigma,
        method="nonlocal" if recipe is None else "paper",
        preset=way.preset or "balanced",
        recipe=recipe,
        threads=threads,
    ).image
    return image
