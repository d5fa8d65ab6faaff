"""Noise profiles: noise models as small JSON files, checked when they are read."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from epitomes.files import write_atomically
from epitomes.noise.correlation import NoiseCorrelation
from epitomes.noise.describe import finite_ends
from epitomes.noise.model import Noise

FORMAT = "epitomes noise"
VERSION = 1
MAX_VALUES = 2**16  # in an array
MAX_BYTES = 2**26  # of a file: far more than any profile needs
ARRAYS = ("sigma", "gain", "offset", "brightness", "spectrum")
FIELDS = {field.name for field in dataclasses.fields(Noise)}


def write_profile(noise: Noise, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write `noise` to a new file, whole or not at all."""
    values = {"format": FORMAT, "version": VERSION, **values_of_noise(noise)}
    text = json.dumps(values, indent=1, allow_nan=False) + "\n"
    write_atomically(Path(path), text.encode(), overwrite=overwrite)


def read_profile(path: str | os.PathLike[str]) -> Noise:
    """Read a file that `write_profile` wrote."""
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    try:
        if len(content) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        values = json.loads(content)
        if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
            raise ValueError('it lacks "format": "epitomes noise"')
        if (version := values.pop("version", None)) != VERSION:
            raise ValueError(f"its version is {version!r}, and this library reads version {VERSION}")
        return noise_from(values)
    except (ValueError, TypeError, RecursionError) as error:  # JSON and Unicode errors are ValueErrors
        raise ValueError(f"{path} is not a noise profile: {error}; write one with Noise.save") from None


def values_of_noise(noise: Noise) -> dict[str, Any]:
    """The noise as plain values for JSON, of which `noise_from` makes it again."""
    values: dict[str, Any] = {}
    for name in ARRAYS:
        array = getattr(noise, name)
        if array is not None and array.size > MAX_VALUES:
            raise ValueError(
                f"{name} has {array.size} values, and a noise profile holds at most {MAX_VALUES}: save the array with "
                "numpy.save, and build the noise from it again"
            )
        values[name] = None if array is None else array.tolist()
    return {
        **values,
        "interval": None if noise.interval is None else list(noise.interval),
        "gain_interval": finite_ends(noise.gain_interval),
        "doubts": list(noise.doubts),
        "doubt_kinds": list(noise.doubt_kinds),
        "estimated": noise.estimated,
        "correlation": None if noise.correlation is None else dataclasses.asdict(noise.correlation),
        "parts": [values_of_noise(part) for part in noise.parts],
    }


def noise_from(values: Any) -> Noise:
    """The noise from JSON values; every field is checked."""
    if not isinstance(values, dict) or set(values) != FIELDS:
        names = set(values) if isinstance(values, dict) else set()
        raise ValueError(f"missing fields {sorted(FIELDS - names)}, unknown fields {sorted(names - FIELDS)}")
    arrays: dict[str, Any] = {
        name: None if values[name] is None and name in ("brightness", "spectrum") else _array(name, values[name])
        for name in ARRAYS
    }
    parts, estimated = values["parts"], values["estimated"]
    if not isinstance(parts, list) or not isinstance(estimated, bool):
        raise ValueError("parts must be a list, and estimated true or false")
    return Noise(
        **arrays,
        interval=_interval("interval", values["interval"]),
        gain_interval=_interval("gain_interval", values["gain_interval"]),
        doubts=_strings("doubts", values["doubts"]),
        doubt_kinds=_strings("doubt_kinds", values["doubt_kinds"]),
        estimated=estimated,
        correlation=_correlation(values["correlation"]),
        parts=tuple(map(noise_from, parts)),
    )


def _array(name: str, value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.size > MAX_VALUES:
        raise ValueError(f"{name} must be a number or a list of numbers, at most {MAX_VALUES}")
    return array


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name} must be a list of strings")
    return tuple(value)


def _interval(name: str, value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    ends = [math.inf if end is None else end for end in value] if isinstance(value, list) else []
    if len(ends) != 2 or not all(isinstance(end, (int, float)) for end in ends) or not 0 <= ends[0] <= ends[1]:
        raise ValueError(f"{name} must be two numbers in order, got {value!r}")
    return float(ends[0]), float(ends[1])


def _correlation(value: Any) -> NoiseCorrelation | None:
    if value is None:
        return None
    kinds = {"across": float, "down": float, "largest": float, "jpeg": bool, "demosaicked": bool, "warning": str}
    if not isinstance(value, dict) or set(value) != set(kinds):
        raise ValueError(f"correlation must have the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        allowed = (int, float) if kind is float else kind
        if not isinstance(value[name], allowed):
            raise ValueError(f"correlation: {name} must be of type {kind.__name__}, got {value[name]!r}")
    return NoiseCorrelation(**value)
