"""Parameters of a noise model as arrays: one number, one per channel, or an array that broadcasts to the image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import as_floats, read_only
from epitomes.layout import Layout, Place
from epitomes.noise.planes import Floats

if TYPE_CHECKING:
    from epitomes.noise.model import Noise


def as_parameter(name: str, value: ArrayLike, *, signed: bool = False, zero: bool = True) -> Floats:
    """`value` as a read-only float64 array of finite numbers: not negative unless `signed`, nor 0 unless `zero`."""
    values = np.array(as_floats(name, value, dtype=np.float64), np.float64)
    if not signed and (values.min() < 0 or (not zero and values.min() == 0)):
        where = tuple(int(i) for i in np.unravel_index(int(np.argmin(values)), values.shape))
        at = f" at index {where}" if values.ndim else ""
        raise ValueError(f"{name} must be {'>= 0' if zero else '> 0'}, got {values.min():g}{at}")
    return read_only(values)


def require_same_axes(parameters: dict[str, Floats | None]) -> None:
    """Refuse parameters of different shapes, unless they are numbers: their axes would mean different things."""
    shapes = {name: values.shape for name, values in parameters.items() if values is not None and values.ndim}
    lengths = [{side for side in sides if side > 1} for sides in zip(*shapes.values(), strict=False)]
    if len({len(shape) for shape in shapes.values()}) > 1 or any(len(sides) > 1 for sides in lengths):
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"parameters of the noise have different shapes ({listed}): give them the same axes")


def for_image(name: str, values: Floats, shape: tuple[int, ...], layout: Layout | None = None) -> Floats:
    """The parameter in a shape that broadcasts to an image of `shape`; without `layout`, channels come last."""
    if layout is not None and layout.shape != shape:
        raise ValueError(f"the layout is for shape {layout.shape}, the image has shape {shape}")
    if values.size == 1:
        return values.reshape(())
    fitted = values
    if values.ndim == 1 < len(shape):
        if layout is not None and layout.channel_axis is None:
            raise ValueError(
                f"{name} has one value per channel ({values.size}), but the image of shape {shape} has no channels: "
                "pass channel_axis"
            )
        axis = len(shape) - 1 if layout is None or layout.channel_axis is None else layout.channel_axis
        fitted = values.reshape([-1 if each == axis else 1 for each in range(len(shape))])
    if fitted.ndim != len(shape) or any(a not in (1, b) for a, b in zip(fitted.shape, shape, strict=True)):
        raise ValueError(
            f"{name} of shape {values.shape} does not fit an image of shape {shape}: give one number, one per channel, "
            "or an array with as many axes as the image that broadcasts to it"
        )
    return fitted


def of_picture(name: str, values: Floats, layout: Layout, place: Place) -> Floats:
    """The parameter of one picture of a stack in canonical order, with as few axes as possible.

    A number if there is one value, one axis if only channels differ.
    """
    fitted = for_image(name, values, layout.shape, layout)
    if fitted.ndim == 0:
        return fitted
    canonical = layout.canonical(fitted)
    mine: Floats = canonical[tuple(at if side > 1 else 0 for at, side in zip(place, canonical.shape, strict=False))]
    if mine.size == 1:
        return mine.reshape(())
    per_channel = layout.n_channels is not None and mine.size == mine.shape[-1]
    return mine.reshape(-1) if per_channel else mine


def noise_at(noise: Noise, names: Iterable[str], place: Place, layout: Layout) -> Noise:
    """The noise of one picture of a stack, by the parameters of these names; `Noise.at` has the documentation."""
    values: dict[str, Any] = {
        name: of_picture(name, value, layout, place) for name in names if (value := getattr(noise, name)) is not None
    }
    if not layout.stack_shape or all(getattr(noise, name).ndim < len(layout.shape) for name in values):
        return replace(noise, **values)
    if len(noise.parts) == np.prod(layout.stack_shape):
        return replace(noise.parts[int(np.ravel_multi_index(place, layout.stack_shape))], **values)
    return replace(noise, **values, interval=None, gain_interval=None, parts=())


def root_mean_square(values: Floats) -> float:
    """Root mean square of values at or above zero; it neither overflows nor underflows."""
    largest = float(values.max())
    return largest * float(np.sqrt(np.mean(np.square(values / largest)))) if largest > 0 else 0.0
