"""Write reports to files: a page for each table and figure, a PNG and a small JSON file for each figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from epitomes.draw import Table, embed, page
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
    """Make tables and figures one by one; each is on disk before it is yielded.

    Existing files raise an error before anything is measured.
    """
    if unknown := [name for name in names if name not in MEMBERS]:
        raise ValueError(f"no table or figure named {', '.join(unknown)}: there are {', '.join(MEMBERS)}")
    taken = [path for path in goals(names, output) if path.exists()]
    if taken and not overwrite:
        raise FileExistsError(f"{taken[0]} exists: choose another folder, or add --overwrite")
    return _made(names, setting, log, output)


def goals(names: Sequence[str], output: Path) -> list[Path]:
    """List all files that a run may write."""
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
            _write_text(output / TOGETHER, page_of(done))
        yield report


def write(report: Report, output: Path) -> None:
    """Write a report into a folder, each file completely or not at all."""
    _write_text(output / f"{report.name}.html", page_of([report]))
    if report.picture is not None:
        write_atomically(output / f"{report.name}.png", encode_png(report.picture))
    if report.facts is not None:
        _write_text(output / f"{report.name}.json", json.dumps(report.facts, indent=1, allow_nan=False) + "\n")


def page_of(reports: Sequence[Report]) -> str:
    """Make one page of all reports."""
    return page("paper.html", {"title": TITLE, "reports": [_section(report) for report in reports]})


def _section(report: Report) -> dict[str, object]:
    """Prepare a report for the template."""
    return {
        "name": report.name,
        "title": report.title,
        "text": report.text,
        "picture": None if report.picture is None else embed(report.picture),
        "alt": report.alt,
        "tables": [(Table(grid.title, grid.header, grid.lines, grid.n_labels), grid.note) for grid in report.grids],
        "notes": report.notes,
    }


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, text.encode())
