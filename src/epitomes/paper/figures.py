"""What the figures share: learning from a clean image, measuring the result, and the panels.

The paper gives no lambda for its figures and, except for figure 6, no number of iterations. The values below are ours
and the same for all figures.
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
SAMPLE = 15_000  # patches per step, drawn anew for each
QUICK_SAMPLE = 4_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """An epitome with its label and its objective on the image that it was learned from."""

    label: str
    epitome: Epitome
    objective: float  # Eq. 3, mean per patch, on the same patches for all epitomes

    @property
    def facts(self) -> dict[str, object]:
        """Numbers for the JSON file of a figure."""
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
    """Learn an epitome from `start` on random patches of the image."""
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
    """Measure the objective of an epitome on the image, and report it."""
    value = judge.objective(image, epitome, LAM, threads=setting.threads)
    setting.tell(f"{label}: objective {value:.1f}")
    return Learned(label=label, epitome=epitome, objective=value)


def sample(setting: Setting) -> int:
    """Return the number of patches per step."""
    return QUICK_SAMPLE if setting.quick else SAMPLE


def panel(learned: Learned, caption: str | None = None, *, enlarge: int | None = None) -> draw.Panel:
    """Draw an epitome."""
    picture = draw.epitome_picture(learned.epitome, enlarge=enlarge)
    return draw.Panel(learned.label if caption is None else caption, picture)


def facts_grid(title: str, all_learned: list[Learned]) -> Grid:
    """Tabulate the size, the atoms and the objective of each epitome."""
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
        "Objective: Eq. 3 of the paper, mean per patch of the clean image; it depends on the patch size. "
        "Fineness: mean spatial frequency in cycles per pixel, independent of the contrast."
    )
    return Grid(title=title, header=header, lines=lines, note=note)


def notes(setting: Setting, photo: Photo, wanted: str) -> tuple[str, ...]:
    """List what the reader must know: which image replaces that of the paper, and whether the run was quick."""
    instead = () if photo.name == wanted else (f"Learned from {photo.name} in place of {wanted}, which was not found.",)
    return (*setting.photos.notes, *instead, *((QUICK,) if setting.quick else ()))


def about(setting: Setting, photo: Photo) -> dict[str, object]:
    """Return the facts that all figures begin with."""
    return {"image": photo.name, "source": photo.source, "quick": setting.quick}
