"""Charts: points lie where the axes say, ticks are round, and the text is there and safe."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from epitomes.draw import Series, png_curve, svg_curve
from epitomes.draw.axes import axis
from epitomes.draw.curve import _dashed

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "values", [(0.0, 1.0), (3.1, 97.0), (-5e-7, 2e-6), (1e8, 3e9), (5.0, 5.0), (0.0, 0.0), (-3, -2.9)]
)
def test_even_ticks_are_round_and_inside(values: tuple[float, float]) -> None:
    one = axis(values)
    assert 2 <= len(one.ticks) <= 9 and len(set(one.labels)) == len(one.labels)
    assert one.low <= min(values) and max(values) <= one.high
    assert all(one.low <= tick <= one.high for tick in one.ticks)
    steps = np.diff(one.ticks)
    assert np.allclose(steps, steps[0])
    assert f"{steps[0]:.0e}"[0] in "125"
    for tick, label in zip(one.ticks, one.labels, strict=True):
        assert float(label) == pytest.approx(tick, rel=1e-2, abs=steps[0] / 100)


@pytest.mark.parametrize("values", [(1e-9, 1.0), (2.0, 900.0), (0.4, 0.6), (3.0, 3.0), (1e-30, 1e30)])
def test_log_ticks(values: tuple[float, float]) -> None:
    one = axis(values, log=True)
    assert 2 <= len(one.ticks) <= 9 and one.low <= min(values) and max(values) <= one.high
    assert one.place(one.low) == pytest.approx(0) and one.place(one.high) == pytest.approx(1)
    assert one.place(math.sqrt(one.low) * math.sqrt(one.high)) == pytest.approx(0.5)


def test_log_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        axis([0.0, 1.0], log=True)
    with pytest.raises(ValueError, match="finite"):
        axis([math.nan])


def chart(series: list[Series], log_y: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(svg_curve(series, title="t & <b>", x_label="step", y_label="y", log_y=log_y))


def test_points_lie_where_the_ticks_say() -> None:
    """Read the values back from the paper by the tick labels alone, as a reader does."""
    x, y = np.array([1.0, 2.0, 4.0, 9.0]), np.array([10.0, 31.0, 7.5, 22.0])
    root = chart([Series("a", x, y)])
    circles = root.findall(f"{SVG}circle")
    labels = [t for t in root.findall(f"{SVG}text") if re.fullmatch(r"-?[\d.]+", t.text or "")]
    below = [(float(t.get("x", "")), float(t.text or "")) for t in labels if t.get("text-anchor") == "middle"]
    beside = [(float(t.get("y", "")) - 4, float(t.text or "")) for t in labels if t.get("text-anchor") == "end"]
    to_x, to_y = (np.polyfit(*zip(*pairs, strict=True), 1) for pairs in (below, beside))
    np.testing.assert_allclose(np.polyval(to_x, [float(c.get("cx", "")) for c in circles]), x, atol=0.02)
    np.testing.assert_allclose(np.polyval(to_y, [float(c.get("cy", "")) for c in circles]), y, atol=0.1)


def test_text_is_escaped_and_described() -> None:
    root = chart([Series('"<a>"', [1, 2], [3.0, 4.0]), Series("b", [1, 2], [4.0, 3.0])])
    texts = [t.text for t in root.findall(f"{SVG}text")]
    assert "t & <b>" in texts and '"<a>"' in texts and "b" in texts  # parsed back: it was escaped
    assert root.get("role") == "img" and "from 3 to 4" in (root.get("aria-label") or "")
    dashes = [
        p.get("stroke-dasharray")
        for p in root.findall(f"{SVG}polyline")
        if p.get("stroke") not in (None, "currentColor")
    ]
    assert len(set(dashes)) == 2  # told apart without colour


def test_gaps_where_values_are_missing() -> None:
    root = chart([Series("a", [1, 2, 3, 4, 5], [1.0, 2.0, math.nan, 2.0, 1.0])])
    lines = [p for p in root.findall(f"{SVG}polyline") if (p.get("stroke") or "").startswith("#")]
    assert len(lines) == 2


def test_png_has_the_lines_in_their_colours() -> None:
    drawn = png_curve(
        [Series("a", [0, 1], [0.0, 1.0]), Series("b", [0, 1], [1.0, 0.0])], title="t", x_label="x", y_label="y", scale=1
    )
    assert drawn.shape == (360, 640, 3) and drawn.dtype == np.uint8
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (drawn == colour).all(axis=2).sum() > 200
    assert (drawn == 255).all(axis=2).mean() > 0.8


def test_dashes_cover_their_share(rng: np.random.Generator) -> None:
    points = [(float(x), float(y)) for x, y in np.cumsum(rng.uniform(5, 20, (30, 2)), axis=0)]

    def length(line: list[tuple[float, float]]) -> float:
        return sum(math.dist(a, b) for a, b in pairwise(line))

    share = sum(map(length, _dashed(points, [6.0, 3.0]))) / length(points)
    assert share == pytest.approx(2 / 3, abs=0.02)
    assert _dashed(points, []) == [points]


def test_bad_series_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one series"):
        chart([])
    with pytest.raises(ValueError, match="'a' needs as many"):
        chart([Series("a", [1, 2], [1.0])])
