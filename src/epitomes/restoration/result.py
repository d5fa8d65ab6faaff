"""Restored: what every restoration returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from epitomes.display import repr_html
from epitomes.epitome import Epitome
from epitomes.learn import Fit


@dataclass(frozen=True, eq=False)
class Restored:
    """The image, and how it came about. `np.asarray(restored)` is the image."""

    image: NDArray[Any]  # of the shape and dtype of the input
    epitome: Epitome
    fit: Fit | None  # how the epitome was learned; None if it was given
    nonzeros: float  # atoms per patch, on average
    seconds: float

    def __getitem__(self, key: Any) -> Any:
        """Pixels of the image: scikit-image's `calibrate_denoiser` takes them from what a denoiser returns."""
        return self.image[key]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.image, dtype=dtype, copy=copy)

    _repr_html_ = repr_html
