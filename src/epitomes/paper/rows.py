"""Rows of the tables, and the file that stores them: one JSON object per line.

A full table takes long. The file is replaced as a whole after every row, so that an interrupted run loses nothing and
the next run can resume it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epitomes.files import write_atomically

Key = tuple[str, str, str, float, int]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measured number, and the number that the paper prints."""

    table: str
    row: str  # "E" or "IE"
    image: str
    sigma: float
    seed: int
    psnr: float  # dB
    printed: float | None  # dB; None if the paper has no such number
    seconds: float
    recipe: str  # fingerprint of the recipe and the image: rows with another one are measured again
    quick: bool = False  # measured with fewer steps: not for the table

    @property
    def key(self) -> Key:
        """What was measured. There is one row per key."""
        return (self.table, self.row, self.image, self.sigma, self.seed)


def as_line(row: Row) -> str:
    """Convert to one JSON object. NaN and infinity, which JSON does not have, raise an error."""
    return json.dumps(dataclasses.asdict(row), ensure_ascii=False, allow_nan=False)


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file. Lines without "table" or "recipe" are skipped."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"line {number} of {path} is not JSON ({error}): delete that line and try again") from None
        if isinstance(found, dict) and "table" in found and "recipe" in found:
            yield _as_row(found, f"line {number} of {path}")


class Log:
    """All rows measured so far, in order of their first appearance; a file, if given, is written after every row."""

    def __init__(self, path: Path | None = None, *, resume: bool = False, overwrite: bool = False) -> None:
        self.path = path
        self._rows: dict[Key, Row] = {}
        if path is None or not path.exists():
            return
        if resume:
            self._rows = {row.key: row for row in read_rows(path)}
        elif not overwrite:
            raise FileExistsError(
                f"{path} holds rows of an earlier run: add --resume to continue it, or --overwrite to replace them"
            )

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows."""
        return tuple(self._rows.values())

    def find(self, key: Key, recipe: str, *, quick: bool) -> Row | None:
        """Find the row of a key, if it was measured with the same recipe, image and number of steps."""
        row = self._rows.get(key)
        return row if row is not None and row.recipe == recipe and row.quick == quick else None

    def add(self, row: Row) -> None:
        """Add a row; it replaces one of the same key."""
        rows = {**self._rows, row.key: row}
        content = "".join(as_line(each) + "\n" for each in rows.values())
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, content.encode())
        self._rows = rows


def _as_row(found: Mapping[str, Any], where: str) -> Row:
    fields = {field.name: field for field in dataclasses.fields(Row)}
    missing = [name for name, field in fields.items() if field.default is dataclasses.MISSING and name not in found]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}: delete that line and try again")
    for name, kind in (("sigma", float), ("seed", int), ("psnr", float), ("seconds", float)):
        if isinstance(found[name], bool) or not isinstance(found[name], (int, float) if kind is float else int):
            raise ValueError(f"{where}: {name} must be a number, got {found[name]!r}")
    return Row(**{name: found[name] for name in fields if name in found})
