"""Figure 5 of the paper: three epitomes of the boat picture, from three starts, all else equal.

The paper shows that they look different. The facts add whether they are worth the same: the objective of each, and how
alike their pictures are at the best shift.
"""

from __future__ import annotations

import itertools

from epitomes import draw
from epitomes.learn.start import natural, smooth_noise
from epitomes.paper import figures, judge
from epitomes.paper.report import Grid, Report, Setting, number
from epitomes.paper.rows import Log
from epitomes.phi import windows

NAME = "fig5"
TITLE = "Figure 5: three epitomes from three starts"
TEXT = (
    "Left: from the epitome of natural pictures. Middle and right: from two random pictures, low-passed. Different "
    "starts lead to visually different epitomes, which is a property of dictionary learning as well."
)
PICTURE = "boat"
PHI = windows((42, 42), figures.PATCH)
SEEDS = (1, 2)  # the natural epitome itself began as noise of seed 0, and something of it is still to be seen


def run(setting: Setting, log: Log) -> Report:
    photo = setting.photos.like(PICTURE)
    starts = {
        "from natural pictures": natural(PHI),
        **{f"from noise, seed {seed}": smooth_noise(PHI, rng=seed) for seed in SEEDS},
    }
    learned = [figures.learn(setting, photo.pixels, start, label) for label, start in starts.items()]
    pairs = {
        f"{one.label} / {other.label}": judge.likeness(one.epitome.pixels, other.epitome.pixels)
        for one, other in itertools.combinations(learned, 2)
    }
    objectives = [each.objective for each in learned]
    spread = max(objectives) / min(objectives) - 1
    alike = Grid(
        title="How alike two of them are",
        header=["pair", "largest correlation over all shifts"],
        lines=[[pair, number(value)] for pair, value in pairs.items()],
        note=f"1 would be the same picture, moved. The objectives differ by {100 * spread:.1f} % at most.",
    )
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[figures.facts_grid(f"Learned from {photo.name}", learned), alike],
        picture=draw.sheet([figures.panel(each) for each in learned]),
        alt="Three epitomes of 42 x 42 pixels side by side, with different arrangements of edges and textures.",
        facts={
            **figures.about(setting, photo),
            "lam": figures.LAM,
            "learned": [each.facts for each in learned],
            "likeness": pairs,
            "objective_spread": spread,
        },
        notes=figures.notes(setting, photo, PICTURE),
    )
