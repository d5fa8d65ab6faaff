"""Figure 7 of the paper: 1, 2, 4 and 20 epitomes of barbara, of widths 42, 32, 25 and 15, with about as many atoms.

The facts add whether more and smaller epitomes are better: the objective on the clean image, and the PSNR of denoising
with each layout, started from smoothed noise.
"""

from __future__ import annotations

from epitomes import draw, restoration
from epitomes.learn.start import smooth_noise
from epitomes.paper import figures, judge, table1
from epitomes.paper.photos import Photo
from epitomes.paper.report import Grid, Report, Setting, number
from epitomes.paper.rows import Log
from epitomes.phi import GatherPhi, windows
from epitomes.validation import psnr

NAME = "fig7"
TITLE = "Figure 7: one, two, four and twenty epitomes"
TEXT = (
    "The sizes keep the number of atoms about equal (1225 to 1296), not the number of parameters. With few epitomes, "
    "the paper observes discontinuities between areas of different texture; with many, there are none."
)
PICTURE = "barbara"
LAYOUTS = ((1, 42), (2, 32), (4, 25), (20, 15))
ENLARGE = (9, 6, 8, 5)  # all drawn about equally high, not to scale, as in the paper
SIGMA = 25


def run(setting: Setting, log: Log) -> Report:
    """Learn each layout, denoise with each, and draw the epitomes."""
    photo = setting.photos.like(PICTURE)
    learned = [
        figures.learn(setting, photo.pixels, smooth_noise(phi_of(count, width)), f"{count} of {width} x {width}")
        for count, width in LAYOUTS
    ]
    found = [denoising_psnr(setting, photo, phi_of(count, width)) for count, width in LAYOUTS]
    denoised = Grid(
        title=f"Denoising {photo.name} at sigma {SIGMA}, all started from smoothed noise",
        header=["epitomes", "PSNR, dB"],
        lines=[[each.label, number(value)] for each, value in zip(learned, found, strict=True)],
    )
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[figures.facts_grid(f"Learned from {photo.name}", learned), denoised],
        picture=draw.sheet(
            [figures.panel(each, enlarge=factor) for each, factor in zip(learned, ENLARGE, strict=True)]
        ),
        alt="One, two, four and twenty epitomes of the same image, not to scale.",
        facts={
            **figures.about(setting, photo),
            "lam": figures.LAM,
            "sigma": SIGMA,
            "learned": [{**each.facts, "psnr": value} for each, value in zip(learned, found, strict=True)],
        },
        notes=figures.notes(setting, photo, PICTURE),
    )


def phi_of(count: int, width: int) -> GatherPhi:
    """Return phi for so many epitomes of that width."""
    return windows((width, width) if count == 1 else (count, width, width), figures.PATCH)


def denoising_psnr(setting: Setting, photo: Photo, phi: GatherPhi) -> float:
    """Denoise with an epitome of `phi`, learned from smoothed noise."""
    noisy = judge.add_noise(photo.pixels, SIGMA, seed=0)
    recipe = restoration.Recipe(start=smooth_noise(phi))
    if setting.quick:
        recipe = table1.shortened(recipe, noisy, SIGMA)
    method = restoration.Patchwise(recipe=recipe)
    value = psnr(photo.pixels, restoration.denoise(noisy, SIGMA, method=method, threads=setting.threads))
    setting.tell(f"denoising with {phi.epitome_shape}: {value:.2f} dB")
    return value
