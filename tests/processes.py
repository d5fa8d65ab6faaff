"""Processes of tests, which end with their test, however that ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def python(
    *words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None, keep_errors: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Start Python with these words, to read its output; it is killed at the end if it still runs."""
    command: Sequence[str] = [sys.executable, *map(str, words)]
    errors = subprocess.PIPE if keep_errors else None
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as job:
        try:
            yield job
        finally:
            job.kill()


def lines(job: subprocess.Popen[str]) -> Iterator[str]:
    """The lines that it writes."""
    assert job.stdout is not None
    return iter(job.stdout.readline, "")


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and is not yet forgotten does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
