"""Table 1 of the paper: PSNR after denoising, six pictures, five noise levels, one epitome (E) and twenty (IE).

Noise is drawn for each seed, added in floating point and not clipped; epitomes are learned from the noisy picture with
the recipes of `epitomes.restoration`, of which nothing is repeated here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epitomes import restoration
from epitomes.checks import Array
from epitomes.paper import judge, printed
from epitomes.paper.photos import Photo
from epitomes.paper.report import QUICK, Grid, Report, Setting, minus, number, signed
from epitomes.paper.rows import Log, Row
from epitomes.restoration.recipe import PRICE

NAME = "table1"
TITLE = "Table 1: PSNR after denoising, in dB"
TEXT = (
    "IE: twenty epitomes of 15 x 15 (the caption prints 7 x 7, which holds no patch of 8 x 8). E: one of 42 x 42. "
    "Epitomes are learned from the noisy picture; every patch is then coded up to the noise and overlaps are averaged. "
    f"The paper averages five draws of the noise and reports a mean standard deviation of {printed.SPREAD:.2f} dB."
)
RECIPES = {"IE": restoration.several, "E": restoration.single}
# Lambda over sigma: as in the paper one per noise level, for both rows and all images. Chosen on these images, among a
# few values, at 10, 25 and 50; in between at 15 and 20.
PASSES = {"IE": 8.0, "E": 12.0}  # at most; `denoise` is content with fewer
PRICES = {10: 4.0, 15: 4.5, 20: 5.0, 25: 5.0, 50: 5.0}
QUICK_PICTURES = 2
QUICK_SIGMAS = (25,)
QUICK_STEPS = 3


@dataclass(frozen=True, eq=False)
class Case:
    """One cell of the table and one draw of the noise."""

    row: str
    photo: Photo
    sigma: float
    seed: int
    quick: bool = False

    @property
    def key(self) -> tuple[str, str, str, float, int]:
        return (NAME, self.row, self.photo.name, self.sigma, self.seed)

    @property
    def noisy(self) -> Array:
        return judge.add_noise(self.photo.pixels, self.sigma, self.seed)

    @property
    def recipe(self) -> restoration.Recipe:
        recipe = RECIPES[self.row](self.noisy, self.sigma, price=price(self.sigma), passes=PASSES[self.row])
        return shortened(recipe) if self.quick else recipe


def cases(setting: Setting) -> Iterator[Case]:
    """All that is asked for, one draw of the noise after another: a stopped run has whole tables of fewer draws."""
    photos = setting.photos.all[:QUICK_PICTURES] if setting.quick else setting.photos.all
    sigmas = [sigma for sigma in setting.sigmas if sigma in QUICK_SIGMAS] if setting.quick else setting.sigmas
    for seed in range(1 if setting.quick else setting.seeds):
        for sigma in sigmas or setting.sigmas[:1]:
            for photo in photos:
                for row in setting.rows:
                    yield Case(row, photo, sigma, seed, setting.quick)


def measure(case: Case, threads: int | None = None) -> Row:
    """Add noise, denoise, compare."""
    recipe = case.recipe
    restored = restoration.denoise(
        case.noisy, case.sigma, method="paper", recipe=recipe, seed=case.seed, threads=threads
    )
    return Row(
        table=NAME,
        row=case.row,
        image=case.photo.name,
        sigma=case.sigma,
        seed=case.seed,
        psnr=judge.psnr(case.photo.pixels, restored.image),
        printed=printed.table1(case.row, case.photo.name, case.sigma) if case.photo.faithful else None,
        seconds=restored.seconds,
        recipe=fingerprint(recipe, case.photo),
        quick=case.quick,
    )


def rows(setting: Setting, log: Log) -> Iterator[Row]:
    """The rows that are asked for: from the log where it has them, measured and logged where it has not."""
    wanted = list(cases(setting))
    for index, case in enumerate(wanted, start=1):
        row = log.find(case.key, fingerprint(case.recipe, case.photo), quick=case.quick)
        if row is None:
            row = measure(case, setting.threads)
            log.add(row)
            setting.tell(f"{index} of {len(wanted)}: {in_words(row)}")
        yield row


def run(setting: Setting, log: Log) -> Report:
    """Measure what is missing and lay it out as the paper does."""
    found = list(rows(setting, log))
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[cells_grid(found), summary_grid(found)],
        notes=(*setting.photos.notes, *((QUICK,) if setting.quick else ())),
    )


def cells_grid(found: list[Row]) -> Grid:
    """The paper's layout, with ours, the printed number and the difference below each other; means over the draws."""
    cells, images, lines = _grouped(found), _images(found), []
    for sigma in sorted({row.sigma for row in found}):
        for name in [name for name in printed.ROWS if any(row.row == name for row in found)]:
            ours = [_mean(cells.get((name, image, sigma), [])) for image in images]
            paper = [_printed(cells.get((name, image, sigma), [])) for image in images]
            gaps = [minus(*pair) for pair in zip(ours, paper, strict=True)]
            head = [f"{sigma:g}", name]
            lines.append([*head, "ours", *map(number, ours)])
            lines.append([*head, "paper", *map(number, paper)])
            lines.append([*head, "difference", *map(signed, gaps)])
    return Grid(title="Every picture", header=["sigma", "", "dB", *images], lines=lines, n_labels=3)


def summary_grid(found: list[Row]) -> Grid:
    """Per row and noise level: the mean over the pictures, the printed mean, the difference and the worst cell."""
    cells, images, lines = _grouped(found), _images(found), []
    for name in [name for name in printed.ROWS if any(row.row == name for row in found)]:
        for sigma in sorted({row.sigma for row in found if row.row == name}):
            here = {image: cells[name, image, sigma] for image in images if (name, image, sigma) in cells}
            ours = statistics.fmean(statistics.fmean(row.psnr for row in group) for group in here.values())
            paper = [_printed(group) for group in here.values()]
            mean = None if None in paper else statistics.fmean(value for value in paper if value is not None)
            draws = {len(group) for group in here.values()}
            lines.append(
                [
                    name,
                    f"{sigma:g}",
                    number(ours),
                    number(mean),
                    signed(minus(ours, mean)),
                    _worst(here),
                    number(_spread(here), 3),
                    f"{len(here)} x {'/'.join(map(str, sorted(draws)))}",
                ]
            )
    return Grid(
        title="Means over the pictures",
        header=["", "sigma", "ours", "paper", "difference", "worst cell", "std over draws", "pictures x draws"],
        lines=lines,
        n_labels=2,
        note="The paper's mean is over the same pictures as ours.",
    )


def in_words(row: Row) -> str:
    """A measured row as a line for people."""
    beside = "" if row.printed is None else f", paper {row.printed:.2f}, difference {signed(row.psnr - row.printed)}"
    return (
        f"{row.image}, sigma {row.sigma:g}, {row.row}, seed {row.seed}: {row.psnr:.2f} dB{beside}, {row.seconds:.1f} s"
    )


def price(sigma: float) -> float:
    """Lambda over sigma at this noise level; at others, the one that `denoise` takes."""
    return PRICES.get(int(sigma), PRICE) if sigma == int(sigma) else PRICE


def shortened(recipe: restoration.Recipe) -> restoration.Recipe:
    """The same recipe with at most a few steps."""
    return dataclasses.replace(recipe, n_steps=min(recipe.n_steps, QUICK_STEPS))


def fingerprint(recipe: restoration.Recipe, photo: Photo) -> str:
    """A few letters that change with the recipe, its start and the picture: rows of others are measured again."""
    digest = hashlib.blake2s(digest_size=6)
    for field in dataclasses.fields(recipe):
        value = getattr(recipe, field.name)
        pixels = getattr(value, "pixels", None)
        content = repr(value).encode() + (b"" if pixels is None else np.ascontiguousarray(pixels).tobytes())
        digest.update(field.name.encode() + b"\0" + content + b"\0")
    digest.update(photo.pixels.tobytes())
    return digest.hexdigest()


def _grouped(found: list[Row]) -> dict[tuple[str, str, float], list[Row]]:
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in found:
        groups.setdefault((row.row, row.image, row.sigma), []).append(row)
    return groups


def _images(found: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.image for row in found))


def _mean(group: list[Row]) -> float | None:
    return statistics.fmean(row.psnr for row in group) if group else None


def _printed(group: list[Row]) -> float | None:
    return group[0].printed if group else None


def _spread(cells: dict[str, list[Row]]) -> float | None:
    """Standard deviation over the draws, mean over the pictures."""
    several = [[row.psnr for row in group] for group in cells.values() if len(group) > 1]
    return statistics.fmean(map(statistics.stdev, several)) if several else None


def _worst(cells: dict[str, list[Row]]) -> str:
    gaps = {image: minus(_mean(group), _printed(group)) for image, group in cells.items()}
    known = [(gap, image) for image, gap in gaps.items() if gap is not None]
    if not known:
        return "–"
    gap, image = min(known)
    return f"{image} {signed(gap)}"
