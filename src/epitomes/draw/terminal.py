"""Charts of characters, for terminals: a curve in braille dots with measured points on it, and bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BARS = "▁▂▃▄▅▆▇█"
POINT = "●"
BRAILLE = 0x2800
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # (row, column) of a character


def bars(values: Sequence[float], top: float) -> str:
    """One character per value, from the lowest bar at 0 to the highest at `top`."""
    steps = np.clip(np.round(np.asarray(values, np.float64) / top * (len(BARS) - 1)), 0, len(BARS) - 1)
    return "".join(BARS[int(step)] for step in steps)


def chart(
    curve: tuple[Floats, Floats], points: tuple[Floats, Floats], *, width: int = 48, height: int = 6
) -> list[str]:
    """A curve and points over it, from 0 upwards, with the ends of both axes; one string per line."""
    x = np.concatenate([curve[0], points[0]])
    y = np.concatenate([curve[1], points[1]])
    low, high, top = float(x.min()), float(x.max()), 1.1 * float(y.max()) or 1.0
    span = high - low or 1.0
    cells = np.zeros((height, width), np.int64)
    fine = np.linspace(low, high, 8 * width)
    across = np.minimum((2 * width * (fine - low) / span).astype(int), 2 * width - 1)
    up = np.clip((4 * height * (1 - np.interp(fine, *curve) / top)).astype(int), 0, 4 * height - 1)
    inside = (fine >= curve[0].min()) & (fine <= curve[0].max())
    for column, row in zip(across[inside], up[inside], strict=True):
        cells[row // 4, column // 2] |= DOTS[row % 4, column % 2]
    text = [[chr(BRAILLE + cell) if cell else " " for cell in row] for row in cells]
    for value, level in zip(*points, strict=True):
        column = min(int(width * (value - low) / span), width - 1)
        text[min(int(height * (1 - level / top)), height - 1)][column] = POINT
    labels = [f"{top:.3g}", *[""] * (height - 2), "0"]
    margin = max(map(len, labels))
    ends = f"{low:.4g}", f"{high:.4g}"
    lines = [f"{label:>{margin}} │{''.join(row)}".rstrip() for label, row in zip(labels, text, strict=True)]
    return [*lines, f"{'':{margin}} └{'─' * width}", f"{'':{margin}}  {ends[0]}{ends[1]:>{width - len(ends[0])}}"]
