"""Masks: pixels that must not be used, such as dead ones, scratches and labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from epitomes.filling import Flags, Pixels, filled, missing_values
from epitomes.layout import Layout

__all__ = ["as_mask", "bad_pixels", "filled", "missing_note"]


def as_mask(mask: ArrayLike, layout: Layout, *, planes: bool = False) -> Flags:
    """The mask in the shape of the image; one without channels, or of one picture or plane, stands for all of them.

    `planes`: whether it may cover whole planes of a volume.
    """
    given = np.asarray(mask)
    if given.dtype.kind not in "bui":
        raise TypeError(f"mask must hold booleans or integers, non-zero at bad pixels, got dtype {given.dtype}")
    bad: Flags = np.asarray(given != 0, np.bool_)
    picture = layout.picture_shape[: layout.spatial]
    allowed = [layout.shape, (*layout.stack_shape, *picture), picture, picture[-2:]]
    if bad.shape not in allowed:
        raise ValueError(
            f"mask has shape {bad.shape}, the image {layout.shape}: the mask needs "
            f"{' or '.join(map(str, dict.fromkeys(allowed)))}"
        )
    if bad.shape != layout.shape:
        if layout.channel_axis is not None:
            bad = bad[..., None]
        bad = layout.original(np.broadcast_to(bad, (*layout.stack_shape, *layout.picture_shape)))
    if not planes and any(plane.all() for plane in layout.planes(bad)):
        raise ValueError("mask covers a whole plane of the image: it must be 0 at good pixels, so leave that plane out")
    return np.asarray(bad, np.bool_)


def bad_pixels(image: Pixels, mask: ArrayLike | None, layout: Layout) -> Flags | None:
    """Pixels that must not be used: those of the mask, and missing ones (NaN); None if there are none."""
    bad = None if mask is None else as_mask(mask, layout)
    missing = missing_values(image if bad is None else np.where(bad, 0, image))
    if missing is None:
        return bad
    return missing if bad is None else missing | bad


def missing_note(image: Pixels, fill: bool) -> tuple[str, ...]:
    """What the user should know of missing values, if there are any."""
    missing = missing_values(image)
    if missing is None:
        return ()
    done = "and were filled" if fill else "and are left as they are"
    return (f"{int(missing.sum())} of {missing.size} values are missing (NaN): they were not used, {done}",)
