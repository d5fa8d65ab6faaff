"""natural_regressions: regressions learned from natural images, which ship with the library.

They are in one NumPy archive, `data/regressions.npz`, written by `python -m benchmarks make-regressions`: for each
round its anchors in half precision, its maps in bytes with a scale for each column, and a JSON text "about"
that says from what they were made.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.regression.anchored import AnchoredRegression

ARCHIVE = "regressions.npz"
ROUNDS = 2
LIMIT = 0.08  # of the correction of a patch, about the mean of photographs at sigma 5; larger ones spoil stripes


@cache
def natural_regressions() -> tuple[AnchoredRegression, ...]:
    """Return the shipped regressions, in the order in which they follow each other.

    Returns
    -------
    tuple of AnchoredRegression
        One for each round. Their inputs are an estimate, a second one (`WienerPass`), and the noisy image.

    See Also
    --------
    AnchoredRegression : What they do.

    Examples
    --------
    >>> from epitomes.regression import natural_regressions
    >>> [regression.side for regression in natural_regressions()]
    [6, 6]
    """
    with (files("epitomes") / "data" / ARCHIVE).open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return tuple(unpacked(archive, str(number)) for number in range(ROUNDS))


def packed(regression: AnchoredRegression) -> dict[str, NDArray[Any]]:
    """Arrays of a few bytes for the archive: maps are rounded to 1/127 of the largest number of their column."""
    scales = np.abs(regression.maps).max(axis=1, keepdims=True).astype(np.float16)
    steps = np.where(scales > 0, scales, 1).astype(np.float32) / 127
    return {
        "anchors": regression.anchors.astype(np.float16),
        "maps": np.clip(np.rint(regression.maps / steps), -127, 127).astype(np.int8),
        "scales": scales,
    }


def unpacked(arrays: Mapping[str, NDArray[Any]], name: str) -> AnchoredRegression:
    """The regression of a name in the archive."""
    maps = arrays[f"{name}-maps"].astype(np.float32)
    maps *= arrays[f"{name}-scales"].astype(np.float32) / 127
    return AnchoredRegression(arrays[f"{name}-anchors"].astype(np.float32), maps, LIMIT)
