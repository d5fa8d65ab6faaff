"""Figure 6 of the paper: pairs of epitomes of width 46 for patches of width 6 to 12, two scales, 20 + 5 iterations.

"Small patches introduce finer details, large patches coarser structures". The facts measure it by the mean spatial
frequency of the epitomes, which should fall as patches grow.
"""

from __future__ import annotations

import itertools

from epitomes import draw
from epitomes.learn import multiscale, scales
from epitomes.learn import run as run_steps
from epitomes.learn.start import smooth_noise
from epitomes.paper import figures, judge
from epitomes.paper.photos import Photo
from epitomes.paper.report import Report, Setting
from epitomes.paper.rows import Log
from epitomes.phi import windows

NAME = "fig6"
TITLE = "Figure 6: epitomes for patches of five sizes"
TEXT = (
    "Two epitomes of 46 x 46 pixels for each patch width, learned on two scales with 20 and 5 iterations. The paper "
    "observes finer structures with small patches and coarser ones with large patches."
)
PICTURE = "house"
WIDTHS = (6, 8, 9, 10, 12)
QUICK_WIDTHS = (6, 12)
SHAPE = (2, 46, 46)
N_STEPS = (20, 5)
QUICK_STEPS = (3, 1)


def run(setting: Setting, log: Log) -> Report:
    """Learn a pair of epitomes for each patch width, measure and draw them."""
    photo = setting.photos.like(PICTURE)
    learned = [learn(setting, photo, width) for width in (QUICK_WIDTHS if setting.quick else WIDTHS)]
    fineness = [judge.fineness(each.epitome.pixels) for each in learned]
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[figures.facts_grid(f"Learned from {photo.name}", learned)],
        picture=draw.sheet([figures.panel(each) for each in learned]),
        alt="Pairs of epitomes, from fine structures on the left to coarse ones on the right.",
        facts={
            **figures.about(setting, photo),
            "lam": figures.LAM,
            "n_steps": list(QUICK_STEPS if setting.quick else N_STEPS),
            "learned": [each.facts for each in learned],
            "fineness_falls": all(a > b for a, b in itertools.pairwise(fineness)),
        },
        notes=figures.notes(setting, photo, PICTURE),
    )


def learn(setting: Setting, photo: Photo, width: int) -> figures.Learned:
    """Learn one pair of epitomes. All pairs differ in the patch width only."""
    n_steps = QUICK_STEPS if setting.quick else N_STEPS
    patch = (width, width)
    plan = scales(SHAPE, patch, lam=figures.LAM, n_steps=n_steps)
    first = smooth_noise(windows(plan[0].epitome_shape, plan[0].patch_shape))
    steps = multiscale(photo.pixels, first, scales=plan, sample=figures.sample(setting), rng=0, threads=setting.threads)
    fit = run_steps(steps, max_steps=sum(n_steps))
    return figures.judged(setting, photo.pixels, fit.epitome, f"patches of {width} x {width}")
