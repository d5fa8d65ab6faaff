"""Line charts without a plotting library: SVG for pages and pixels for PNG files, from one layout.

Lines differ in colour and in dash pattern, so that they can be told apart in greyscale print and with any colour
vision. The SVG takes the text colour of the page around it, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from epitomes.draw._sheet import font_of
from epitomes.draw.axes import Axis, axis
from epitomes.draw.html import fragment
from epitomes.draw.tones import Bytes

if TYPE_CHECKING:
    from markupsafe import Markup

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

INK = "currentColor"  # the colour of the text
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c0579b", "#b07c00", "#3e9bd6")  # distinct for all kinds of colour vision
DASHES = ((), (7.0, 4.0), (2.0, 3.0), (10.0, 3.0, 2.0, 3.0))
MOST_MARKED = 40  # a longer line gets no dots: they would hide it
_BLACK, _GRID = "#222222", "#dddddd"  # of the PNG


@dataclass(frozen=True)
class Series:
    """One line of a chart: its name in the legend and its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class _Stroke:
    points: tuple[Point, ...]
    colour: str = INK
    width: float = 1.0
    dashes: tuple[float, ...] = ()
    dots: bool = False
    faint: bool = False  # the grid


@dataclass(frozen=True)
class _Label:
    at: Point
    text: str
    anchor: str = "middle"  # start, middle, end
    size: int = 12
    upright: bool = False  # read from below, for the vertical axis


@dataclass(frozen=True)
class _Chart:
    strokes: list[_Stroke] = field(default_factory=list)
    labels: list[_Label] = field(default_factory=list)


def svg_curve(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    width: int = 640,
    height: int = 360,
    include_y: Sequence[float] = (),
) -> Markup:
    """Draw a line chart as SVG for a page; the vertical axis reaches the values `include_y`, too."""
    chart = _layout(series, title, x_label, y_label, log_x, log_y, width, height, include_y)
    values = {"width": width, "height": height, "strokes": chart.strokes, "labels": chart.labels}
    return fragment("chart.svg", {**values, "description": _description(series, title)})


def png_curve(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    width: int = 640,
    height: int = 360,
    scale: int = 2,
) -> Bytes:
    """Draw the same chart as pixels `(height * scale, width * scale, 3)`, black on white."""
    chart = _layout(series, title, x_label, y_label, log_x, log_y, width, height)
    fine = 2 * scale  # strokes are drawn twice as large and reduced, which smooths their edges
    canvas = Image.new("RGB", (width * fine, height * fine), "white")
    pen = ImageDraw.Draw(canvas)
    for stroke in chart.strokes:
        _draw_stroke(pen, stroke, fine)
    paper = canvas.resize((width * scale, height * scale), Image.Resampling.BOX)
    for label in chart.labels:  # at their final size, so that letters are crisp
        _draw_label(paper, label, scale)
    return np.asarray(paper)


def _layout(
    series: Sequence[Series],
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool,
    log_y: bool,
    width: int,
    height: int,
    include_y: Sequence[float] = (),
) -> _Chart:
    if not series:
        raise ValueError("a chart needs at least one series")
    for one in series:
        if len(one.x) != len(one.y) or not len(one.x):
            raise ValueError(f"series {one.label!r} needs as many y as x, at least one; got {len(one.x)}, {len(one.y)}")
    across = axis([x for one in series for x in one.x], log=log_x, n_ticks=max(2, width // 90))
    up = axis([*include_y, *(y for one in series for y in one.y)], log=log_y, n_ticks=max(2, height // 55))
    chart = _Chart()
    chart.labels.append(_Label((width / 2, 20), title, size=15))
    top = 34 + _add_legend(chart, series, width)
    box = (34 + max(map(_length, up.labels)), top, width - 18, height - 46)
    _add_frame(chart, across, up, box, x_label, y_label)
    for number, one in enumerate(series):
        colour, dashes = _look(number)
        for points in _pieces(one, across, up, box):
            chart.strokes.append(_Stroke(points, colour, 2.0, dashes, dots=len(one.x) <= MOST_MARKED))
    return chart


def _add_frame(chart: _Chart, across: Axis, up: Axis, box: Box, x_label: str, y_label: str) -> None:
    """Add both axes, their ticks and the grid."""
    left, top, right, bottom = box
    for tick, label in zip(across.ticks, across.labels, strict=True):
        x = left + across.place(tick) * (right - left)
        chart.strokes.append(_Stroke(((x, top), (x, bottom)), faint=True))
        chart.strokes.append(_Stroke(((x, bottom), (x, bottom + 4))))
        chart.labels.append(_Label((x, bottom + 18), label))
    for tick, label in zip(up.ticks, up.labels, strict=True):
        y = bottom - up.place(tick) * (bottom - top)
        chart.strokes.append(_Stroke(((left, y), (right, y)), faint=True))
        chart.strokes.append(_Stroke(((left - 4, y), (left, y))))
        chart.labels.append(_Label((left - 8, y + 4), label, "end"))
    chart.strokes.append(_Stroke(((left, top), (left, bottom), (right, bottom)), width=1.2))
    chart.labels.append(_Label(((left + right) / 2, bottom + 38), x_label + (" (log scale)" if across.log else "")))
    chart.labels.append(_Label((16, (top + bottom) / 2), y_label + (" (log scale)" if up.log else ""), upright=True))


def _add_legend(chart: _Chart, series: Sequence[Series], width: int) -> int:
    """Add a sample and the name of each line, row by row; return the height. A single line needs no legend."""
    if len(series) == 1:
        return 0
    x, y = 24.0, 42.0
    for number, one in enumerate(series):
        room = 44 + _length(one.label)
        if x > 24 and x + room > width - 18:
            x, y = 24.0, y + 18
        colour, dashes = _look(number)
        chart.strokes.append(_Stroke(((x, y - 4), (x + 24, y - 4)), colour, 2.0, dashes))
        chart.labels.append(_Label((x + 30, y), one.label, "start"))
        x += room
    return int(y) - 24


def _pieces(one: Series, across: Axis, up: Axis, box: Box) -> list[tuple[Point, ...]]:
    """Place the points in the box; the line is interrupted where a value is not finite."""
    left, top, right, bottom = box
    pieces: list[list[Point]] = [[]]
    for x, y in zip(one.x, one.y, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            place = (left + across.place(x) * (right - left), bottom - up.place(y) * (bottom - top))
            pieces[-1].append(place)
        elif pieces[-1]:
            pieces.append([])
    return [tuple(piece) for piece in pieces if piece]


def _look(number: int) -> tuple[str, tuple[float, ...]]:
    return COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]


def _length(text: str) -> float:
    return float(font_of(_Label.size).getlength(text))


def _description(series: Sequence[Series], title: str) -> str:
    """Describe the chart for screen readers."""
    ends = "; ".join(f"{one.label} goes from {one.y[0]:.6g} to {one.y[-1]:.6g}" for one in series)
    return f"Line chart. {title}. {ends}."


def _draw_stroke(pen: ImageDraw.ImageDraw, stroke: _Stroke, fine: int) -> None:
    colour = _GRID if stroke.faint else _BLACK if stroke.colour == INK else stroke.colour
    points = [(x * fine, y * fine) for x, y in stroke.points]
    for piece in _dashed(points, [length * fine for length in stroke.dashes]):
        pen.line(piece, fill=colour, width=round(stroke.width * fine), joint="curve")
    for x, y in points if stroke.dots else []:
        pen.ellipse((x - 3 * fine, y - 3 * fine, x + 3 * fine, y + 3 * fine), fill=colour)


def _dashed(points: list[Point], lengths: list[float]) -> list[list[Point]]:
    """Cut a line into dashes. `lengths` are those of dash, gap, dash, ..., repeated."""
    if not lengths:
        return [points]
    dashes, number, left = [[points[0]]], 0, lengths[0]
    for (x0, y0), (x1, y1) in pairwise(points):
        whole = math.hypot(x1 - x0, y1 - y0)
        gone = 0.0
        while whole - gone > left:
            gone += left
            here = (x0 + (x1 - x0) * gone / whole, y0 + (y1 - y0) * gone / whole)
            if number % 2 == 0:
                dashes[-1].append(here)
            else:
                dashes.append([here])
            number += 1
            left = lengths[number % len(lengths)]
        left -= whole - gone
        if number % 2 == 0:
            dashes[-1].append((x1, y1))
    return [dash for dash in dashes if len(dash) > 1]


def _draw_label(paper: Image.Image, label: _Label, scale: int) -> None:
    font = font_of(label.size * scale)
    x, y = label.at[0] * scale, label.at[1] * scale
    if not label.upright:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[label.anchor]
        ImageDraw.Draw(paper).text((x, y), label.text, fill=_BLACK, font=font, anchor=anchor)
        return
    base = 1.4 * label.size * scale  # from the upper edge of the strip to the baseline
    size = (math.ceil(font.getlength(label.text)) + 4, 2 * label.size * scale)
    strip = Image.new("RGB", size, "white")
    ImageDraw.Draw(strip).text((size[0] / 2, base), label.text, fill=_BLACK, font=font, anchor="ms")
    turned = strip.rotate(90, expand=True)
    paper.paste(turned, (round(x - base), round(y - turned.height / 2)))
