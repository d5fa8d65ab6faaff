"""`epitomes paper`: the tables and figures of the paper, measured again, with the printed numbers beside ours."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from epitomes.cli.common import Overwrite, Threads
from epitomes.cli.errors import tell, usage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from epitomes.paper import Grid, Report


class What(StrEnum):
    """What can be asked for; the registry of `epitomes.paper` has the same names."""

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
    what: Annotated[What, typer.Argument(help="a table or figure of the paper, or all of them")],
    images: Annotated[
        Path | None, typer.Option(metavar="DIR", help="folder with house, peppers, cameraman, barbara, lena and boat")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="folder for pages, pictures and rows")] = Path("paper"),
    quick: Annotated[bool, typer.Option("--quick", help="a look within 50 seconds: fewer of everything")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="draws of the noise, seeds 0 to K-1")] = 5,
    threads: Threads = None,
    rows: Annotated[str, typer.Option(metavar="IE,E", help="rows of table 1")] = "IE,E",
    pictures: Annotated[str, typer.Option(metavar="A,B", help="pictures of table 1; all unless given")] = "",
    sigmas: Annotated[str, typer.Option(metavar="A,B", help="noise levels of table 1")] = "10,15,20,25,50",
    json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="the rows, one JSON object per line; OUTPUT/rows.jsonl unless given"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the rows of an earlier run")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Measure the paper's tables and figures again.

    Writes a page for each, a PNG and a small JSON file for each figure, and the rows of the tables. Rows are on disk as
    soon as they are measured: a stopped run loses nothing and goes on with --resume.
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
            _show(report, Console(highlight=False), told=photos.notes)
            tell(f"{report.name} is in {output}")
    except KeyboardInterrupt:
        if log.rows:
            tell(f"stopped; {len(log.rows)} rows are safe in {log.path}: --resume goes on from them")
        raise


def _show(report: Report, console: Console, told: Collection[str]) -> None:
    """The report in the terminal, without the notes that were told before it."""
    console.print(report.title, style="bold", markup=False)
    for grid in report.grids:
        console.print(_as_rich(grid))
    for note in report.notes:
        if note not in told:
            console.print(note, markup=False)
    console.print()


def _as_rich(grid: Grid) -> Table:
    """A table for the terminal: labels that repeat the line above are left out, and each group gets a rule."""
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
        raise usage(f"--rows needs some of {', '.join(ROWS)}, with commas, got {text!r}")
    return [name for name in ROWS if name in names]


def _sigmas(text: str) -> list[float]:
    try:
        levels = sorted({float(word) for word in _words(text)})
    except ValueError:
        levels = []
    if not levels or not all(0 < level < float("inf") for level in levels):
        raise usage(f"--sigmas needs noise levels above 0, with commas, such as 10,25, got {text!r}")
    return [int(level) if level.is_integer() else level for level in levels]
