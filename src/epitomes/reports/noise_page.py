"""A page about the noise of an image: its level over brightness, its spectrum and its correlation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epitomes.draw import Series, Table, page, svg_curve
from epitomes.files import write_atomically
from epitomes.noise import Noise
from epitomes.noise.survey import LAGS, Survey

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 480, 300  # pixels of a chart


@dataclass(frozen=True)
class Channel:
    """The charts of one channel."""

    title: str
    level: Markup
    spectrum: Markup | None
    correlation: Markup | None


def write_noise_page(
    path: str | os.PathLike[str],
    noise: Noise,
    surveys: Sequence[Survey],
    *,
    name: str,
    command: str = "",
    overwrite: bool = False,
) -> None:
    """Write the page to a new file, whole or not at all."""
    content = noise_html(noise, surveys, name=name, command=command).encode("utf-8", "replace")
    write_atomically(Path(path), content, overwrite=overwrite)


def noise_html(noise: Noise, surveys: Sequence[Survey], *, name: str, command: str = "") -> str:
    """Make the page."""
    values = {
        "name": name,
        "model": noise.describe(),
        "doubts": noise.doubts,
        "levels": _levels(noise, surveys),
        "channels": [_charts(each) for each in surveys],
        "line": command,
    }
    return page("noise.html", values)


def _levels(noise: Noise, surveys: Sequence[Survey]) -> Table:
    rows = [
        [each.name or "image", *_interval(each.noise), each.noise.describe()]
        for each in surveys
        if len(surveys) > 1 or not each.name
    ]
    if len(surveys) > 1:
        rows.insert(0, ["all channels", *_interval(noise), noise.describe()])
    return Table("Level of the noise, with its 90 % interval", ("", "level", "from", "to", "model"), rows)


def _interval(noise: Noise) -> tuple[str, str, str]:
    ends = ("–", "–") if noise.interval is None else (f"{noise.interval[0]:.4g}", f"{noise.interval[1]:.4g}")
    return f"{noise.level:.4g}", *ends


def _charts(found: Survey) -> Channel:
    lines = [Series("model", found.model_brightness.tolist(), found.model_level.tolist())]
    if found.brightness.size:
        lines.append(Series("measured", found.brightness.tolist(), found.level.tolist()))
    level = _chart(lines, "Level over brightness", "brightness", "level", (0.0,))
    title = f"{found.name[:1].upper()}{found.name[1:]}" if found.name else "What was measured"
    if not found.frequency.size:
        return Channel(title, level, None, None)
    lags = list(range(1, LAGS + 1))
    power = [
        Series("measured", found.frequency.tolist(), found.power.tolist()),
        Series("white noise", [0.0, 0.5], [1.0, 1.0]),
    ]
    beside = [
        Series("across", lags, found.across.tolist()),
        Series("down", lags, found.down.tolist()),
        Series("white noise", [1, LAGS], [0.0, 0.0]),
    ]
    return Channel(
        title,
        level,
        _chart(power, "Spectrum", "cycles per pixel", "power", (0.0, 2.0)),
        _chart(beside, "Correlation", "distance in pixels", "correlation", (-0.2, 1.0)),
    )


def _chart(lines: Sequence[Series], title: str, x_label: str, y_label: str, include_y: Sequence[float]) -> Markup:
    return svg_curve(
        lines, title=title, x_label=x_label, y_label=y_label, include_y=include_y, width=WIDTH, height=HEIGHT
    )
