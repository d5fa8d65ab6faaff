"""Sheets: panels side by side with captions, as in the figures of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from epitomes.draw.tones import Bytes

TEXT = 14  # height of the letters in pixels
GAP = 12


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture in uint8, `(height, width)` or `(height, width, 3)`, and its caption."""

    caption: str
    pixels: Bytes


def sheet(panels: Sequence[Panel], *, columns: int | None = None) -> Bytes:
    """Arrange panels in rows of `columns`, by default in one row, with captions above them.

    The sheet is grey if all panels are, otherwise RGB. Captions wider than their panel are wrapped.
    """
    if not panels:
        raise ValueError("a sheet needs at least one panel")
    for panel in panels:
        if panel.pixels.dtype != np.uint8 or panel.pixels.shape[2:] not in ((), (3,)):
            raise ValueError(
                f"panel {panel.caption!r} must be uint8 and (height, width[, 3]), got {panel.pixels.dtype} "
                f"{panel.pixels.shape}: make it with draw.shown or draw.epitome_picture"
            )
    across = min(columns or len(panels), len(panels))
    rows = [panels[first : first + across] for first in range(0, len(panels), across)]
    colour = any(panel.pixels.ndim == 3 for panel in panels)
    font = font_of(TEXT)
    widths = [max(row[i].pixels.shape[1] for row in rows if i < len(row)) for i in range(across)]
    captions = [[_wrapped(p.caption, font, widths[i]) for i, p in enumerate(row)] for row in rows]
    line = TEXT + 4
    heads = [line * max(len(lines) for lines in row) for row in captions]
    tall = [max(panel.pixels.shape[0] for panel in row) for row in rows]
    size = (sum(widths) + GAP * (across + 1), sum(heads) + sum(tall) + GAP * (len(rows) + 1) + 4 * len(rows))
    paper = Image.new("RGB" if colour else "L", size, "white")
    pen = ImageDraw.Draw(paper)
    top = GAP
    for row, lines_of, head, height in zip(rows, captions, heads, tall, strict=True):
        left = GAP
        for panel, lines, width in zip(row, lines_of, widths, strict=False):
            for number, words in enumerate(lines):
                pen.text((left, top + number * line), words, fill="black", font=font)
            paper.paste(Image.fromarray(np.ascontiguousarray(panel.pixels)), (left, top + head + 4))
            left += width + GAP
        top += head + height + GAP + 4
    return np.asarray(paper)


def font_of(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Load the font that comes with Pillow: it is the same on every machine."""
    return ImageFont.load_default(size)


def _wrapped(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
