"""Phi: the linear, injective map from an epitome to its dictionary (paper, section 2 and appendix B).

With `R` the matrix of phi, `(p*m, M)`, the three verbs are `R`, `R'` and `(R'R)^-1 R'`. All else follows from them:
`project` and `as_matrix` are functions, so no phi can redefine them. `epitomes.testing.check_phi` proves the laws.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from epitomes.checks import Array, as_floats, require_indexable


@runtime_checkable
class Phi(Protocol):
    """A linear, injective map from the pixels of an epitome `E` to the atoms `D` of a dictionary, `(p, m)`."""

    @property
    def epitome_shape(self) -> tuple[int, ...]:
        """Shape of `E`; its size is the paper's `M`."""

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """Shape of the patch that an atom stands for."""

    @property
    def n_atoms(self) -> int:
        """The paper's `p`."""

    @property
    def patch_size(self) -> int:
        """The paper's `m`: the pixels of one atom, which a support mask makes fewer than those of `patch_shape`."""

    def __call__(self, epitome: ArrayLike) -> Array:
        """`D = phi(E)`, `(p, m)`."""

    def adjoint(self, atoms: ArrayLike) -> Array:
        """`R' D`: every pixel of the epitome gets the sum over its copies."""

    def average(self, atoms: ArrayLike) -> Array:
        """`(R'R)^-1 R' D`, the paper's phi*: the epitome whose dictionary is nearest to `D`. Not the adjoint."""


def project(phi: Phi, atoms: ArrayLike) -> Array:
    """The dictionary of `Im(phi)` nearest to `atoms`: the orthogonal projection `phi(phi.average(D))`."""
    return phi(phi.average(atoms))


def as_matrix(phi: Phi) -> csr_array:
    """`R`, `(p*m, M)`, so that `phi(E).ravel() == R @ E.ravel()`: one call of phi per pixel, meant for small ones."""
    n_pixels = math.prod(phi.epitome_shape)
    rows: list[NDArray[np.intp]] = []
    values: list[NDArray[np.float64]] = []
    starts = [0]
    for pixel in range(n_pixels):
        unit = np.zeros(n_pixels)
        unit[pixel] = 1.0
        column = phi(unit.reshape(phi.epitome_shape)).reshape(-1)
        rows.append(np.flatnonzero(column))
        values.append(column[rows[-1]].astype(np.float64))
        starts.append(starts[-1] + rows[-1].size)
    transposed = csr_array(
        (np.concatenate(values), np.concatenate(rows), np.asarray(starts)),
        shape=(n_pixels, phi.n_atoms * phi.patch_size),
    )
    return csr_array(transposed.T)


def support_of(phi: Phi) -> NDArray[np.bool_] | None:
    """The pixels of the patch that an atom holds, a mask of `patch_shape`; None: all of them."""
    support: NDArray[np.bool_] | None = getattr(phi, "support", None)  # not in the protocol: few phis have one
    return support


def checked_epitome(phi: Phi, value: ArrayLike) -> Array:
    """`value` as finite floats of the shape that phi takes."""
    epitome = as_floats("epitome", value)
    if epitome.shape != phi.epitome_shape:
        raise ValueError(f"epitome needs shape {phi.epitome_shape} for {phi!r}, got {epitome.shape}")
    return epitome


def checked_atoms(phi: Phi, value: ArrayLike) -> Array:
    """`value` as finite floats, one row per atom of phi."""
    atoms = as_floats("atoms", value)
    if atoms.shape != (phi.n_atoms, phi.patch_size):
        needed = f"{(phi.n_atoms, phi.patch_size)} (n_atoms, patch_size)"
        raise ValueError(f"atoms needs shape {needed} for {phi!r}, got {atoms.shape}")
    return atoms


def in_dtype_of(given: Array, result: NDArray[np.float64]) -> Array:
    """`result`, computed in float64, in the dtype that the caller gave."""
    return result if given.dtype == np.float64 else result.astype(np.float32)


def require_table(name: str, n_atoms: int, patch_size: int) -> None:
    """Refuse a phi whose table of entries no array can hold, before anything is allocated."""
    require_indexable(f"{name} of (n_atoms, patch_size)", (n_atoms, patch_size))
