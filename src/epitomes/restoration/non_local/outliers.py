"""Outliers: pixels so far from the others that float32 cannot hold the noise beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.epitome import Epitome
from epitomes.layout import Layout
from epitomes.restoration.masks import filled
from epitomes.restoration.method import Estimate

MOST_RANGE = 1e5  # times sigma: groups are in float32, whose rounding would be felt beyond
OUTLYING = 0.49 * MOST_RANGE  # times sigma, from the median: what is left has less than that range
MOST_OUTLIERS = 0.01  # share of the pixels


def outliers_of(image: Array, sigma: float) -> NDArray[np.bool_] | None:
    """Pixels that are too far from the others for float32 to hold the noise beside them; None if there are none."""
    if float(image.max()) - float(image.min()) <= MOST_RANGE * sigma:
        return None
    pixels = np.asarray(image, np.float64)
    return np.asarray(np.abs(pixels - np.median(pixels)) > OUTLYING * sigma)


def is_too_faint(outliers: NDArray[np.bool_]) -> bool:
    """Whether so many pixels are outliers that the noise cannot be removed beside the image."""
    return float(outliers.mean()) > MOST_OUTLIERS


def denoised_beside(
    outliers: NDArray[np.bool_],
    image: Array,
    sigma: float,
    channels: bool,
    run: Callable[[Array, float], Estimate],
    epitome: Epitome | None = None,
) -> Estimate:
    """Denoise the pixels beside a few outliers, which are left as they are; return the image if there are many."""
    pixels = np.asarray(image, np.float64)
    if is_too_faint(outliers):
        note = (
            f"the noise (sigma {sigma:.3g}) is too faint beside the range of the image "
            f"({float(np.ptp(pixels)):.3g}) to be removed, and the image is unchanged: check sigma"
        )
        return Estimate(pixels, epitome, None, 0.0, (note,))
    limit, middle = OUTLYING * sigma, float(np.median(pixels))
    inside = np.clip(pixels, middle - limit, middle + limit)
    found = run(filled(inside, outliers, Layout.of(image.shape, -1 if channels else None)), sigma)
    note = f"{int(outliers.sum())} outliers of more than {OUTLYING:g} sigma are left as they were"
    return replace(found, image=np.where(outliers, pixels, found.image), notes=(*found.notes, note))
