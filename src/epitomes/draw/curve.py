"""Line charts without a plotting library: SVG for pages, pixels for PNG files, both from one layout.

The layout is a list of strokes and labels. Lines differ in colour and in dashes, so that they can be told apart in
grey print and with any colour vision. The SVG takes its ink from the page around it, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from epitomes.draw._sheet import font_of
from epitomes.draw.axes import Axis, axis
from epitomes.draw.tones import Bytes

Point = tuple[float, float]

INK = "ink"  # the colour of the text: black on paper, the page's own in SVG
FAINT = "faint"  # the grid
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c0579b", "#b07c00", "#3e9bd6")  # apart for all kinds of colour vision
DASHES = ((), (7.0, 4.0), (2.0, 3.0), (10.0, 3.0, 2.0, 3.0))
_BLACK = "#222222"
MOST_MARKED = 40  # points of a line that get a dot each; more would hide the line


@dataclass(frozen=True)
class Series:
    """One line: its name in the legend and its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class _Stroke:
    points: tuple[Point, ...]
    colour: str
    width: float = 1.0
    dashes: tuple[float, ...] = ()
    dots: bool = False


@dataclass(frozen=True)
class _Label:
    at: Point
    text: str
    anchor: str = "middle"  # start, middle, end
    size: int = 12
    upright: bool = False  # read from below, for the vertical axis


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
) -> str:
    """A line chart as SVG that stands alone or within a page, in light and in dark."""
    marks = _layout(series, title, x_label, y_label, log_x, log_y, width, height)
    parts = [
        f'<svg class="epitomes-chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(_in_words(series, title))}">',
        "<style>.epitomes-chart{max-width:100%;height:auto;color:#222;font-family:sans-serif}"
        "@media(prefers-color-scheme:dark){.epitomes-chart{color:#ddd}}"
        "@media print{.epitomes-chart{color:#000}}</style>",
    ]
    for mark in marks:
        parts.append(_svg_stroke(mark) if isinstance(mark, _Stroke) else _svg_label(mark))
    return "\n".join((*parts, "</svg>\n"))


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
    """The same chart as pixels `(height * scale, width * scale, 3)`, black on white."""
    marks = _layout(series, title, x_label, y_label, log_x, log_y, width, height)
    fine = 2 * scale  # strokes are drawn twice as large and reduced: smooth edges
    canvas = Image.new("RGB", (width * fine, height * fine), "white")
    pen = ImageDraw.Draw(canvas)
    for mark in marks:
        if isinstance(mark, _Stroke):
            _draw_stroke(pen, mark, fine)
    paper = canvas.resize((width * scale, height * scale), Image.Resampling.BOX)
    for mark in marks:  # letters at their final size: crisp
        if isinstance(mark, _Label):
            _draw_label(paper, mark, scale)
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
) -> list[_Stroke | _Label]:
    if not series:
        raise ValueError("a chart needs at least one series")
    for one in series:
        if len(one.x) != len(one.y) or not len(one.x):
            raise ValueError(f"series {one.label!r} needs as many y as x, at least one; got {len(one.x)}, {len(one.y)}")
    across = axis([x for one in series for x in one.x], log=log_x, n_ticks=max(2, width // 90))
    up = axis([y for one in series for y in one.y], log=log_y, n_ticks=max(2, height // 55))
    legend, legend_height = _legend(series, width)
    left = 34 + max(_length(label) for label in up.labels)
    top, right, bottom = 34 + legend_height, width - 18, height - 46
    marks: list[_Stroke | _Label] = [_Label((width / 2, 20), title, size=15), *legend]
    marks += _frame(across, up, (left, top, right, bottom), x_label, y_label)
    for number, one in enumerate(series):
        colour, dashes = _look(number)
        for points in _pieces(one, across, up, (left, top, right, bottom)):
            marks.append(_Stroke(points, colour, 2.0, dashes, dots=len(one.x) <= MOST_MARKED))
    return marks


def _frame(
    across: Axis, up: Axis, box: tuple[float, float, float, float], x_label: str, y_label: str
) -> list[_Stroke | _Label]:
    left, top, right, bottom = box
    marks: list[_Stroke | _Label] = []
    for tick, label in zip(across.ticks, across.labels, strict=True):
        x = left + across.place(tick) * (right - left)
        marks.append(_Stroke(((x, top), (x, bottom)), FAINT))
        marks.append(_Stroke(((x, bottom), (x, bottom + 4)), INK))
        marks.append(_Label((x, bottom + 18), label))
    for tick, label in zip(up.ticks, up.labels, strict=True):
        y = bottom - up.place(tick) * (bottom - top)
        marks.append(_Stroke(((left, y), (right, y)), FAINT))
        marks.append(_Stroke(((left - 4, y), (left, y)), INK))
        marks.append(_Label((left - 8, y + 4), label, "end"))
    marks.append(_Stroke(((left, top), (left, bottom), (right, bottom)), INK, 1.2))
    marks.append(_Label(((left + right) / 2, bottom + 38), x_label + (" (log scale)" if across.log else "")))
    marks.append(_Label((16, (top + bottom) / 2), y_label + (" (log scale)" if up.log else ""), upright=True))
    return marks


def _legend(series: Sequence[Series], width: int) -> tuple[list[_Stroke | _Label], int]:
    """Samples of the lines with their names, row by row; and the height they take. One line needs none."""
    if len(series) == 1:
        return [], 0
    marks: list[_Stroke | _Label] = []
    x, y = 24.0, 42.0
    for number, one in enumerate(series):
        room = 44 + _length(one.label)
        if x > 24 and x + room > width - 18:
            x, y = 24.0, y + 18
        colour, dashes = _look(number)
        marks.append(_Stroke(((x, y - 4), (x + 24, y - 4)), colour, 2.0, dashes))
        marks.append(_Label((x + 30, y), one.label, "start"))
        x += room
    return marks, int(y) - 24


def _pieces(one: Series, across: Axis, up: Axis, box: tuple[float, float, float, float]) -> list[tuple[Point, ...]]:
    """The points on paper, cut where a value is not finite."""
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


def _in_words(series: Sequence[Series], title: str) -> str:
    ends = "; ".join(f"{one.label} goes from {one.y[0]:.6g} to {one.y[-1]:.6g}" for one in series)
    return f"Line chart. {title}. {ends}."


def _svg_stroke(mark: _Stroke) -> str:
    ink = {INK: 'stroke="currentColor"', FAINT: 'stroke="currentColor" stroke-opacity="0.15"'}
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)
    dashes = f' stroke-dasharray="{" ".join(f"{d:g}" for d in mark.dashes)}"' if mark.dashes else ""
    colour = ink.get(mark.colour, f'stroke="{mark.colour}"')
    line = f'<polyline points="{points}" fill="none" {colour} stroke-width="{mark.width:g}"{dashes}/>'
    if not mark.dots:
        return line
    return line + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{mark.colour}"/>' for x, y in mark.points)


def _svg_label(mark: _Label) -> str:
    x, y = mark.at
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if mark.upright else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{mark.anchor}"'
    return f'<text {place} font-size="{mark.size}" fill="currentColor"{turn}>{escape(mark.text)}</text>'


def _draw_stroke(pen: ImageDraw.ImageDraw, mark: _Stroke, fine: int) -> None:
    colour = {INK: _BLACK, FAINT: "#dddddd"}.get(mark.colour, mark.colour)
    points = [(x * fine, y * fine) for x, y in mark.points]
    for piece in _dashed(points, [length * fine for length in mark.dashes]):
        pen.line(piece, fill=colour, width=round(mark.width * fine), joint="curve")
    for x, y in points if mark.dots else []:
        pen.ellipse((x - 3 * fine, y - 3 * fine, x + 3 * fine, y + 3 * fine), fill=colour)


def _dashed(points: list[Point], lengths: list[float]) -> list[list[Point]]:
    """The line cut into its dashes: `lengths` are those of dash, gap, dash, ..., over and over."""
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


def _draw_label(paper: Image.Image, mark: _Label, scale: int) -> None:
    font = font_of(mark.size * scale)
    x, y = mark.at[0] * scale, mark.at[1] * scale
    if not mark.upright:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
        ImageDraw.Draw(paper).text((x, y), mark.text, fill=_BLACK, font=font, anchor=anchor)
        return
    base = 1.4 * mark.size * scale  # from the upper edge of the slip to the line the letters stand on
    size = (math.ceil(font.getlength(mark.text)) + 4, 2 * mark.size * scale)
    slip = Image.new("RGB", size, "white")
    ImageDraw.Draw(slip).text((size[0] / 2, base), mark.text, fill=_BLACK, font=font, anchor="ms")
    turned = slip.rotate(90, expand=True)
    paper.paste(turned, (round(x - base), round(y - turned.height / 2)))
