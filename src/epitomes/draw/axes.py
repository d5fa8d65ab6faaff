"""Axes of charts: round tick values, their labels, and the mapping from values to positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: its range, its ticks, and whether it is logarithmic."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool

    def place(self, value: float) -> float:
        """Map a value to its position: 0 at the low end, 1 at the high end."""
        low, high, here = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return (here - low) / (high - low)


def axis(values: Sequence[float], *, log: bool = False, n_ticks: int = 6) -> Axis:
    """Make an axis that contains all values, with about `n_ticks` round ticks."""
    finite = [float(value) for value in values if math.isfinite(value)]
    if not finite:
        raise ValueError("an axis needs at least one finite value")
    if log and min(finite) <= 0:
        raise ValueError(f"a logarithmic axis needs values above 0, got {min(finite)}: leave log out")
    low, high = min(finite), max(finite)
    return _log_axis(low, high, n_ticks) if log else _linear_axis(low, high, n_ticks)


def _linear_axis(low: float, high: float, n_ticks: int) -> Axis:
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    step = _round_step((high - low) / max(n_ticks - 1, 1))
    margin = 0.04 * (high - low)
    first, last = math.ceil((low - margin) / step - 1e-9), math.floor((high + margin) / step + 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return Axis(low - margin, high + margin, ticks, tuple(_label(tick, step, decimals) for tick in ticks), False)


def _round_step(rough: float) -> float:
    """Round a step up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _label(tick: float, step: float, decimals: int) -> str:
    if abs(tick) < step / 2:
        return "0"
    return f"{tick:.{decimals}f}" if 1e-4 < abs(tick) < 1e6 else f"{tick:.3g}"


def _log_axis(low: float, high: float, n_ticks: int) -> Axis:
    if high <= low * (1 + 1e-12):
        low, high = low / 2, high * 2
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):  # the finest grid that is not crowded
        ticks = [f * 10.0**power for power in range(first, last + 1) for f in factors]
        inside = [tick for tick in ticks if low * 0.9 <= tick <= high * 1.1]
        if len(inside) <= n_ticks + 2:
            break
    if len(inside) > n_ticks + 2:
        inside = inside[:: math.ceil(len(inside) / n_ticks)]
    if len(inside) < 2:  # the range is less than one step: use the ticks of a linear axis
        inside = [tick for tick in _linear_axis(low, high, n_ticks).ticks if tick > 0]
    bottom, top = min(low, *inside), max(high, *inside)
    margin = (top / bottom) ** 0.04
    bottom, top = bottom / margin, top * margin
    return Axis(bottom, top, tuple(inside), tuple(f"{tick:.6g}" for tick in inside), True)
