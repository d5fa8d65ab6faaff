"""What the figures share: learning from a clean picture, judging what was learned, and the panels.

The paper gives no lambda and, but for figure 6, no number of iterations for its figures. The choices below are ours and
the same for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from epitomes import draw
from epitomes.checks import Array
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.learn import alternate, run
from epitomes.paper import judge
from epitomes.paper.photos import Photo
from epitomes.paper.report import QUICK, Grid, Setting, number
from epitomes.patches import Patches

PATCH = (8, 8)
LAM = 60.0  # grey levels: patches then use a few atoms each
N_STEPS = 30
QUICK_STEPS = 4
SAMPLE = 15_000  # patches drawn afresh for each step
QUICK_SAMPLE = 4_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """An epitome, what it is called, and what it is worth on the picture it was learned from."""

    label: str
    epitome: Epitome
    objective: float  # Eq. 3, mean per patch, on the same patches for all

    @property
    def facts(self) -> dict[str, object]:
        phi = self.epitome.phi
        return {
            "label": self.label,
            "epitome_shape": list(phi.epitome_shape),
            "patch_shape": list(phi.patch_shape),
            "n_atoms": phi.n_atoms,
            "n_pixels": int(self.epitome.pixels.size),
            "objective": self.objective,
            "fineness": judge.fineness(self.epitome.pixels),
        }


def learn(setting: Setting, image: Array, start: Epitome, label: str, *, n_steps: int = N_STEPS) -> Learned:
    """Alternate codes and epitome from `start` on random patches of the picture."""
    steps = alternate(
        Patches(image, start.phi.patch_shape),
        start,
        coder=Lasso(lam=LAM),
        sample=sample(setting),
        rng=0,
        threads=setting.threads,
    )
    fit = run(steps, max_steps=min(n_steps, QUICK_STEPS) if setting.quick else n_steps)
    return judged(setting, image, fit.epitome, label)


def judged(setting: Setting, image: Array, epitome: Epitome, label: str) -> Learned:
    """Give an epitome its objective on the picture, and say so."""
    value = judge.objective(image, epitome, LAM, threads=setting.threads)
    setting.tell(f"{label}: objective {value:.1f}")
    return Learned(label=label, epitome=epitome, objective=value)


def sample(setting: Setting) -> int:
    return QUICK_SAMPLE if setting.quick else SAMPLE


def panel(learned: Learned, caption: str | None = None, *, enlarge: int | None = None) -> draw.Panel:
    picture = draw.epitome_picture(learned.epitome, enlarge=enlarge)
    return draw.Panel(learned.label if caption is None else caption, picture)


def facts_grid(title: str, all_learned: list[Learned]) -> Grid:
    """One line per epitome: its size, its atoms and its objective."""
    lines = [
        [
            each.label,
            " x ".join(map(str, each.epitome.phi.epitome_shape)),
            " x ".join(map(str, each.epitome.phi.patch_shape)),
            str(each.epitome.phi.n_atoms),
            str(each.epitome.pixels.size),
            number(each.objective, 1),
            number(judge.fineness(each.epitome.pixels), 4),
        ]
        for each in all_learned
    ]
    header = ["", "epitome", "patch", "atoms", "pixels", "objective", "fineness"]
    note = (
        "Objective: Eq. 3 of the paper per patch, on the clean picture; patches of different sizes cannot be compared. "
        "Fineness: mean spatial frequency in cycles per pixel, contrast left aside."
    )
    return Grid(title=title, header=header, lines=lines, note=note)


def notes(setting: Setting, photo: Photo, wanted: str) -> tuple[str, ...]:
    """What the reader of a figure must know: which picture stands in, and that it is a quick look."""
    instead = () if photo.name == wanted else (f"Learned from {photo.name} in place of {wanted}.",)
    return (*setting.photos.notes, *instead, *((QUICK,) if setting.quick else ()))


def about(setting: Setting, photo: Photo) -> dict[str, object]:
    """The beginning of every figure's facts."""
    return {"image": photo.name, "source": photo.source, "quick": setting.quick}
