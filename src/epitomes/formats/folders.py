"""Folders that are whole or not there, for formats that are folders."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path


def write_folder(path: Path, fill: Callable[[Path], None], *, overwrite: bool, marks: Sequence[str]) -> None:
    """Let `fill` write to a new folder beside the goal, bring it to the disk, and give it the goal's name.

    A folder that is replaced must hold one of `marks`: nobody loses a folder of other things by a slip of the pen.
    Replacing takes two steps; killed between them, the old folder stays beside the goal under a name that ends in
    `.old`.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    there = os.path.lexists(path)
    if there and not overwrite:
        raise FileExistsError(f"{path} exists already: choose another name or allow overwriting")
    if there and (path.is_symlink() or not any((path / mark).is_file() for mark in marks)):
        raise FileExistsError(f"{path} is something else than a picture of this kind: choose another name")
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
