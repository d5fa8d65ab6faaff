"""MP-PCA of dipy (Veraart and others 2016), the usual method for diffusion series: components of small blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import installed


def denoiser(noisy: NDArray[Any], threads: int) -> Callable[[], NDArray[Any]] | None:
    """Return it for a series `(times, planes, height, width)`, by blocks of 5 x 5 x 5; None if not installed."""
    if not installed("dipy", "dipy"):
        return None
    from dipy.denoise.localpca import mppca
    from threadpoolctl import threadpool_limits

    series = np.ascontiguousarray(np.moveaxis(noisy, 0, -1), np.float64)

    def run() -> NDArray[Any]:
        with threadpool_limits(threads):
            return np.moveaxis(np.asarray(mppca(series, patch_radius=2)), -1, 0)

    return run
