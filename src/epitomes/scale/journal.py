"""Journal: which tiles are done, one line of JSON for each, so that a job that was killed can go on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from epitomes.files import write_atomically

FORMAT = "epitomes journal"


class Journal:
    """A file whose first line says what the job is, and each other one which tile is done, with its checksum."""

    def __init__(self, path: Path, job: str) -> None:
        self.path = path
        self.job = job
        self.done: dict[int, int] = {}  # tile -> CRC-32 of its pixels
        self._file: BinaryIO | None = None

    def exists(self) -> bool:
        """Whether a job was begun."""
        return self.path.exists()

    def begin(self) -> None:
        """Begin a new job."""
        self.done.clear()
        write_atomically(self.path, _line({"format": FORMAT, "job": self.job}))

    def resume(self) -> bool:
        """Read which tiles are done; False if the file is that of another job. A line that was cut short is dropped."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        head = _parsed(lines[0]) if lines else {}
        if head.get("format") != FORMAT or head.get("job") != self.job:
            return False
        kept = len(lines[0])
        for line in lines[1:]:
            entry = _parsed(line)
            if not {"tile", "crc"} <= {*entry}:
                break
            self.done[int(entry["tile"])] = int(entry["crc"])
            kept += len(line)
        os.truncate(self.path, kept)
        return True

    def add(self, tile: int, crc: int) -> None:
        """Note that a tile is written; it is on disk when this returns."""
        if self._file is None:
            self._file = self.path.open("ab")
        self._file.write(_line({"tile": tile, "crc": crc}))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done[tile] = crc

    def remove(self) -> None:
        """Forget the job, which is done."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """The values of a whole line; none if it is cut short."""
    try:
        values = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
