"""Table 2 of the paper: means over five images, for the paper's method and for others.

The five are those of table 1 without cameraman: only this choice gives the printed means (`docs/slips.md`). IE and E
are taken from table 1, or measured. The other methods are those of `epitomes.baselines`, measured with the same noise;
some of them are younger than the paper and have no column there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from epitomes import restoration
from epitomes.baselines import METHODS
from epitomes.paper import judge, printed, table1
from epitomes.paper.photos import Photo, Photos
from epitomes.paper.report import QUICK, Grid, Report, Setting, minus, number, signed
from epitomes.paper.rows import Key, Log, Row

NAME = "table2"
TITLE = "Table 2: PSNR in dB, means over five images"
TEXT = (
    "house, peppers, barbara, lena and boat: table 1 without cameraman. ISD is Aharon and Elad 2008, Jojic the epitome "
    "of Jojic, Frey and Kannan 2003 as reported there, K-SVD Elad and Aharon 2006, BM3D Dabov et al. 2007, LSSC Mairal "
    "et al. 2009. All are measured here with `epitomes.baselines`, on the same noisy images; below are the numbers of "
    "the paper. Columns after LSSC are methods that the paper does not have."
)
NOT_MEASURED = "not measured"
MEAN_OF_FIVE = "mean of five"
QUICK_SIDE = 96  # pixels, of the middle of an image
QUICK_MIDDLE = f"Methods other than IE and E denoised the middle {QUICK_SIDE} x {QUICK_SIDE} pixels alone."


@dataclass(frozen=True, eq=False)
class Case:
    """A baseline on one image with one noise realisation."""

    name: str  # in the registry
    photo: Photo
    sigma: float
    seed: int
    quick: bool = False
    printed: None = None  # the paper has means alone

    @property
    def key(self) -> Key:
        """What is measured; the row is the name of the column in print."""
        return (NAME, METHODS[self.name].label, self.photo.name, self.sigma, self.seed)

    @property
    def fingerprint(self) -> str:
        """A few letters that change with the settings of the method and the image."""
        content = repr(METHODS[self.name]()).encode() + self.photo.pixels.tobytes()
        return hashlib.blake2s(content, digest_size=6).hexdigest()

    def restore(self, threads: int | None = None) -> restoration.Restored:
        """Denoise the noisy image."""
        noisy = judge.add_noise(self.photo.pixels, self.sigma, self.seed)
        return restoration.restore(noisy, self.sigma, method=METHODS[self.name](), rng=self.seed, threads=threads)


def run(setting: Setting, log: Log) -> Report:
    """Measure what is missing in table 1, then average."""
    five = without_the_sixth(setting.photos)
    found = list(cells(setting, log))
    for row in means(found, _faithful(setting.photos)):
        log.add(row)
    faithful = all(photo.faithful for photo in five.all) and len(five.all) == len(printed.FIVE)
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT if faithful else "Means over these images; the numbers of the paper are for other images.",
        grids=[methods_grid(found) if faithful and not setting.quick else bare_grid(found)],
        notes=(*setting.photos.notes, *((QUICK, QUICK_MIDDLE) if setting.quick else ())),
    )


def rows(setting: Setting, log: Log) -> Iterator[Row]:
    """Yield one row per method, image, noise level and noise realisation, and then the means over the images."""
    found = []
    for row in cells(setting, log):
        found.append(row)
        yield dataclasses.replace(row, table=NAME)
    yield from means(found, _faithful(setting.photos))


def cells(setting: Setting, log: Log) -> Iterator[Row]:
    """Yield the rows that are averaged: those of table 1, and those of the baselines."""
    setting = dataclasses.replace(setting, photos=without_the_sixth(setting.photos))
    yield from table1.rows(setting, log)
    yield from table1.measured(list(cases(setting)), setting, log)


def cases(setting: Setting) -> Iterator[Case]:
    """List the cells of all baselines, in the order of table 1: all methods on one noisy image, then the next."""
    seen = set[Key]()
    for case in table1.cases(dataclasses.replace(setting, rows=printed.ROWS[:1])):
        photo = _middle(case.photo) if case.quick else case.photo
        for name in setting.methods:
            cell = Case(name, photo, case.sigma, case.seed, case.quick)
            if cell.key not in seen:
                seen.add(cell.key)
                yield cell


def without_the_sixth(photos: Photos) -> Photos:
    """Leave out cameraman; other images stay."""
    return Photos(tuple(photo for photo in photos.all if photo.name != printed.LEFT_OUT), photos.notes)


def means(found: list[Row], faithful: Collection[str] = printed.FIVE) -> list[Row]:
    """Average over the images: one row per method, noise level and noise realisation.

    `faithful` names the images that are those of the paper: printed numbers belong to means over all five of them.
    """
    groups: dict[tuple[str, float, int], list[Row]] = {}
    for row in found:
        groups.setdefault((row.row, row.sigma, row.seed), []).append(row)
    return [
        Row(
            table=NAME,
            row=name,
            image=MEAN_OF_FIVE if _is_the_five(group, faithful) else f"mean of {', '.join(row.image for row in group)}",
            sigma=sigma,
            seed=seed,
            psnr=statistics.fmean(row.psnr for row in group),
            printed=printed.table2(name, sigma) if _is_the_five(group, faithful) else None,
            seconds=sum(row.seconds for row in group),
            recipe="-".join(sorted({row.recipe for row in group})),
            quick=any(row.quick for row in group),
        )
        for (name, sigma, seed), group in groups.items()
    ]


def methods_grid(found: list[Row]) -> Grid:
    """Lay out the table as the paper does: our number, the printed one and the difference, one below the other."""
    ours, columns = _ours(found), _columns(found)
    sigmas = sorted({sigma for _, sigma in ours})
    lines = []
    for sigma in sigmas:
        lines += _three_lines(
            f"{sigma:g}",
            {name: ours.get((name, sigma)) for name in columns},
            {name: printed.table2(name, sigma) for name in columns},
        )
    if tuple(sigmas) == printed.SIGMAS:
        whole = {name: _mean_over(ours, name) for name in columns}
        paper = dict(zip(printed.METHODS, printed.TABLE_2_MEANS, strict=True))
        lines += _three_lines("mean", whole, {name: paper.get(name) for name in columns})
    return Grid(title="Means over five images", header=["sigma", "dB", *columns], lines=lines, n_labels=2)


def bare_grid(found: list[Row]) -> Grid:
    """Tabulate means over other images than the paper's, without printed numbers."""
    ours = _ours(found)
    names, columns = (list(dict.fromkeys(values)) for values in ([r.image for r in found], [r.row for r in found]))
    lines = [
        [f"{sigma:g}", *(number(ours.get((name, sigma))) for name in columns)]
        for sigma in sorted({sigma for _, sigma in ours})
    ]
    return Grid(title=f"Means over {', '.join(names)}", header=["sigma", *columns], lines=lines)


def _columns(found: list[Row]) -> list[str]:
    """The columns of the paper, measured or not, and those of other methods that were measured."""
    return list(dict.fromkeys([*printed.METHODS, *(row.row for row in found)]))


def _three_lines(label: str, ours: dict[str, float | None], paper: dict[str, float | None]) -> list[list[str]]:
    return [
        [label, "ours", *(NOT_MEASURED if value is None else number(value) for value in ours.values())],
        [label, "paper", *map(number, paper.values())],
        [label, "difference", *(signed(minus(ours[name], paper[name])) for name in ours)],
    ]


def _ours(found: list[Row]) -> dict[tuple[str, float], float]:
    """Means over images and noise realisations, by method and noise level."""
    groups: dict[tuple[str, float], list[float]] = {}
    for row in found:
        groups.setdefault((row.row, row.sigma), []).append(row.psnr)
    return {key: statistics.fmean(values) for key, values in groups.items()}


def _mean_over(ours: dict[tuple[str, float], float], name: str) -> float | None:
    values = [ours.get((name, sigma)) for sigma in printed.SIGMAS]
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _is_the_five(group: list[Row], faithful: Collection[str]) -> bool:
    """Whether these are the five images of the paper."""
    return {row.image for row in group} == set(printed.FIVE) <= set(faithful)


def _faithful(photos: Photos) -> list[str]:
    return [photo.name for photo in photos.all if photo.faithful]


def _middle(photo: Photo) -> Photo:
    """The middle of an image, for a quick look."""
    top, left = (max(0, (side - QUICK_SIDE) // 2) for side in photo.pixels.shape)
    return dataclasses.replace(photo, pixels=photo.pixels[top : top + QUICK_SIDE, left : left + QUICK_SIDE])
