"""The numbers of a report: one object of plain values for programs, and tables for people."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from epitomes.draw import Table
from epitomes.reports.data import ReportData
from epitomes.reports.summary import Summary, estimate_gain, number
from epitomes.reports.usage import Usage

VERSION = 1  # of the layout of these figures
LONGEST = 64  # entries of an array that is listed in full; of a longer one the shape is given

# What the numbers of each table are called.
NOISE = {
    "level": "Level, the root mean square over all pixels",
    "sigma": "Standard deviation, or read noise if there is a gain",
    "gain": "Gain, variance per unit of brightness",
    "offset": "Brightness without light",
    "brightness": "Mean brightness",
    "interval": "90 % interval of the level",
    "gain_interval": "90 % interval of the gain",
    "estimated": "Estimated from the image",
    "reliable": "Reliable",
    "low": "90 % interval, lower end",
    "high": "90 % interval, upper end",
    "gain_low": "90 % interval of the gain, lower end",
    "gain_high": "90 % interval of the gain, upper end",
}
SURE = {
    "mse": "Mean squared error",
    "error": "Standard error of the mean squared error",
    "psnr": "PSNR, dB",
    "interval": "90 % interval of the PSNR, dB",
    "divergence": "Share of the noise that remains",
    "residual": "Mean square of the residual",
    "clipped": "Share of clipped pixels, left out",
    "peak": "Peak value of the PSNR",
    "probes": "Number of probes",
}
AUDIT = {
    "variance": "Variance of the residual / variance of the noise",
    "taken": "Variance of the residual / what a Wiener filter would remove",
    "taken_fine": "Same, for the finest diagonal detail",
    "edges": "Variance of the residual at edges / variance of the noise",
    "autocorrelation": "Autocorrelation of the residual at lags 1 to 4",
    "spectrum": "Power spectrum of the residual / that of the noise, low to high frequencies",
    "image_correlation": "Correlation of the residual with image detail",
    "gradient_correlation": "Correlation of the squared residual with edge strength",
    "leak": "Share of pixels with structure in the residual",
    "clipped": "Share of clipped pixels, left out",
    "unchanged": "Image returned as it was",
}
ERROR = {
    "level": "Coverage of the intervals",
    "std_mean": "Standard deviation of the error, mean over pixels",
    "std_quantiles": "Standard deviation of the error, quantile",
}
FLICKER = {
    "noisy": "Noisy planes",
    "restored": "Denoised planes",
    "share": "Denoised / noisy",
    "still": "Share of the blocks that are still",
}
IMAGE = {
    "dtype": "Data type",
    "sigma": "Noise level",
    "atoms_per_patch": "Atoms per patch",
    "residual mean": "Mean of the residual",
    "residual deviation": "Standard deviation of the residual",
    "epitome shape": "Size of the epitome",
    "epitome patch": "Size of a patch",
    "epitome atoms": "Number of atoms",
    "library": "Version of epitomes",
}
SETTINGS = {"lam": "Regularisation parameter lambda", "seed": "Seed of the random numbers", "rng": "Seed"}


def figures(data: ReportData, summary: Summary, used: Usage | None) -> dict[str, Any]:
    """Collect the numbers of the page as plain values."""
    residual = data.before - data.after
    phi = None if data.epitome is None else data.epitome.phi
    found = {
        "format": "epitomes report",
        "version": VERSION,
        "library": version("epitomes"),
        "name": data.name,
        "verdict": summary.kind,
        "doubts": summary.doubts,
        "shape": data.noisy.shape,
        "dtype": str(data.noisy.dtype),
        "command": data.command,
        "settings": data.settings,
        "plan": data.plan,
        "notes": data.notes,
        "seconds": data.seconds,
        "sigma": data.sigma if np.ndim(data.sigma) == 0 or np.size(data.sigma) <= 4 else data.level,
        "noise": data.noise,
        "residual": {"mean": float(residual.mean()), "deviation": float(residual.std())},
        "audit": data.audit,
        "sure": data.sure,
        "gain": estimate_gain(data),
        "error": data.error,
        "atoms_per_patch": data.atoms_per_patch,
        "epitome": phi and {"shape": phi.epitome_shape, "patch": phi.patch_shape, "atoms": phi.n_atoms},
        "learning": data.fit and {"reason": data.fit.reason, "steps": data.fit.history},
        "usage": used,
        "volume": data.volume and {"shape": data.volume.noisy.shape, "clip": data.volume.clip},
        "flicker": data.flicker,
    }
    values: dict[str, Any] = plain(found)
    return values


def plain(value: object) -> Any:
    """Convert a value for JSON. Numbers that are not finite become None, long arrays their shape."""
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


def evidence_tables(numbers: Mapping[str, Any]) -> list[Table]:
    """Tabulate what was estimated and measured."""
    noise, sure, error, audit = (numbers[name] or {} for name in ("noise", "sure", "error", "audit"))
    tables = [
        table("Noise", _without(noise, "doubts", "parts"), NOISE),
        table("Error, estimated without the clean image (SURE)", sure, SURE),
        table("Error of the pixels, estimated", _without(error, "sure"), ERROR),
        table(
            "Change from plane to plane in still areas (flicker), root mean square", numbers["flicker"] or {}, FLICKER
        ),
        table(
            "Audit of the residual", _without(audit, "verdict", "reasons", "reason_kinds", "advice", "flicker"), AUDIT
        ),
    ]
    return [one for one in tables if one.rows]


def setting_tables(numbers: Mapping[str, Any]) -> list[Table]:
    """Tabulate the settings, the time, the image and the epitome."""
    names = ("shape", "dtype", "sigma", "atoms_per_patch", "residual", "epitome", "library")
    tables = [
        table("Settings", numbers["settings"], SETTINGS),
        table("Time in seconds", numbers["seconds"], {}),
        table("Image and epitome", {name: numbers[name] for name in names}, IMAGE),
    ]
    return [one for one in tables if one.rows]


def table(caption: str, values: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """Tabulate plain values in two columns. `names` translates keys, nested keys are joined, empty values left out."""
    rows = [(named(key, names), cell(value)) for key, value in _flat(values)]
    return Table(caption, ("Quantity", "Value"), [row for row in rows if row[1]])


def named(key: str, names: Mapping[str, str]) -> str:
    """Name a number: by the whole key, by its first word, or by the key itself."""
    if key in names:
        return names[key]
    first, _, rest = key.partition(" ")
    words = f"{names.get(first, first.replace('_', ' '))} {rest}".strip()
    return f"{words[:1].upper()}{words[1:]}"


def cell(value: Any) -> str:
    """Format a plain value for people."""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return number(value)
        case list():
            sign = " x " if all(isinstance(one, int) for one in value) else " to " if len(value) == 2 else ", "
            return sign.join(cell(one) or "unknown" for one in value)
        case None:
            return ""
    return str(value)


def _without(values: Mapping[str, Any], *left_out: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in left_out}


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [(f"{name} {inner}", one) for inner, one in _flat(value)]
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            found += _flat({f"{name} {place}": one for place, one in enumerate(value)})
        else:
            found.append((name, value))
    return found
