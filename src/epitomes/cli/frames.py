"""Frames on the command line: numbers such as "3,6,9", ranges "10:20" and steps "2::3", counted from 0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from epitomes.cli.errors import usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ONE = re.compile(r"\d+")
RANGE = re.compile(r"(\d*):(\d*)(?::([1-9]\d*))?")


def require_frames(words: str) -> list[str]:
    """The parts of a list of frames; refuses what is none."""
    parts = [part.strip() for part in words.split(",")]
    for part in parts:
        if not (ONE.fullmatch(part) or RANGE.fullmatch(part)):
            raise usage(
                f"--frames needs numbers or ranges such as 3,6,9 or 10:20 or 2::3, got {words!r}", "--frames", "3,6,9"
            )
    return parts


def chosen_frames(parts: list[str], n: int) -> NDArray[np.bool_]:
    """Which of `n` frames are named.

    Raises
    ------
    ValueError
        If a part names none of them, or all are named.
    """
    import numpy as np

    flags = np.zeros(n, np.bool_)
    for part in parts:
        found = RANGE.fullmatch(part)
        place = (
            slice(*(int(end) if end else None for end in found.groups())) if found else slice(int(part), int(part) + 1)
        )
        if not flags[place].size:
            raise ValueError(f"--frames {part} is beyond the last of {n} frames, which is {n - 1}")
        flags[place] = True
    if flags.all():
        raise ValueError(f"--frames names all {n} frames: leave some to interpolate from")
    return flags
