"""What a prepared dictionary can do. The native engines and the NumPy reference have this shape."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Packed = tuple[NDArray[np.int32], NDArray[np.int32], Array]  # counts (n,), atoms (nnz,), values (nnz,), row after row
Start = tuple[NDArray[np.int64], NDArray[np.int32], Array]  # a CSR matrix: row begins (n + 1,), atoms, values
Stop = NDArray[np.uint8]  # one byte that another thread may set to end the work early; what comes back is incomplete


class Rows(NamedTuple):
    """Patches in memory."""

    rows: Array  # (n, m)
    mask: NDArray[np.uint8] | None  # (n, m), not zero where a pixel is known


class Windows(NamedTuple):
    """Patches that are windows of an image, numbered on a grid: a line of windows per value of `tops`, all columns."""

    image: Array  # (height, width, channels)
    tops: NDArray[np.int64]
    first: int
    last: int
    centred: bool


Source = Rows | Windows


class Engine(Protocol):
    """Codes on unit atoms."""

    @property
    def structural(self) -> bool: ...  # whether windows can be given: they need pictures, and must be faster than rows

    def pursue(self, source: Source, residual: float, n_nonzero: int, least_squares: bool, stop: Stop) -> Packed: ...

    def lasso(
        self, source: Source, lam: float, tol: float, positive: bool, start: Start | None, stop: Stop
    ) -> Packed: ...

    def lasso_lars(self, source: Source, lam: float, tol: float, positive: bool, stop: Stop) -> Packed: ...

    def path(
        self, row: Array, lam: float, tol: float, positive: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], Array]: ...

    def correlate(self, source: Source, keep: bool = True) -> Array: ...
