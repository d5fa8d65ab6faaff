"""Sheets: every panel is there, whole, under its caption."""

from __future__ import annotations

import numpy as np
import pytest

from epitomes.draw import Panel, sheet


def found(drawn: np.ndarray, panel: np.ndarray) -> list[tuple[int, int]]:
    """Where a panel lies on the sheet, by looking everywhere."""
    h, w = panel.shape[:2]
    grid = [(i, j) for i in range(drawn.shape[0] - h + 1) for j in range(drawn.shape[1] - w + 1)]
    return [(i, j) for i, j in grid if (drawn[i : i + h, j : j + w] == panel).all()]


def test_panels_stand_side_by_side(rng: np.random.Generator) -> None:
    left, right = (rng.integers(0, 256, (20, 60), dtype=np.uint8) for _ in range(2))
    drawn = sheet([Panel("left", left), Panel("right", right)])
    (a,), (b,) = found(drawn, left), found(drawn, right)
    assert a[0] == b[0] and b[1] >= a[1] + 60
    above = drawn[: a[0], :]
    assert (above[:, a[1] : a[1] + 60] < 128).any() and (above[:, b[1] : b[1] + 60] < 128).any()  # letters


def test_columns_and_colour(rng: np.random.Generator) -> None:
    grey, colour = rng.integers(0, 256, (10, 30), dtype=np.uint8), rng.integers(0, 256, (12, 30, 3), dtype=np.uint8)
    drawn = sheet([Panel("a", grey), Panel("b", colour)], columns=1)
    assert drawn.ndim == 3
    (a,), (b,) = found(drawn, np.dstack([grey] * 3)), found(drawn, colour)
    assert a[1] == b[1] and b[0] >= a[0] + 10


def test_long_captions_are_broken_not_cut() -> None:
    panel = np.zeros((10, 80), np.uint8)
    short = sheet([Panel("one", panel)])
    long = sheet([Panel("one two three four five six seven eight nine ten", panel)])
    assert long.shape[0] > short.shape[0] + 20 and long.shape[1] == short.shape[1]


def test_wrong_panels_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        sheet([])
    with pytest.raises(ValueError, match=r"'x'.*float64"):
        sheet([Panel("x", np.zeros((4, 4)))])  # type: ignore[arg-type]
