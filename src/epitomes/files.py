"""Files that are whole or not there: nobody reads half of a picture, a model or a checkpoint.

The content goes to a temporary file beside the goal, to the disk, and takes the goal's name in one step. A program
that is killed leaves the old file as it was; at worst a temporary file stays, which a later write takes away.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

ABANDONED = 24 * 3600.0  # seconds after which a temporary file is nobody's


def write_atomically(path: Path, content: bytes, *, overwrite: bool = True) -> None:
    """Write `content` so that readers see the old file or the new one, and the new one survives a power cut.

    A new file gets the usual permissions, a replaced one keeps its own. A symbolic link is replaced, not followed.
    """
    path = Path(path)
    _require_goal(path, overwrite)
    folder, prefix = path.parent, f".{path.name[:40]}."  # a name has 255 bytes at most
    _remove_abandoned(folder, prefix)
    temporary = folder / f"{prefix}{secrets.token_hex(8)}.tmp"
    try:
        _write(temporary, content, _mode_of(path))
        if overwrite:
            os.replace(temporary, path)
        else:
            _take_free_name(temporary, path)
    except BaseException:  # Ctrl-C too
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _to_disk(folder)


def _require_goal(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if not overwrite and os.path.lexists(path):
        raise _taken(path)


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} exists already: choose another name or allow overwriting")


def _mode_of(path: Path) -> int | None:
    """The permissions of the file that will be replaced: a private file must not become public."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            return stat.S_IMODE(found.st_mode)
    return None


def _write(path: Path, content: bytes, mode: int | None) -> None:
    created = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
    with open(created, "wb") as file:
        file.write(content)
        file.flush()
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(file.fileno())


def _take_free_name(temporary: Path, path: Path) -> None:
    """Rename unless somebody took the name in the meantime: a link, unlike a rename, refuses a name in use."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _taken(path) from None
    except OSError:  # this file system has no links
        if os.path.lexists(path):
            raise _taken(path) from None
        os.replace(temporary, path)
    else:
        os.unlink(temporary)


def _to_disk(folder: Path) -> None:
    """Make the new name durable. Some file systems cannot; the file itself is complete all the same."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Take away what killed writers of this file left long ago; a young one may belong to a writer at work."""
    ours = re.compile(re.escape(prefix) + r"[0-9a-f]{16}\.tmp")
    oldest = time.time() - ABANDONED
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that cannot be listed can still be written to
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)
