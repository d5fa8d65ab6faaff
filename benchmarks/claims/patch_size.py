"""Section 5.2: "learning epitomes with small patches seems to introduce finer details and structures".

Pairs of epitomes as in figure 6, learned on two scales, which differ in the patch width only. Fineness is the mean
spatial frequency, weighted by energy.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.claims.common import LAM, chosen, drawn
from benchmarks.options import Options
from benchmarks.pictures import Picture
from benchmarks.record import Claim
from epitomes.draw import Panel, Series, epitome_picture, png_curve, sheet
from epitomes.learn import multiscale, scales, smooth_noise
from epitomes.learn import run as run_steps
from epitomes.paper.judge import fineness
from epitomes.phi import windows

WIDTHS = (6, 8, 9, 10, 12)
QUICK_WIDTHS = (6, 12)
SHAPE, QUICK_SHAPE = (2, 46, 46), (2, 28, 28)
STEPS, QUICK_STEPS = (20, 5), (5, 2)
SAMPLE = 15_000


def run(pictures: list[Picture], options: Options) -> Iterator[Claim]:
    name, image = chosen(pictures, "house", options, crop=112)
    widths, shape, n_steps = (QUICK_WIDTHS, QUICK_SHAPE, QUICK_STEPS) if options.quick else (WIDTHS, SHAPE, STEPS)
    learned = []
    for width in widths:
        plan = scales(shape, (width, width), lam=LAM, n_steps=n_steps)
        start = smooth_noise(windows(plan[0].epitome_shape, plan[0].patch_shape))
        steps = multiscale(image, start, scales=plan, sample=SAMPLE, threads=options.threads)
        learned.append(run_steps(steps, max_steps=sum(n_steps)).epitome)
    found = [fineness(epitome.pixels) for epitome in learned]
    panels = [
        Panel(f"patches of {width} x {width}", epitome_picture(epitome))
        for width, epitome in zip(widths, learned, strict=True)
    ]
    drawn(options, "claim-patch-size-epitomes", sheet(panels))
    yield Claim(
        claim="smaller patches give finer epitomes",
        image=name,
        value=found[0],
        against=found[-1],
        holds=found[0] > found[-1],
        note=f"cycles per pixel for patches of width {widths[0]} and {widths[-1]}; all: "
        + ", ".join(f"{value:.4f}" for value in found),
        figure=drawn(
            options,
            "claim-patch-size",
            png_curve(
                [Series("epitomes", list(widths), found)],
                title="Fineness of epitomes",
                x_label="patch width",
                y_label="mean frequency, cycles per pixel",
            ),
        ),
    )
