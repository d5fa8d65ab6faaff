"""Halving: planes at half their size, by their cosine transform."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn


def halved(plane: NDArray[Any]) -> NDArray[Any]:
    """The plane at half its size, rounded up: the lower half of its frequencies along each axis."""
    height, width = ((side + 1) // 2 for side in plane.shape)
    low = dctn(plane, norm="ortho")[:height, :width]
    return np.asarray(idctn(low, norm="ortho") * low.dtype.type(np.sqrt(low.size / plane.size)))
