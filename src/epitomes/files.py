"""Atomic writes: a file is complete or absent, so that nobody reads half of an image, a model or a checkpoint.

The content is written to a temporary file in the same directory, flushed to disk and renamed. If the program is killed,
the old file is unchanged. At worst a temporary file is left, which a later write removes.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

ABANDONED = 24 * 3600.0  # seconds after which a temporary file is considered abandoned


def write_atomically(path: Path, content: bytes, *, overwrite: bool = True) -> None:
    """Write a file so that readers see either the old content or the new one, even after a power failure.

    A new file gets the default permissions, a replaced file keeps its own. A symbolic link is replaced, not followed.
    """
    with written_atomically(path, overwrite=overwrite) as file:
        file.write(content)


@contextmanager
def written_atomically(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file to be written piece by piece; it gets its name at the end, unless an error comes first."""
    path = Path(path)
    _require_goal(path, overwrite)
    folder, prefix = path.parent, f".{path.name[:40]}."  # file names have at most 255 bytes
    _remove_abandoned(folder, prefix)
    temporary = folder / f"{prefix}{secrets.token_hex(8)}.tmp"
    try:
        with _created(temporary, _mode_of(path)) as file:
            yield file
        if overwrite:
            os.replace(temporary, path)
        else:
            _take_free_name(temporary, path)
    except BaseException:  # including Ctrl-C
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _to_disk(folder)


def _require_goal(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the directory {path.parent} does not exist, make it first")
    if not overwrite and os.path.lexists(path):
        raise _taken(path)


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} exists already: choose another name or allow overwriting")


def _mode_of(path: Path) -> int | None:
    """Return the permissions of the file that will be replaced: a private file must not become public."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            return stat.S_IMODE(found.st_mode)
    return None


@contextmanager
def _created(path: Path, mode: int | None) -> Iterator[BinaryIO]:
    created = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    with open(created, "w+b") as file:
        yield file
        file.flush()
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(file.fileno())


def _take_free_name(temporary: Path, path: Path) -> None:
    """Rename unless the name has been taken meanwhile: a hard link, unlike a rename, fails if the name exists."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _taken(path) from None
    except OSError:  # the file system has no hard links
        if os.path.lexists(path):
            raise _taken(path) from None
        os.replace(temporary, path)
    else:
        os.unlink(temporary)


def _to_disk(folder: Path) -> None:
    """Flush the directory, so that the new name is durable. Not every file system supports it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove old temporary files of killed writers; recent ones may still be in use."""
    ours = re.compile(re.escape(prefix) + r"[0-9a-f]{16}\.tmp")
    oldest = time.time() - ABANDONED
    with suppress(OSError), os.scandir(folder) as entries:  # a directory may be writeable but not readable
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)
