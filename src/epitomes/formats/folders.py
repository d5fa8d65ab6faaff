"""Write directories so that they appear complete or not at all, for formats whose images are directories."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path


def write_folder(path: Path, fill: Callable[[Path], None], *, overwrite: bool, marks: Sequence[str]) -> None:
    """Let `fill` write to a temporary directory beside `path`, flush it to disk, and rename it.

    A directory is replaced only if it holds one of `marks`, so that a wrong name does not delete other data. Replacing
    takes two steps. If the process is killed between them, the old directory remains under a name that ends in `.old`.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no directory {path.parent}; create it first")
    there = os.path.lexists(path)
    if there and not overwrite:
        raise FileExistsError(f"{path} exists already: choose another name or allow overwriting")
    if there and (path.is_symlink() or not any((path / mark).is_file() for mark in marks)):
        raise FileExistsError(f"{path} exists and is not an image of this format: choose another name")
    stem = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    temporary, old = stem.with_name(f"{stem.name}.tmp"), stem.with_name(f"{stem.name}.old")
    try:
        fill(temporary)
        for file in [*temporary.rglob("*"), temporary]:
            _to_disk(file)
        if there:
            os.rename(path, old)
        os.rename(temporary, path)
    except BaseException:  # Ctrl-C too
        if not os.path.lexists(path) and old.exists():
            os.rename(old, path)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    _to_disk(path.parent)


def _to_disk(path: Path) -> None:
    with suppress(OSError):
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
