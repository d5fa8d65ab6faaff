"""Table 2 of the paper: means over five images, with the numbers that it prints for other methods.

The five are those of table 1 without cameraman: only this choice gives the printed means (`docs/slips.md`). IE and E
are taken from table 1, or measured. The other methods are not measured here.
"""

from __future__ import annotations

import dataclasses
import statistics

from epitomes.paper import printed, table1
from epitomes.paper.photos import Photos
from epitomes.paper.report import QUICK, Grid, Report, Setting, minus, number, signed
from epitomes.paper.rows import Log, Row

NAME = "table2"
TITLE = "Table 2: PSNR in dB, means over five images"
TEXT = (
    "house, peppers, barbara, lena and boat: table 1 without cameraman. ISD is Aharon and Elad 2008, Jojic the epitome "
    "of Jojic, Frey and Kannan 2003 as reported there, K-SVD Elad and Aharon 2006, BM3D Dabov et al. 2007, LSSC Mairal "
    "et al. 2009. Their numbers are those of the paper and were not measured here."
)
NOT_MEASURED = "not measured"
MEAN_OF_FIVE = "mean of five"


def run(setting: Setting, log: Log) -> Report:
    """Measure what is missing in table 1, then average."""
    five = without_the_sixth(setting.photos)
    found = cells(setting, log)
    for row in means(found):
        log.add(row)
    faithful = all(photo.faithful for photo in five.all) and len(five.all) == len(printed.FIVE)
    return Report(
        name=NAME,
        title=TITLE,
        text=TEXT if faithful else "Means over these images; the numbers of the paper are for other images.",
        grids=[methods_grid(found) if faithful and not setting.quick else bare_grid(found)],
        notes=(*setting.photos.notes, *((QUICK,) if setting.quick else ())),
    )


def rows(setting: Setting, log: Log) -> list[Row]:
    """Return the means, one per method, noise level and noise realisation."""
    return means(cells(setting, log))


def cells(setting: Setting, log: Log) -> list[Row]:
    """Return the rows of table 1 that are averaged."""
    five = without_the_sixth(setting.photos)
    return list(table1.rows(dataclasses.replace(setting, photos=five), log))


def without_the_sixth(photos: Photos) -> Photos:
    """Leave out cameraman; other images stay."""
    return Photos(tuple(photo for photo in photos.all if photo.name != printed.LEFT_OUT), photos.notes)


def means(found: list[Row]) -> list[Row]:
    """Average over the images: one row per method, noise level and noise realisation."""
    groups: dict[tuple[str, float, int], list[Row]] = {}
    for row in found:
        groups.setdefault((row.row, row.sigma, row.seed), []).append(row)
    return [
        Row(
            table=NAME,
            row=name,
            image=MEAN_OF_FIVE if _is_the_five(group) else f"mean of {', '.join(row.image for row in group)}",
            sigma=sigma,
            seed=seed,
            psnr=statistics.fmean(row.psnr for row in group),
            printed=printed.table2(name, sigma) if _is_the_five(group) else None,
            seconds=sum(row.seconds for row in group),
            recipe="-".join(sorted({row.recipe for row in group})),
            quick=any(row.quick for row in group),
        )
        for (name, sigma, seed), group in groups.items()
    ]


def methods_grid(found: list[Row]) -> Grid:
    """Lay out the table as the paper does: our number, the printed one and the difference, one below the other."""
    ours = _ours(found)
    sigmas = sorted({sigma for _, sigma in ours})
    lines = []
    for sigma in sigmas:
        lines += _three_lines(
            f"{sigma:g}",
            {name: ours.get((name, sigma)) for name in printed.ROWS},
            {name: printed.table2(name, sigma) for name in printed.METHODS},
        )
    if tuple(sigmas) == printed.SIGMAS:
        whole = {name: _mean_over(ours, name) for name in printed.ROWS}
        lines += _three_lines("mean", whole, dict(zip(printed.METHODS, printed.TABLE_2_MEANS, strict=True)))
    return Grid(title="Means over five images", header=["sigma", "dB", *printed.METHODS], lines=lines, n_labels=2)


def bare_grid(found: list[Row]) -> Grid:
    """Tabulate means over other images than the paper's, without printed numbers."""
    ours = _ours(found)
    names = list(dict.fromkeys(row.image for row in found))
    lines = [
        [f"{sigma:g}", *(number(ours.get((name, sigma))) for name in printed.ROWS)]
        for sigma in sorted({sigma for _, sigma in ours})
    ]
    return Grid(title=f"Means over {', '.join(names)}", header=["sigma", *printed.ROWS], lines=lines)


def _three_lines(
    label: str, ours: dict[str, float | None], paper: dict[str, float | None] | dict[str, float]
) -> list[list[str]]:
    gaps = {name: minus(ours.get(name), paper.get(name)) for name in printed.METHODS}
    return [
        [label, "ours", *(number(ours[name]) if name in ours else NOT_MEASURED for name in printed.METHODS)],
        [label, "paper", *(number(paper.get(name)) for name in printed.METHODS)],
        [label, "difference", *(signed(gaps[name]) for name in printed.METHODS)],
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


def _is_the_five(group: list[Row]) -> bool:
    """Whether these are the five images of the paper: those with a printed number in table 1."""
    return {row.image for row in group if row.printed is not None} == set(printed.FIVE)
