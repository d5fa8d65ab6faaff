"""The NumPy specification as an engine, used only with `EPITOMES_KERNELS=reference` because it is slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.kernels import reference_coders
from epitomes.kernels.protocol import Array, Packed, Rows, Source, Start, Stop


class ReferenceEngine:
    """Unit atoms, coded one patch at a time."""

    structural = False

    def __init__(self, unit: Array) -> None:
        self.unit = unit

    def pursue(self, source: Source, residual: float, n_nonzero: int, least_squares: bool, stop: Stop) -> Packed:
        rows, mask = _rows(source)
        return reference_coders.pursue(self.unit, rows, residual, n_nonzero, least_squares, mask)

    def lasso(self, source: Source, lam: float, tol: float, positive: bool, start: Start | None, stop: Stop) -> Packed:
        rows, mask = _rows(source)
        return reference_coders.lasso(self.unit, rows, lam, tol, positive, mask, None)

    def lasso_lars(self, source: Source, lam: float, tol: float, positive: bool, stop: Stop) -> Packed:
        return reference_coders.lasso_lars(self.unit, _rows(source)[0], lam, positive)

    def path(
        self, row: Array, lam: float, tol: float, positive: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], Array]:
        return reference_coders.lars_path(self.unit, row, lam, positive)

    def correlate(self, source: Source, keep: bool = True) -> Array:
        correlations: Array = np.einsum("nm,pm->np", _rows(source)[0], self.unit)
        return correlations if keep else correlations[:0]


def _rows(source: Source) -> tuple[Array, NDArray[np.bool_] | None]:
    if not isinstance(source, Rows):
        raise TypeError("the reference codes rows, not windows")
    return source.rows, None if source.mask is None else source.mask.astype(np.bool_)
