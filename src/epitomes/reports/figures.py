"""The numbers of a report as plain values: one JSON object for programs, tables for people."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from epitomes.draw import Table
from epitomes.epitome import Epitome
from epitomes.reports.pictures import Album
from epitomes.reports.story import Story
from epitomes.reports.usage import Usage

VERSION = 1  # of the layout of these figures
LONGEST = 64  # values of an array that is told in full

WORDS = {  # what numbers of the other parts mean, for people
    "sigma": "noise level sigma",
    "low": "90 % interval, low end",
    "high": "90 % interval, high end",
    "gain_low": "90 % interval of the gain, low end",
    "gain_high": "90 % interval of the gain, high end",
    "variance": "variance of what was taken away, over that of the noise",
    "taken": "the same, over what a plain filter would take",
    "taken_fine": "the same, for the finest detail",
    "edges": "variance at the edges, over that of the noise",
    "autocorrelation": "correlation of neighbours 1, 2, 3 and 4 pixels apart",
    "spectrum": "power from low to high frequencies, over that of noise",
    "image_correlation": "correlation with the detail of the image",
    "gradient_correlation": "correlation of its square with edges",
    "leak": "share of pixels with structure around them",
    "clipped": "share of pixels left out, where noise was cut off",
    "mse": "estimated mean squared error",
    "error": "standard deviation of this estimate",
    "psnr": "estimated PSNR, dB",
    "interval": "90 % interval of the PSNR, dB",
    "divergence": "share of the noise that is kept",
    "residual": "mean square of what was taken away",
    "peak": "value of white that the PSNR refers to",
    "level": "share of pixels whose interval holds the truth, about",
    "std_mean": "estimated error of a pixel, mean",
    "std_quantiles": "estimated error of a pixel, quantile",
}


def figures(story: Story, album: Album | None, used: Usage | None) -> dict[str, Any]:
    """All numbers of the page; `album` says how the pictures are shown."""
    residual = story.before - story.after
    epitome: Epitome | None = story.restored.epitome
    fit = story.restored.fit
    found = {
        "format": "epitomes report",
        "version": VERSION,
        "library": version("epitomes"),
        "name": story.name,
        "shape": story.noisy.shape,
        "dtype": str(story.noisy.dtype),
        "command": story.command,
        "settings": story.settings,
        "notes": story.notes,
        "seconds": seconds(story),
        "sigma": story.sigma if np.ndim(story.sigma) == 0 or np.size(story.sigma) <= 4 else story.level,
        "noise": story.noise,
        "residual": {"mean": float(residual.mean()), "deviation": float(residual.std())},
        "audit": story.audit,
        "sure": story.sure,
        "error": story.error,
        "atoms_per_patch": story.restored.nonzeros,
        "epitome": None
        if epitome is None
        else {
            "shape": epitome.phi.epitome_shape,
            "patch": epitome.phi.patch_shape,
            "atoms": epitome.phi.n_atoms,
        },
        "learning": None if fit is None else {"reason": fit.reason, "steps": fit.history},
        "picture": None if album is None else {"factor": album.factor, "black": album.low, "white": album.high},
        "usage": used,
    }
    values: dict[str, Any] = plain(found)
    return values


def seconds(story: Story) -> Mapping[str, float]:
    """What took how long; if nobody says, the restoration as a whole."""
    return story.seconds or {"restoring": story.restored.seconds}


def plain(value: object) -> Any:
    """A value as JSON knows them. Numbers that are not finite become None, long arrays their shape."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case np.generic():
            return plain(value.item())
        case np.ndarray():
            return plain(value.tolist()) if value.size <= LONGEST else {"shape": list(value.shape)}
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case Sequence():
            return [plain(one) for one in value]
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return str(value)


def as_json(values: dict[str, Any]) -> str:
    """JSON that stays inside a script element, whatever the strings in it say."""
    text = json.dumps(values, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def table(caption: str, values: Mapping[str, Any], *, without: Sequence[str] = ()) -> Table:
    """Plain values as a table of two columns; nested ones get longer names, empty ones are left out."""
    rows = [(words(name), cell(value)) for name, value in _flat(values) if name not in without]
    return Table(caption, ("quantity", "value"), [row for row in rows if row[1]])


def words(name: str) -> str:
    """The name of a number, for people."""
    first, _, rest = name.partition(" ")
    return f"{WORDS.get(first, first.replace('_', ' '))} {rest}".strip()


def cell(value: Any) -> str:
    """A plain value, for people."""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
        case list():
            sign = " x " if all(isinstance(one, int) for one in value) else " to " if len(value) == 2 else ", "
            return sign.join(cell(one) or "unknown" for one in value)
        case None:
            return ""
    return str(value)


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [(f"{name} {inner}", one) for inner, one in _flat(value)]
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            found += _flat({f"{name} {number}": one for number, one in enumerate(value)})
        else:
            found.append((name, value))
    return found
