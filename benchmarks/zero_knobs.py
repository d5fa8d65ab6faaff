"""Zero knobs: the method that `plan` chooses against every method that it can choose, on ten images of scikit-image.

The images are those of the noise benchmark, in grey, the middle 256 x 256 pixels of each. Sigma is given, time is not
limited. A chosen method gives the same bits as the same method when it is given, so its PSNR is taken from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import ten
from benchmarks.options import Options
from benchmarks.pictures import add_noise, middle, read_pictures
from benchmarks.record import Claim
from epitomes import denoise, plan
from epitomes.restoration import Method
from epitomes.restoration.planning.candidates import BALANCED, BEST, FAST, PAPER
from epitomes.validation import psnr

METHODS: tuple[Method, ...] = tuple(each.method for each in (FAST, BALANCED, *PAPER, BEST))
SIGMAS = (25, 10)
WIDTH = 256
QUICK = ("camera", "brick", "coins")  # the middle 128 x 128 pixels, at sigma 25
QUICK_WIDTH = 128
BAR = 0.1  # dB below the best method


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One image and noise level, with a given method or the chosen one."""

    zero_knobs: str  # "given" or "chosen"
    image: str
    sigma: float
    seed: int
    method: str
    psnr: float
    seconds: float  # processor time of denoising, or of choosing
    pictures: str
    best: str | None = None  # the best of the given methods
    difference: float | None = None  # to it, in dB: 0 or below
    why: str | None = None


def run(options: Options) -> Iterator[Setting | Claim]:
    """Yield rows for every image, then the share of good choices."""
    found = ten() if options.images is None else read_pictures(options.images)
    if options.quick:
        found = [one for one in found if one.name in QUICK or options.images is not None][: len(QUICK)]
    chosen = []
    for sigma in SIGMAS[: 1 if options.quick else None]:
        for picture in found:
            clean = replace(picture, pixels=middle(picture.pixels, QUICK_WIDTH if options.quick else WIDTH))
            for seed in range(options.seeds):
                *given, choice = measure(clean.name, clean.pixels, sigma, seed, clean.source, options.threads)
                yield from given
                yield choice
                chosen.append(choice)
    least = min(row.difference or 0.0 for row in chosen)
    within = [row.difference is not None and row.difference >= -BAR for row in chosen]
    yield Claim(
        claim=f"chosen within {BAR} dB of the best method",
        image="share",
        value=sum(within) / len(within),
        against=1.0,
        holds=all(within),
        note=f"share of {len(within)} cases; the worst difference is {least:.3f} dB",
    )


def measure(
    name: str, clean: NDArray[np.float32], sigma: float, seed: int, source: str, threads: int
) -> Iterator[Setting]:
    """Yield a row for every given method, then one for the choice."""
    noisy = add_noise(clean, sigma, seed)
    found: dict[str, float] = {}
    for method in METHODS:
        began = time.process_time()
        image = denoise(noisy, sigma, method=method, threads=threads)
        seconds = time.process_time() - began
        found[method.label] = psnr(clean, image)
        yield Setting(
            zero_knobs="given",
            image=name,
            sigma=sigma,
            seed=seed,
            method=method.label,
            psnr=found[method.label],
            seconds=seconds,
            pictures=source,
        )
    began = time.process_time()
    choice = plan(noisy, sigma, threads=threads)
    seconds = time.process_time() - began
    best = max(found, key=lambda label: found[label])
    yield Setting(
        zero_knobs="chosen",
        image=name,
        sigma=sigma,
        seed=seed,
        method=choice.method.label,
        psnr=found[choice.method.label],
        seconds=seconds,
        pictures=source,
        best=best,
        difference=found[choice.method.label] - found[best],
        why="; ".join(choice.reasons),
    )
