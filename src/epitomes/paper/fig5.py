"""Figure 5 of the paper: three epitomes learned from boat, from three starts, all else equal.

The paper shows that they look different. The facts add whether they are equally good: the objective of each, and the
largest correlation of each pair over all shifts.
"""

from __future__ import annotations

import itertools

from epitomes import draw
from epitomes.learn import natural, smooth_noise
from epitomes.paper import figures, judge
from epitomes.paper.report import Grid, Report, Setting, number
from epitomes.paper.rows import Log
from epitomes.phi import windows

NAME = "fig5"
TITLE = "Figure 5: three epitomes from three starts"
TEXT = (
    "Left: started from the epitome of natural images. Middle and right: started from two low-passed random images. "
    "Different starts lead to visually different epitomes, as in dictionary learning."
)
PICTURE = "boat"
PHI = windows((42, 42), figures.PATCH)
SEEDS = (1, 2)  # not 0: the natural epitome itself was learned from noise of seed 0 and still resembles it


def run(setting: Setting, log: Log) -> Report:
    """Learn the three epitomes, compare and draw them."""
    photo = setting.photos.like(PICTURE)
    starts = {
        "from natural images": natural(PHI),
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
        title="Similarity of pairs",
        header=["pair", "largest correlation over all shifts"],
        lines=[[pair, number(value)] for pair, value in pairs.items()],
        note=f"1 means equal up to a shift. The objectives differ by at most {100 * spread:.1f} %.",
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
