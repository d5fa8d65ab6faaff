"""Units of spacing: one short spelling for each, and conversion between units of length and of time."""

from __future__ import annotations

_LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "pm": 1e-12, "km": 1e3, "in": 0.0254, "Å": 1e-10}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}

_SPELLINGS = {
    **dict.fromkeys(("µm", "μm", "\\u00B5m", "micron", "microns", "micrometer", "micrometre", "uM"), "um"),
    **dict.fromkeys(("meter", "metre"), "m"),
    **dict.fromkeys(("millimeter", "millimetre"), "mm"),
    **dict.fromkeys(("centimeter", "centimetre"), "cm"),
    **dict.fromkeys(("nanometer", "nanometre"), "nm"),
    **dict.fromkeys(("picometer", "picometre"), "pm"),
    **dict.fromkeys(("kilometer", "kilometre"), "km"),
    **dict.fromkeys(("inch", "inches"), "in"),
    **dict.fromkeys(("angstrom", "Angstrom"), "Å"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond"), "ms"),
    **dict.fromkeys(("usec", "microsecond", "µs", "μs"), "us"),
    **dict.fromkeys(("nanosecond",), "ns"),
    **dict.fromkeys(("minute",), "min"),
    **dict.fromkeys(("hour",), "h"),
    **dict.fromkeys(("degree", "degrees"), "deg"),
    **dict.fromkeys(("pixel", "pixels", "unknown"), ""),
}

FULL_NAMES = {  # spelling of OME-Zarr
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "um": "micrometer",
    "nm": "nanometer",
    "pm": "picometer",
    "km": "kilometer",
    "in": "inch",
    "Å": "angstrom",
    "s": "second",
    "ms": "millisecond",
    "us": "microsecond",
    "ns": "nanosecond",
    "min": "minute",
    "h": "hour",
}


def short(unit: str) -> str:
    """Return the short spelling of a unit; unknown units are returned unchanged.

    >>> short("micrometer"), short("sec"), short("pixel"), short("deg")
    ('um', 's', '', 'deg')
    """
    return _SPELLINGS.get(unit.strip(), unit.strip())


def is_length(unit: str) -> bool:
    """Return whether it is a known unit of length."""
    return unit in _LENGTHS


def is_time(unit: str) -> bool:
    """Return whether it is a known unit of time."""
    return unit in _TIMES


def converted(step: float, unit: str, goal: str) -> float | None:
    """Convert a distance to another unit; return None if the units do not measure the same quantity.

    >>> converted(0.5, "um", "mm"), converted(1, "s", "mm"), converted(2.5, "mm", "mm")
    (0.0005, None, 2.5)
    """
    if unit == goal:
        return step
    for scale in (_LENGTHS, _TIMES):
        if unit in scale and goal in scale:
            return step * (scale[unit] / scale[goal])
    return None
