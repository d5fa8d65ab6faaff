"""A noise model in words, and as plain values."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from epitomes.noise.planes import Floats

if TYPE_CHECKING:
    from epitomes.noise.block_spectrum import BlockSpectrum
    from epitomes.noise.model import Noise

MAX_LISTED = 4  # values per channel that are listed in words
MAX_VALUES = 64  # in an array that is listed as plain values


def in_words(noise: Noise) -> str:
    """The noise in one line."""
    if noise.level == 0:
        return "no noise"
    interval = "" if noise.interval is None else f" (90 % interval {_span(*noise.interval)})"
    if not noise.gain.any():
        kind = "Rician" if noise.magnitude else "Gaussian" if noise.is_white else "correlated Gaussian"
        varying = "" if noise.blocks is None or len(noise.blocks.level) == 1 else f", {_varying(noise.blocks.level)}"
        return f"{kind}, sigma {_values(noise.sigma)}{varying}{interval}"
    gain = "" if noise.gain_interval is None else f" (90 % interval {_span(*noise.gain_interval)})"
    return (
        f"Poisson-Gaussian, gain {_values(noise.gain)}{gain}, offset {_values(noise.offset)}, "
        f"read noise {_values(noise.sigma)}"
    )


def in_values(noise: Noise) -> dict[str, Any]:
    """The noise as values for JSON; large arrays are replaced by their shapes."""
    arrays = {name: getattr(noise, name) for name in ("sigma", "gain", "offset", "brightness", "spectrum")}
    return {
        "model": "rician" if noise.magnitude else "poisson-gaussian" if noise.gain.any() else "gaussian",
        "level": noise.level,
        **{name: None if value is None else _listed(value) for name, value in arrays.items()},
        "blocks": None if noise.blocks is None else _shape_of(noise.blocks),
        "interval": None if noise.interval is None else list(noise.interval),
        "gain_interval": finite_ends(noise.gain_interval),
        "estimated": noise.estimated,
        "reliable": noise.reliable,
        "doubts": list(noise.doubts),
        "doubt_kinds": list(noise.doubt_kinds),
        "correlation": None if noise.correlation is None else dataclasses.asdict(noise.correlation),
        "parts": [in_values(part) for part in noise.parts],
    }


def finite_ends(interval: tuple[float, float] | None) -> list[float | None] | None:
    """An interval as a list, None for an infinite end: JSON has no infinity."""
    return None if interval is None else [end if math.isfinite(end) else None for end in interval]


def _shape_of(blocks: BlockSpectrum) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(blocks))
    return {name: _listed(getattr(blocks, name)) for name in names}


def _listed(values: Floats) -> Any:
    return values.tolist() if values.size <= MAX_VALUES else {"shape": list(values.shape)}


def _values(values: Floats) -> str:
    if values.size == 1 or (values.ndim == 1 and np.ptp(values) <= 1e-9 * np.abs(values).max()):
        return f"{values.flat[0]:.4g}"
    if values.ndim == 1 and values.size <= MAX_LISTED:
        *first, last = (f"{value:.4g}" for value in values)
        return f"{', '.join(first)} and {last} per channel"
    where = "per channel" if values.ndim == 1 else f"array of shape {values.shape}"
    return f"{_span(values.min(), values.max())} ({where})"


def _varying(levels: Floats) -> str:
    return f"{levels.min():.2g} to {levels.max():.2g} times that, depending on brightness"


def _span(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"
