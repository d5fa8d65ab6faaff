"""`epitomes paper`: measure the tables and figures of the paper again, beside the printed numbers."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import Overwrite, Threads
from epitomes.cli.errors import tell, usage
from epitomes.cli.help import examples

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from epitomes.paper import Grid, Report

EXAMPLES = examples("paper table1 --quick -o paper", "paper all --images DIR -o paper")


class What(StrEnum):
    """Tables and figures; the registry of `epitomes.paper` has the same names."""

    table1 = "table1"
    table2 = "table2"
    fig1 = "fig1"
    fig3 = "fig3"
    fig5 = "fig5"
    fig6 = "fig6"
    fig7 = "fig7"
    fig8 = "fig8"
    all = "all"


def paper(
    what: Annotated[
        What, typer.Argument(metavar="WHAT", help="table1, table2, fig1, fig3, fig5, fig6, fig7, fig8 or all")
    ],
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="directory with house, peppers, cameraman, barbara, lena and boat"),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="directory for pages, images and rows")
    ] = Path("paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="fewer images, noise levels and seeds (less than a minute)")
    ] = False,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="number of noise samples per image and level")] = 5,
    threads: Threads = None,
    rows: Annotated[str, typer.Option(metavar="IE,E", help="rows of table 1")] = "IE,E",
    methods: Annotated[str, typer.Option(metavar="A,B", help="baselines of table 2 [default: all]")] = "",
    pictures: Annotated[str, typer.Option(metavar="A,B", help="images of table 1 [default: all]")] = "",
    sigmas: Annotated[str, typer.Option(metavar="A,B", help="noise levels of table 1")] = "10,15,20,25,50",
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="file for the rows, one JSON object per line [default: rows.jsonl in --output]"
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue from the rows of an earlier run")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Measure the paper's tables and figures again.

    Writes an HTML page for each, a PNG and a JSON file for each figure, and the rows of the tables. Each row is saved
    as soon as it is measured, so that an interrupted run can continue with --resume.
    """
    from rich.console import Console

    from epitomes.paper import MEMBERS, Log, Setting, find_photos, make

    photos = find_photos(images)
    setting = Setting(
        photos=photos.only(_words(pictures)) if pictures else photos,
        quick=quick,
        seeds=seeds,
        threads=threads,
        rows=_rows(rows),
        methods=_methods(methods),
        sigmas=_sigmas(sigmas),
        tell=tell,
    )
    log = Log(output / "rows.jsonl" if json is None else json, resume=resume, overwrite=overwrite)
    names = list(MEMBERS) if what is What.all else [what.value]
    reports = make(names, setting, log, output, overwrite=overwrite or resume)
    for note in photos.notes:
        tell(note)
    try:
        for report in reports:
            _show(report, Console(highlight=False), printed=photos.notes)
            tell(f"{report.name}: written to {output}")
    except KeyboardInterrupt:
        if log.rows:
            tell(f"{len(log.rows)} rows are saved in {log.path}: continue with --resume")
        raise


def _show(report: Report, console: Console, printed: Collection[str]) -> None:
    """Print the report, without the notes that were printed before it."""
    console.print(report.title, style="bold", markup=False)
    for grid in report.grids:
        console.print(_as_rich(grid))
    for note in report.notes:
        if note not in printed:
            console.print(note, markup=False)
    console.print()


def _as_rich(grid: Grid) -> Table:
    """Return a table for the terminal: labels that repeat the line above are left out, and groups are separated."""
    from rich.table import Table

    table = Table(title=grid.title, caption=grid.note or None, title_justify="left", caption_justify="left")
    for number, name in enumerate(grid.header):
        table.add_column(name, justify="left" if number < grid.n_labels else "right")
    above: tuple[str, ...] = ()
    for line in grid.lines:
        labels = tuple(line[: grid.n_labels - 1])
        if labels != above and above:
            table.add_section()
        shown = ["" if labels == above else label for label in labels]
        table.add_row(*shown, *line[grid.n_labels - 1 :])
        above = labels
    return table


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _rows(text: str) -> list[str]:
    from epitomes.paper.printed import ROWS

    names = [word.upper() for word in _words(text)]
    if not names or not set(names) <= set(ROWS):
        raise usage(f"--rows needs some of {', '.join(ROWS)}, separated by commas, got {text!r}")
    return [name for name in ROWS if name in names]


def _methods(text: str) -> list[str]:
    from epitomes.baselines import METHODS

    names = [word.lower() for word in _words(text)]
    if unknown := [name for name in names if name not in METHODS]:
        raise usage(f"--methods needs some of {', '.join(METHODS)}, separated by commas, got {unknown[0]!r}")
    return [name for name in METHODS if name in names] if names else list(METHODS)


def _sigmas(text: str) -> list[float]:
    try:
        levels = sorted({float(word) for word in _words(text)})
    except ValueError:
        levels = []
    if not levels or not all(0 < level < float("inf") for level in levels):
        raise usage(f"--sigmas needs noise levels above 0, separated by commas, such as 10,25, got {text!r}")
    return [int(level) if level.is_integer() else level for level in levels]
