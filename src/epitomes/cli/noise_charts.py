"""The charts of `epitomes noise` in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from epitomes.draw.terminal import bars, chart
from epitomes.noise.survey import Survey

MOST = 4  # channels that are drawn; the page has all of them


def charts(surveys: Sequence[Survey]) -> list[str]:
    """Draw the level over brightness, the spectrum and the correlation of each channel."""
    lines = []
    for found in surveys[:MOST]:
        name = f"{found.name}: " if found.name else ""
        lines += ["", f"  {name}level over brightness (● measured, line: model)"]
        curve, points = (found.model_brightness, found.model_level), (found.brightness, found.level)
        lines += [f"  {line}" for line in chart(curve, points)]
        if found.frequency.size:
            power = bars(found.power.tolist(), max(2.0, float(found.power.max())))
            low, high = float(found.power[0]), float(found.power[-1])
            lines.append(f"  spectrum, low to high: {power}  {low:.2f} to {high:.2f}; 1 is white noise")
            for word, lags in (("across", found.across), ("down", found.down)):
                values = ", ".join(f"{value:+.2f}" for value in lags)
                lines.append(f"  correlation {word}: {bars(abs(lags).tolist(), 1.0)}  {values}")
    return lines
