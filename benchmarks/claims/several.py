"""Section 5.4: "Learning multi epitomes instead of a single one seems to provide better results".

With about the same number of atoms, from the same kind of start: the objective on the clean image, and the PSNR of
denoising.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims.common import LAM, PATCH, chosen, drawn
from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise
from benchmarks.record import Claim
from epitomes import Epitome, Patches
from epitomes.coders import Lasso
from epitomes.draw import Panel, Series, epitome_picture, png_curve, sheet
from epitomes.learn import alternate, smooth_noise
from epitomes.learn import run as run_steps
from epitomes.paper.judge import objective
from epitomes.phi import GatherPhi, windows
from epitomes.restoration import Patchwise, Recipe, denoise
from epitomes.validation import psnr

LAYOUTS = ((1, 42), (2, 32), (4, 25), (20, 15))  # figure 7: 1225, 1250, 1296 and 1280 atoms
QUICK_LAYOUTS = ((1, 20), (10, 11))
SIGMA = 25
STEPS, QUICK_STEPS = 30, 6
QUICK_DENOISING_STEPS = 20
SAMPLE = 15_000


def run(pictures: list[Picture], options: Options) -> Iterator[Claim]:
    name, image = chosen(pictures, "barbara", options, crop=112)
    layouts = QUICK_LAYOUTS if options.quick else LAYOUTS
    learned = [learn(image, phi_of(*layout), options) for layout in layouts]
    values = [objective(image, each, LAM, threads=options.threads) for each in learned]
    panels = [
        Panel(f"{count} of {width} x {width}", epitome_picture(each))
        for (count, width), each in zip(layouts, learned, strict=True)
    ]
    drawn(options, "claim-several-epitomes", sheet(panels))
    figure = drawn(
        options,
        "claim-several",
        png_curve(
            [Series("objective", [count for count, _ in layouts], values)],
            title="Objective of Eq. 3, with about the same number of atoms",
            x_label="number of epitomes",
            y_label="mean per patch",
            log_x=True,
        ),
    )
    yield Claim(
        claim="several epitomes beat one, objective",
        image=name,
        value=values[-1],
        against=values[0],
        holds=values[-1] < values[0],
        note=f"mean per patch of {layouts[-1][0]} epitomes and of one; all: " + ", ".join(f"{v:.6g}" for v in values),
        figure=figure,
    )
    for seed in range(options.seeds):
        noisy = add_noise(image, SIGMA, seed)
        found = [psnr(image, restored(noisy, phi_of(*layout), options)) for layout in layouts]
        yield Claim(
            claim="several epitomes beat one, PSNR",
            image=name,
            value=found[-1],
            against=found[0],
            holds=found[-1] > found[0],
            note=f"dB at sigma {SIGMA}, from smoothed noise; all: " + ", ".join(f"{value:.2f}" for value in found),
            seed=seed,
        )


def phi_of(count: int, width: int) -> GatherPhi:
    """Return phi for so many epitomes of that width."""
    return windows((width, width) if count == 1 else (count, width, width), PATCH)


def learn(image: NDArray[np.float32], phi: GatherPhi, options: Options) -> Epitome:
    """Learn epitomes from the clean image."""
    steps = alternate(
        Patches(image, PATCH), smooth_noise(phi), coder=Lasso(lam=LAM), sample=SAMPLE, threads=options.threads
    )
    return run_steps(steps, max_steps=QUICK_STEPS if options.quick else STEPS).epitome


def restored(noisy: NDArray[np.float32], phi: GatherPhi, options: Options) -> NDArray[np.float32]:
    """Denoise with epitomes of `phi`, learned from smoothed noise."""
    recipe = Recipe(start=smooth_noise(phi))
    if options.quick:
        recipe = dataclasses.replace(recipe, n_steps=min(recipe.settle(noisy, SIGMA).n_steps, QUICK_DENOISING_STEPS))
    return denoise(noisy, SIGMA, method=Patchwise(recipe=recipe), threads=options.threads)
