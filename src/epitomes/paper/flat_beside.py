"""Figures 1 and 3 of the paper: a flat dictionary and epitomes, all learned from the same image.

The paper draws them as sketches and names neither image nor size. Here both are learned from barbara, which has the
most texture, and both are measured by the same objective.
"""

from __future__ import annotations

from epitomes import draw
from epitomes.dictionary import Dictionary
from epitomes.learn.start import cosines, smooth_noise
from epitomes.paper import figures
from epitomes.paper.report import Report, Setting
from epitomes.phi import GatherPhi, flat

PICTURE = "barbara"
N_FLAT = 256  # atoms, as in K-SVD


def beside_flat(setting: Setting, *, name: str, title: str, text: str, phi: GatherPhi, label: str) -> Report:
    """Learn a flat dictionary and the epitomes of `phi`, and draw them side by side.

    The atoms of the flat dictionary are drawn with norm 1, as coders use them. An epitome cannot be drawn like that,
    because its atoms overlap.
    """
    photo = setting.photos.like(PICTURE)
    plain = flat(N_FLAT, figures.PATCH)
    dictionary = figures.learn(setting, photo.pixels, cosines(plain), f"flat dictionary of {N_FLAT} atoms")
    epitomes = figures.learn(setting, photo.pixels, smooth_noise(phi), label)
    panels = [
        draw.Panel(
            f"{N_FLAT} atoms, {dictionary.epitome.pixels.size} parameters",
            draw.dictionary_picture(Dictionary(dictionary.epitome.dictionary.unit), figures.PATCH, enlarge=3),
        ),
        figures.panel(epitomes, f"{phi.n_atoms} overlapping atoms, {epitomes.epitome.pixels.size} parameters"),
    ]
    return Report(
        name=name,
        title=title,
        text=text,
        grids=[figures.facts_grid(f"Learned from {photo.name}", [dictionary, epitomes])],
        picture=draw.sheet(panels),
        alt=f"Left: a grid of {N_FLAT} small patches. Right: {label}.",
        facts={**figures.about(setting, photo), "lam": figures.LAM, "learned": [dictionary.facts, epitomes.facts]},
        notes=figures.notes(setting, photo, PICTURE),
    )
