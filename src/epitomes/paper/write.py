"""From reports to files: a page for each table and figure, a PNG and a small JSON file for each figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from epitomes.draw import Figure, Section, Table, Text, page
from epitomes.files import write_atomically
from epitomes.formats import encode_png
from epitomes.paper.registry import MEMBERS
from epitomes.paper.report import Report, Setting
from epitomes.paper.rows import Log

TITLE = "Sparse Image Representation with Epitomes, measured again"
TOGETHER = "paper.html"  # all reports of a run that makes several


def make(
    names: Sequence[str], setting: Setting, log: Log, output: Path, *, overwrite: bool = False
) -> Iterator[Report]:
    """Make tables and figures one by one; each is on disk before it is handed over.

    Files that are in the way are an error before anything is measured, not after.
    """
    if unknown := [name for name in names if name not in MEMBERS]:
        raise ValueError(f"no table or figure named {', '.join(unknown)}: there are {', '.join(MEMBERS)}")
    taken = [path for path in goals(names, output) if path.exists()]
    if taken and not overwrite:
        raise FileExistsError(f"{taken[0]} is there already: choose another folder, or allow it with --overwrite")
    return _made(names, setting, log, output)


def goals(names: Sequence[str], output: Path) -> list[Path]:
    """All files that a run may write."""
    found = [output / f"{name}.html" for name in names]
    found += [output / f"{name}.{ending}" for name in names if name.startswith("fig") for ending in ("png", "json")]
    return [*found, output / TOGETHER] if len(names) > 1 else found


def _made(names: Sequence[str], setting: Setting, log: Log, output: Path) -> Iterator[Report]:
    output.mkdir(parents=True, exist_ok=True)
    done = []
    for name in names:
        report = MEMBERS[name](setting, log)
        write(report, output)
        done.append(report)
        if len(names) > 1:
            _write_text(output / TOGETHER, page(TITLE, [section(each) for each in done]))
        yield report


def write(report: Report, output: Path) -> None:
    """Put a report into a folder, each file whole or not at all."""
    _write_text(output / f"{report.name}.html", page(TITLE, [section(report)]))
    if report.picture is not None:
        write_atomically(output / f"{report.name}.png", encode_png(report.picture))
    if report.facts is not None:
        _write_text(output / f"{report.name}.json", json.dumps(report.facts, indent=1, allow_nan=False) + "\n")


def section(report: Report) -> Section:
    """A report as a section of a page: words, picture, tables, notes."""
    parts: list[Text | Figure | Table] = [Text(report.text)]
    if report.picture is not None:
        parts.append(Figure(report.picture, report.title, report.alt))
    for grid in report.grids:
        parts.append(Table(grid.title, list(grid.header), [list(line) for line in grid.lines]))
        if grid.note:
            parts.append(Text(grid.note))
    return Section(report.title, [*parts, *map(Text, report.notes)])


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, text.encode())
