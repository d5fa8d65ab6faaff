"""Table 1 of the paper: PSNR after denoising, six images, five noise levels, one epitome (E) and twenty (IE).

The noise depends on the seed alone and is neither rounded nor clipped. Epitomes are learned from the noisy image by
`epitomes.restoration.Patchwise`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from epitomes import restoration
from epitomes.checks import Array
from epitomes.paper import judge, printed
from epitomes.paper.photos import Photo
from epitomes.paper.report import QUICK, Grid, Report, Setting, minus, number, signed
from epitomes.paper.rows import Key, Log, Row
from epitomes.validation import psnr

NAME = "table1"
TITLE = "Table 1: PSNR after denoising, in dB"
TEXT = (
    "IE: twenty epitomes of 15 x 15 (the caption prints 7 x 7, too small for patches of 8 x 8). E: one of 42 x 42. "
    "Epitomes are learned from the noisy image; every patch is then coded up to the noise, and overlaps are averaged. "
    f"The paper averages five noise realisations, with a mean standard deviation of {printed.SPREAD:.2f} dB."
)
EPITOME_SHAPES = {"IE": (20, 15, 15), "E": (42, 42)}
PASSES = {"IE": 8.0, "E": 12.0}  # over the patches, at most; more than `denoise` makes by default
# Lambda over sigma: as in the paper, one per noise level for both rows and all images. Chosen on these images among a
# few values at 10, 25 and 50; interpolated at 15 and 20.
LAM_PER_SIGMA: dict[float, float] = {10: 4.0, 15: 4.5, 20: 5.0, 25: 5.0, 50: 5.0}
QUICK_PHOTOS = 2
QUICK_SIGMAS = (25,)
QUICK_STEPS = 3


class Cell(Protocol):
    """What can be measured: a method on one image with one noise realisation."""

    @property
    def photo(self) -> Photo: ...
    @property
    def quick(self) -> bool: ...
    @property
    def key(self) -> Key: ...
    @property
    def printed(self) -> float | None: ...
    @property
    def fingerprint(self) -> str: ...
    def restore(self, threads: int | None = None) -> restoration.Restored: ...


@dataclass(frozen=True, eq=False)
class Case:
    """One cell of the table with one noise realisation."""

    row: str
    photo: Photo
    sigma: float
    seed: int
    quick: bool = False

    @property
    def key(self) -> Key:
        """What is measured."""
        return (NAME, self.row, self.photo.name, self.sigma, self.seed)

    @property
    def printed(self) -> float | None:
        """The number in the paper."""
        return printed.table1(self.row, self.photo.name, self.sigma) if self.photo.faithful else None

    @property
    def noisy(self) -> Array:
        """The image with noise."""
        return judge.add_noise(self.photo.pixels, self.sigma, self.seed)

    @property
    def recipe(self) -> restoration.Recipe:
        """How the epitome is learned."""
        recipe = restoration.Recipe(
            epitome_shape=EPITOME_SHAPES[self.row],
            lam_per_sigma=LAM_PER_SIGMA.get(self.sigma, restoration.Recipe.lam_per_sigma),
            n_passes=PASSES[self.row],
        )
        return shortened(recipe, self.noisy, self.sigma) if self.quick else recipe

    @property
    def fingerprint(self) -> str:
        """A few letters that change with the recipe, its start and the image."""
        digest = hashlib.blake2s(digest_size=6)
        schedule = self.recipe.settle(self.noisy, self.sigma)
        for field in dataclasses.fields(schedule):
            digest.update(field.name.encode() + b"\0" + _content(getattr(schedule, field.name)) + b"\0")
        digest.update(self.photo.pixels.tobytes())
        return digest.hexdigest()

    def restore(self, threads: int | None = None) -> restoration.Restored:
        """Denoise the noisy image."""
        method = restoration.Patchwise(recipe=self.recipe)
        return restoration.restore(self.noisy, self.sigma, method=method, rng=self.seed, threads=threads)


def cases(setting: Setting) -> Iterator[Case]:
    """List all cells, one noise realisation after the other: an interrupted run has complete tables of fewer."""
    photos = setting.photos.all[:QUICK_PHOTOS] if setting.quick else setting.photos.all
    sigmas = [sigma for sigma in setting.sigmas if sigma in QUICK_SIGMAS] if setting.quick else setting.sigmas
    for seed in range(1 if setting.quick else setting.seeds):
        for sigma in sigmas or setting.sigmas[:1]:
            for photo in photos:
                for row in setting.rows:
                    yield Case(row, photo, sigma, seed, setting.quick)


def measure(case: Cell, threads: int | None = None) -> Row:
    """Denoise, and compare with the image without noise."""
    restored = case.restore(threads)
    table, row, image, sigma, seed = case.key
    return Row(
        table=table,
        row=row,
        image=image,
        sigma=sigma,
        seed=seed,
        psnr=psnr(case.photo.pixels, restored.image),
        printed=case.printed,
        seconds=restored.seconds,
        recipe=case.fingerprint,
        quick=case.quick,
    )


def rows(setting: Setting, log: Log) -> Iterator[Row]:
    """Yield all rows: from the log if it has them, otherwise measured and logged."""
    return measured(list(cases(setting)), setting, log)


def measured(wanted: Sequence[Cell], setting: Setting, log: Log) -> Iterator[Row]:
    """Yield the rows of some cells: from the log if it has them, otherwise measured and logged."""
    for index, case in enumerate(wanted, start=1):
        row = log.find(case.key, case.fingerprint, quick=case.quick)
        if row is None:
            row = measure(case, setting.threads)
            log.add(row)
            setting.tell(f"{index} of {len(wanted)}: {in_words(row)}")
        yield row


def run(setting: Setting, log: Log) -> Report:
    """Measure what is missing and lay out the table as the paper does."""
    found = list(rows(setting, log))
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT,
        grids=[cells_grid(found), summary_grid(found)],
        notes=(*setting.photos.notes, *((QUICK,) if setting.quick else ())),
    )


def cells_grid(found: list[Row]) -> Grid:
    """Lay out the table as the paper does: our mean, the printed number and the difference, one below the other."""
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
    return Grid(title="All images", header=["sigma", "", "dB", *images], lines=lines, n_labels=3)


def summary_grid(found: list[Row]) -> Grid:
    """Tabulate means over the images, printed means, differences and the worst cell, per row and noise level."""
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
        title="Means over the images",
        header=["", "sigma", "ours", "paper", "difference", "worst cell", "std over noise", "images x noise"],
        lines=lines,
        n_labels=2,
        note="Std over noise: the standard deviation over noise realisations. Both means are over the same images.",
    )


def in_words(row: Row) -> str:
    """Describe a measured row in one line."""
    beside = "" if row.printed is None else f", paper {row.printed:.2f}, difference {signed(row.psnr - row.printed)}"
    return (
        f"{row.image}, sigma {row.sigma:g}, {row.row}, seed {row.seed}: {row.psnr:.2f} dB{beside}, {row.seconds:.1f} s"
    )


def shortened(recipe: restoration.Recipe, noisy: Array, sigma: float) -> restoration.Recipe:
    """Limit a recipe to a few steps."""
    return dataclasses.replace(recipe, n_steps=min(recipe.settle(noisy, sigma).n_steps, QUICK_STEPS))


def _content(value: Any) -> bytes:
    """A setting as bytes, with the pixels of an epitome."""
    pixels = getattr(value, "pixels", None)
    return repr(value).encode() + (b"" if pixels is None else np.ascontiguousarray(pixels).tobytes())


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
    """Standard deviation over noise realisations, mean over the images."""
    several = [[row.psnr for row in group] for group in cells.values() if len(group) > 1]
    return statistics.fmean(map(statistics.stdev, several)) if several else None


def _worst(cells: dict[str, list[Row]]) -> str:
    gaps = {image: minus(_mean(group), _printed(group)) for image, group in cells.items()}
    known = [(gap, image) for image, gap in gaps.items() if gap is not None]
    if not known:
        return "–"
    gap, image = min(known)
    return f"{image} {signed(gap)}"
