"""BM3D by its authors' package (closed native code, its own licence), the usual reference for denoising."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import installed

Image = NDArray[np.floating]


def denoiser(noisy: NDArray[np.float32], sigma: float, threads: int) -> Callable[[], Image] | None:
    """Return both stages with the default profile; None if it is not installed."""
    if not installed("bm3d", "bm3d"):
        return None
    import bm3d

    profile = bm3d.BM3DProfile()
    profile.num_threads = threads
    image = noisy.astype(np.float64)
    return lambda: np.asarray(bm3d.bm3d(image, sigma, profile))
