"""Figure 8 of the paper: boat with noise of standard deviation 15, and the denoised image."""

from __future__ import annotations

from epitomes import draw
from epitomes.paper import figures, printed, table1
from epitomes.paper.report import Grid, Report, Setting, minus, number, signed
from epitomes.paper.rows import Log
from epitomes.validation import psnr

NAME = "fig8"
TITLE = "Figure 8: a noisy image and the result"
TEXT = "White Gaussian noise of standard deviation 15, and the result with twenty epitomes learned from it (IE)."
PICTURE = "boat"
SIGMA = 15


def run(setting: Setting, log: Log) -> Report:
    """Denoise the image and draw it before and after."""
    photo = setting.photos.like(PICTURE)
    case = table1.Case("IE", photo, SIGMA, 0, setting.quick)
    noisy = case.noisy
    restored = case.restore(setting.threads)
    before, after = (psnr(photo.pixels, image) for image in (noisy, restored.image))
    paper = printed.table1("IE", photo.name, SIGMA) if photo.faithful else None
    setting.tell(f"{photo.name}: {before:.2f} dB before, {after:.2f} dB after")
    panels = [
        draw.Panel(f"noisy, {before:.2f} dB", draw.shown(noisy)),
        draw.Panel(f"denoised, {after:.2f} dB", draw.shown(restored.image)),
        draw.Panel("clean", draw.shown(photo.pixels)),
    ]
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[
            Grid(
                title=f"{photo.name}, sigma {SIGMA}, seed 0",
                header=["PSNR, dB", "noisy", "ours", "paper", "difference"],
                lines=[["", number(before), number(after), number(paper), signed(minus(after, paper))]],
                note="The number of the paper is a mean over five noise realisations.",
            )
        ],
        picture=draw.sheet(panels),
        alt=f"{photo.name} with noise, denoised, and clean.",
        facts={
            **figures.about(setting, photo),
            "sigma": SIGMA,
            "seed": case.seed,
            "psnr_noisy": before,
            "psnr": after,
            "printed": paper,
            "atoms_per_patch": restored.atoms_per_patch,
            "seconds": restored.seconds,
        },
        notes=figures.notes(setting, photo, PICTURE),
    )
