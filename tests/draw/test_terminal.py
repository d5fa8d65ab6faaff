"""Charts of characters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from epitomes.draw.terminal import POINT, bars, chart


def test_bars() -> None:
    assert bars([0, 0.5, 1, 7, -1], 1.0) == "▁▅███"[:4] + "▁"


def test_a_rising_curve_goes_from_the_lower_left_to_the_upper_right() -> None:
    x = np.linspace(10, 20, 30)
    lines = chart((x, x - 10), (np.array([10.0, 20.0]), np.array([0.0, 10.0])), width=20, height=4)
    assert len(lines) == 6 and lines[0].startswith("11 │") and lines[3].startswith(" 0 │")
    assert lines[0].rstrip().endswith(POINT) and lines[3][4] == POINT
    assert lines[-1].split() == ["10", "20"]
    dots = [[n for n, each in enumerate(line) if 0x2800 < ord(each) < 0x2900] for line in lines[:4]]
    assert all(max(below) <= min(above) + 1 for above, below in pairwise(dots))


def test_points_may_be_missing_and_a_curve_level() -> None:
    nothing = np.zeros(0)
    for level in (0.0, 3.0):
        lines = chart((np.array([1.0, 1.0]), np.full(2, level)), (nothing, nothing), width=10, height=3)
        assert len({len(line) for line in lines[-2:]}) == 1 and POINT not in "".join(lines)
