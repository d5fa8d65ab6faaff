"""The size limit of files: how many values may be read, and the check that every reader makes first."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from epitomes.formats.errors import ImageFileError, ImageTooLargeError

LEAST = 2**27  # values that are read on any machine: more than 24 megapixels in colour
UNKNOWN = 2**28  # values, where the system does not tell how much memory it has: the limit of a machine with 8 GiB

_SHARE = 4  # an image may take a quarter of the memory: denoising needs several arrays of its size
_BYTES = 8  # of a value, as float64


def default_max_pixels() -> int:
    """Return the largest number of values that `read` accepts by default.

    Returns
    -------
    int
        A quarter of the memory of this machine, in values of eight bytes each, but at least ``2**27``. If the memory
        is unknown, ``2**28``.

    See Also
    --------
    read : Its parameter `max_pixels` replaces this limit.

    Notes
    -----
    The memory is the physical memory, or the limit of the control group (container) if that is lower. Memory that
    other programs use is not subtracted, so that a file is accepted or refused independently of them.

    Examples
    --------
    >>> from epitomes.formats import default_max_pixels
    >>> default_max_pixels() >= 2**27
    True
    """
    memory = total_memory()
    return UNKNOWN if memory is None else max(LEAST, memory // (_SHARE * _BYTES))


def total_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that this process may use, None if unknown; `root` replaces / in tests."""
    known = [limit for limit in (_physical_memory(), *_group_limits(root)) if limit is not None]
    return min(known, default=None)


def require_size(shape: Sequence[int], most: int) -> None:
    """Refuse a shape from a header before anything of that size is allocated."""
    if min(shape, default=0) < 1:
        raise ImageFileError(f"its header gives the size {times(shape)}, which no image has: get another copy")
    if math.prod(shape) > most:
        raise too_large(f"it holds {math.prod(shape)} values, {times(shape)}", most, math.prod(shape))


def too_large(found: str, most: int, needed: int | None = None) -> ImageTooLargeError:
    """Return the error for a file above the limit of `most` values; `needed` is the limit that would accept it."""
    error = ImageTooLargeError(f"{found}, above the limit of {most}: crop it, or raise max_pixels")
    error.needed = needed
    return error


def times(shape: Sequence[int]) -> str:
    """Format a shape for messages."""
    return " x ".join(map(str, shape))


def _physical_memory() -> int | None:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system, or one without these names
        return None
    return pages * size if pages > 0 and size > 0 else None


def _group_limits(root: Path) -> Iterator[int | None]:
    """Yield the memory limits of the control groups of this process and of their parents, versions 1 and 2."""
    home = root / "sys" / "fs" / "cgroup"
    try:
        with open(root / "proc" / "self" / "cgroup", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folder, name = home, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = home / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        for each in (group, *group.parents):  # a limit also holds for the groups inside
            yield _number(folder / each / name)


def _number(path: Path) -> int | None:
    """Read a limit; a file that is missing, or says "max", sets none."""
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
