"""Kernels: the inner loops in native code, or their specification in NumPy.

The instruction set is chosen at import: the best that this processor supports, or the one named by `EPITOMES_ISA`.
`EPITOMES_KERNELS=reference` replaces the native code by the slow NumPy specification. Results have the same bits for
any number of threads, batches and tiles. Between instruction sets, the last bits may differ.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.kernels import (
    _native,
    reference_groups,
    reference_ksvd,
    reference_moments,
    reference_motion,
    reference_patches,
    reference_regression,
)
from epitomes.kernels.protocol import (
    NO_GRAM,
    Array,
    CollaborativeFilter,
    ConditionalMean,
    Engine,
    Groups,
    GroupSettings,
    Packed,
    RidgeCombination,
    Rows,
    Shrinkage,
    Source,
    Start,
    Stop,
    WienerFilter,
    Windows,
)
from epitomes.kernels.reference import ReferenceEngine

__all__ = [
    "Array",
    "CollaborativeFilter",
    "ConditionalMean",
    "Engine",
    "GroupSettings",
    "Groups",
    "Packed",
    "RidgeCombination",
    "Rows",
    "Shrinkage",
    "Source",
    "Start",
    "WienerFilter",
    "Windows",
    "atom_products",
    "compare_squares",
    "decompose",
    "gather",
    "isa",
    "isas",
    "make_engine",
    "match",
    "multiply",
    "regress",
    "scatter",
    "shrink_groups",
    "summarise",
    "update_atoms",
]

isas: tuple[str, ...] = tuple(_native.isas())

_DENSE_GRAM_ATOMS = 4096  # above, the Gram matrix takes more than 64 MB in float32: its rows are computed on demand
_GRAM_STEP = 32  # rows of the Gram matrix are padded to a multiple of it


def _chosen() -> str:
    kernels = os.environ.get("EPITOMES_KERNELS", "native")
    if kernels not in ("native", "reference"):
        raise ImportError(f"EPITOMES_KERNELS must be 'native' or 'reference', got {kernels!r}")
    if kernels == "reference":
        return "reference"
    wanted = os.environ.get("EPITOMES_ISA", isas[-1])
    if wanted not in isas:
        raise ImportError(f"EPITOMES_ISA must be one of {', '.join(isas)} on this processor, got {wanted!r}")
    return wanted


isa: str = _chosen()


def make_engine(
    unit: Array,
    norms: Array,
    pictures: tuple[Array, ...] = (),
    patch_shape: tuple[int, int] = (0, 0),
    *,
    isa: str = isa,
) -> Engine:
    """Prepare unit atoms `(p, m)`: any, or all windows of `pictures` `(height, width, channels)` if these are given."""
    if isa == "reference":
        return ReferenceEngine(unit)
    make: Any = _native.Engine32 if unit.dtype == np.float32 else _native.Engine64
    engine: Engine = make(isas.index(isa), unit, norms, list(pictures), *patch_shape, len(unit) <= _DENSE_GRAM_ATOMS)
    return engine


def gather(image_flat: Array, starts: NDArray[np.intp], offsets: NDArray[np.intp], centre: bool) -> tuple[Array, Array]:
    """Copy patches `(b, m)` from the image; with `centre`, subtract their means `(b,)`, which are zeros otherwise."""
    if isa == "reference":
        return reference_patches.gather(image_flat, starts, offsets, centre)
    native: Any = _native.gather
    rows, means = native(isas.index(isa), image_flat, starts, offsets, centre)
    return rows, means


def scatter(
    total: NDArray[np.float64],
    weight: NDArray[np.float64],
    starts: NDArray[np.intp],
    offsets: NDArray[np.intp],
    estimates: Array,
    weights: Array,
) -> None:
    """Add weighted patches to `total` and their weights to `weight`, in place, in the order of the rows."""
    if isa == "reference":
        reference_patches.scatter(total, weight, starts, offsets, estimates, weights)
    else:
        native: Any = _native.scatter
        native(isas.index(isa), total, weight, starts, offsets, estimates, weights)


def summarise(
    rows: Array,
    codes: Start,
    atoms: tuple[int, int],
    gram: NDArray[np.float64],
    cross: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    """Add coded rows `(n, m)` to the sums of a range of atoms, in place and in the order of the rows.

    The sums are `gram` `(p, p)`, A'A; `cross` `(p, m)`, A'X; and `mass` `(p,)`, the column sums of |A|.
    """
    if isa == "reference":
        reference_moments.summarise(rows, codes, atoms, gram, cross, mass)
    else:
        native: Any = _native.summarise
        native(isas.index(isa), rows, *codes, *atoms, gram, cross, mass)


def multiply(left: NDArray[np.float64], right: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Compute `out = left @ right`; the order of each sum depends on the inner dimension only."""
    if isa == "reference":
        reference_moments.multiply(left, right, out)
    else:
        native: Any = _native.multiply
        native(isas.index(isa), left, right, out)


def update_atoms(
    residual: Array,
    begin: NDArray[np.int64],
    users: NDArray[np.int32],
    values: Array,
    atoms: Array,
    exact: bool,
    stop: Stop,
) -> None:
    """Improve unit atoms `(p, m)` one after another, each with the values of the rows that use it: K-SVD, in place.

    Atom j is used by the rows `users[begin[j]:begin[j + 1]]` of the residual `(n, m)`, with these `values`. With
    `exact`, atom and values become the first singular vectors of the residual without the atom; otherwise, the result
    of one step of the power method.
    """
    if isa == "reference":
        reference_ksvd.update_atoms(residual, begin, users, values, atoms, exact)
    else:
        native: Any = _native.update_atoms
        native(isas.index(isa), residual, begin, users, values, atoms, exact, stop)


def regress(
    images: NDArray[np.float32],
    side: int,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    anchors: NDArray[np.float32],
    maps: NDArray[np.float32],
    limit: float,
    first: int,
    stop: Stop,
    total: NDArray[np.float32],
) -> None:
    """Add the corrections of the patches at `tops` x `lefts` to the rows of an estimate from `first` on, in place.

    The images are `(inputs, height, width)`: the estimate, and others less the estimate. `anchors` are `(n, m)`, their
    maps `(n, inputs * m, wide)`, wide the next multiple of 16. `epitomes.regression` says what a correction is.
    """
    if isa == "reference":
        reference_regression.regress(images, side, tops, lefts, anchors, maps, limit, first, total)
    else:
        native: Any = _native.regress
        native(isas.index(isa), images, side, tops, lefts, anchors, maps, limit, first, stop, total)


def compare_squares(
    plane: NDArray[np.float32],
    other: NDArray[np.float32],
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    side: int,
    step: int,
) -> NDArray[np.float32]:
    """Return mean squared differences of the squares of a plane at `tops` x `lefts` and candidates in another plane.

    The candidates begin at `rows` and `columns`, both of shape `(n_candidates, len(tops), len(lefts))`. Of all squares
    every `step` rows are compared.
    """
    differences = np.empty(rows.shape, np.float32)
    if isa == "reference":
        reference_motion.compare_squares(plane, other, tops, lefts, rows, columns, side, step, differences)
    else:
        native: Any = _native.compare_squares
        native(isas.index(isa), plane, other, tops, lefts, rows, columns, side, step, differences)
    return differences


def match(
    image: NDArray[np.float32],
    patch: tuple[int, int, int],
    reach: tuple[int, int, int],
    plane: int,
    tops: NDArray[np.int64],
    lefts: NDArray[np.int64],
    n_matches: int,
    stop: Stop,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Find the patches most similar to each reference: places `(n, n_matches)` and squared distances, nearest first.

    The image is planar, `(channels, planes, height, width)`. References are at `tops` x `lefts` of one plane and are
    compared with all patches at most `reach` away along planes, height and width. A place is a flat index into one
    channel. The reference itself comes first, and ties are in the order of the places. If there are too few patches,
    the last one is repeated at an infinite distance.
    """
    n = len(tops) * len(lefts)
    places, distances = np.empty((n, n_matches), np.int32), np.empty((n, n_matches), np.float32)
    if isa == "reference":
        reference_groups.match(image, patch, reach, plane, tops, lefts, places, distances)
    else:
        native: Any = _native.match
        native(isas.index(isa), image, patch, reach, plane, tops, lefts, stop, places, distances)
    return places, distances


def atom_products(atoms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the products of unit atoms `(p, m)` with each other, for `Shrinkage`; of very many atoms nothing."""
    if isa == "reference" or not 0 < len(atoms) <= _DENSE_GRAM_ATOMS:
        return NO_GRAM
    gram = np.empty((len(atoms), -(-len(atoms) // _GRAM_STEP) * _GRAM_STEP), np.float32)
    native: Any = _native.atom_products
    native(isas.index(isa), atoms, gram)
    return gram


def shrink_groups(
    groups: Groups, settings: GroupSettings, total: NDArray[np.float32], weight: NDArray[np.float32], stop: Stop
) -> None:
    """Estimate the members of each group jointly; add estimates to `total` and weights to `weight`, in place.

    The type of the settings says how.
    """
    if isa == "reference":
        reference_groups.shrink_groups(groups, settings, total, weight)
    else:
        native: Any = _native.shrink_groups  # overloaded
        native(isas.index(isa), *groups, *settings, stop, total, weight)


def decompose(matrix: NDArray[np.float32], cut: float = -np.inf) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Compute the eigenvalues of a symmetric matrix above `cut`, in ascending order, and unit eigenvectors as rows."""
    values, vectors = np.empty(len(matrix), np.float32), np.empty(matrix.shape, np.float32)
    if isa == "reference":
        values[:], columns = np.linalg.eigh(matrix)
        vectors[:] = columns.T
        above = values > cut
        return values[above], vectors[above]
    native: Any = _native.decompose
    count = native(isas.index(isa), matrix, cut, values, vectors)
    return values[:count], vectors[:count]
