"""Noise profiles: noise models as small JSON files, checked when they are read."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.files import write_atomically
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.correlation import NoiseCorrelation
from epitomes.noise.describe import finite_ends
from epitomes.noise.model import Noise

FORMAT = "epitomes noise"
VERSION = 1
MAX_VALUES = 2**16  # in an array
MAX_BYTES = 2**26  # of a file: far more than any profile needs
ARRAYS = ("sigma", "gain", "offset", "brightness", "spectrum")
BLOCKS = tuple(field.name for field in dataclasses.fields(BlockSpectrum))
FIELDS = {field.name for field in dataclasses.fields(Noise)}


@dataclass(frozen=True)
class Origin:
    """The kind of image that noise was measured on: its units are those of the noise."""

    dtype: str | None = None  # None: any
    n_channels: int | None = None  # 1 without an axis of channels; None: any number

    @classmethod
    def of(cls, pixels: NDArray[Any], channel_axis: int | None) -> Origin:
        return cls(str(pixels.dtype), 1 if channel_axis is None else pixels.shape[channel_axis])

    @classmethod
    def implied(cls, noise: Noise) -> Origin:
        """What the noise alone says: whether it is that of several channels."""
        if noise.blocks is not None:
            return cls(None, noise.blocks.n_channels)
        return cls(None, noise.sigma.size if noise.sigma.ndim == 1 else None)

    def fits(self, other: Origin) -> bool:
        """Whether noise of this origin describes that of the other; floats of different precision are alike."""
        same_units = None in (self.dtype, other.dtype) or _units(self.dtype) == _units(other.dtype)
        return same_units and (None in (self.n_channels, other.n_channels) or self.n_channels == other.n_channels)

    def __str__(self) -> str:
        channels = (
            "" if self.n_channels is None else "1 channel" if self.n_channels == 1 else f"{self.n_channels} channels"
        )
        return " with ".join(word for word in (self.dtype, channels) if word)


def _units(dtype: str | None) -> str | None:
    return "float" if dtype in ("float16", "float32", "float64") else dtype


def write_profile(noise: Noise, path: str | os.PathLike[str], *, overwrite: bool, origin: Origin | None = None) -> None:
    """Write `noise` to a new file, whole or not at all; with its origin if that is known."""
    known = {} if origin is None else {"origin": dataclasses.asdict(origin)}
    values = {"format": FORMAT, "version": VERSION, **known, **values_of_noise(noise)}
    text = json.dumps(values, indent=1, allow_nan=False) + "\n"
    write_atomically(Path(path), text.encode(), overwrite=overwrite)


def read_profile(path: str | os.PathLike[str]) -> Noise:
    """Read the noise from a file that `write_profile` wrote."""
    return read_with_origin(path)[0]


def read_with_origin(path: str | os.PathLike[str]) -> tuple[Noise, Origin]:
    """The same with what the noise was measured on."""
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
        origin = _origin(values.pop("origin", None))
        noise = noise_from(values)
        return noise, Origin.implied(noise) if origin is None else origin
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
        "blocks": None if noise.blocks is None else {name: getattr(noise.blocks, name).tolist() for name in BLOCKS},
        "interval": None if noise.interval is None else list(noise.interval),
        "gain_interval": finite_ends(noise.gain_interval),
        "doubts": list(noise.doubts),
        "doubt_kinds": list(noise.doubt_kinds),
        "estimated": noise.estimated,
        "magnitude": noise.magnitude,
        "correlation": None if noise.correlation is None else dataclasses.asdict(noise.correlation),
        "parts": [values_of_noise(part) for part in noise.parts],
    }


def noise_from(values: Any) -> Noise:
    """The noise from JSON values; every field is checked. Older profiles have no magnitudes."""
    values = {"magnitude": False, **values} if isinstance(values, dict) else values
    if not isinstance(values, dict) or set(values) != FIELDS:
        names = set(values) if isinstance(values, dict) else set()
        raise ValueError(f"missing fields {sorted(FIELDS - names)}, unknown fields {sorted(names - FIELDS)}")
    arrays: dict[str, Any] = {
        name: None if values[name] is None and name in ("brightness", "spectrum") else _array(name, values[name])
        for name in ARRAYS
    }
    parts, estimated, magnitude = values["parts"], values["estimated"], values["magnitude"]
    if not isinstance(parts, list) or not isinstance(estimated, bool):
        raise ValueError("parts must be a list, and estimated true or false")
    if not isinstance(magnitude, bool):
        raise ValueError("magnitude must be true or false")
    return Noise(
        **arrays,
        blocks=_blocks(values["blocks"]),
        interval=_interval("interval", values["interval"]),
        gain_interval=_interval("gain_interval", values["gain_interval"]),
        doubts=_strings("doubts", values["doubts"]),
        doubt_kinds=_strings("doubt_kinds", values["doubt_kinds"]),
        estimated=estimated,
        magnitude=magnitude,
        correlation=_correlation(values["correlation"]),
        parts=tuple(map(noise_from, parts)),
    )


def _origin(value: Any) -> Origin | None:
    if value is None:
        return None
    names = [field.name for field in dataclasses.fields(Origin)]
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"origin must have the fields {' and '.join(names)}")
    dtype, n_channels = (value[name] for name in names)
    if not isinstance(dtype, str | None) or not isinstance(n_channels, int | None):
        raise ValueError(
            f"origin must be the name of a dtype and a number of channels, got {dtype!r} and {n_channels!r}"
        )
    return Origin(dtype, n_channels)


def _array(name: str, value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.size > MAX_VALUES:
        raise ValueError(f"{name} must be a number or a list of numbers, at most {MAX_VALUES}")
    return array


def _blocks(value: Any) -> BlockSpectrum | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != set(BLOCKS):
        raise ValueError(f"blocks must have the fields {', '.join(BLOCKS)}")
    return BlockSpectrum(**{name: _array(name, value[name]) for name in BLOCKS})


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
