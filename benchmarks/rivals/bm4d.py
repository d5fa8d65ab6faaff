"""BM4D by its authors' package (closed native code, its own licence), the usual reference for volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import installed


def denoiser(noisy: NDArray[Any], sigma: float, threads: int) -> Callable[[], NDArray[Any]] | None:
    """Return both stages with the default profile, for a grey volume; None if it is not installed."""
    if not installed("bm4d", "bm4d"):
        return None
    import bm4d

    profile = bm4d.BM4DProfile()
    profile.num_threads = threads
    volume = noisy.astype(np.float64)
    return lambda: np.asarray(bm4d.bm4d(volume, sigma, profile))
