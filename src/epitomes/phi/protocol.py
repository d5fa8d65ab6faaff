"""Phi: the linear, injective map from an epitome to its dictionary (paper, section 2 and appendix B).

With `R` the matrix of phi, `(p*m, M)`, its three operations are `R`, `R'` and `(R'R)^-1 R'`. `project` and `as_matrix`
follow from these, so they are functions that no phi can redefine. `epitomes.testing.check_phi` tests the laws.
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
    """A linear, injective map from the pixels of an epitome to the atoms of a dictionary.

    This is a protocol: any class with these attributes and methods can be used, no base class is needed.

    See Also
    --------
    windows : All overlapping patches of one or several epitomes.
    epitomes.testing.check_phi : Test an implementation of this protocol.

    Notes
    -----
    In the notation of the paper, `E` is the epitome of `M` pixels and ``D = phi(E)`` has `p` atoms of `m` pixels,
    stored as rows. `R`, of shape ``(p * m, M)``, is the matrix of the map: ``D.ravel() == R @ E.ravel()``.

    Examples
    --------
    >>> from epitomes.phi import Phi, windows
    >>> phi = windows((20, 20), (8, 8))
    >>> isinstance(phi, Phi)
    True
    >>> phi.epitome_shape, phi.n_atoms, phi.patch_size
    ((20, 20), 169, 64)
    """

    @property
    def epitome_shape(self) -> tuple[int, ...]:
        """Shape of the epitome; its size is the paper's `M`."""

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """Shape of the patches that the atoms represent."""

    @property
    def n_atoms(self) -> int:
        """Number of atoms, the paper's `p`."""

    @property
    def patch_size(self) -> int:
        """Number of pixels of an atom, the paper's `m`; a support mask makes it smaller than that of `patch_shape`."""

    def __call__(self, epitome: ArrayLike) -> Array:
        """Compute the dictionary `D = phi(E)`, `(p, m)`."""

    def adjoint(self, atoms: ArrayLike) -> Array:
        """Apply the adjoint `R'`: each pixel of the epitome receives the sum of the entries that it contributes to.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Array of shape `epitome_shape`, in the dtype of `atoms`.
        """

    def average(self, atoms: ArrayLike) -> Array:
        """Compute the epitome whose dictionary is nearest to `atoms`: the paper's phi*, `(R'R)^-1 R'`.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Epitome of shape `epitome_shape`, in the dtype of `atoms`.
        """


def project(phi: Phi, atoms: ArrayLike) -> Array:
    """Project a dictionary onto the dictionaries that phi can produce.

    Parameters
    ----------
    phi : Phi
        Map from epitomes to dictionaries.
    atoms : array_like
        Dictionary of shape ``(phi.n_atoms, phi.patch_size)``.

    Returns
    -------
    ndarray
        The dictionary in the range of `phi` that is nearest to `atoms`.

    Notes
    -----
    This is the orthogonal projection ``phi(phi.average(D))``, the matrix `R (R'R)^-1 R'`.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import project, windows
    >>> phi = windows(3, 2)  # atoms (e0, e1) and (e1, e2): the second pixel is in both
    >>> project(phi, np.array([[1.0, 2.0], [4.0, 5.0]]))
    array([[1., 3.],
           [3., 5.]])
    """
    return phi(phi.average(atoms))


def as_matrix(phi: Phi) -> csr_array:
    """Compute the matrix R of phi.

    Parameters
    ----------
    phi : Phi
        Map from epitomes to dictionaries.

    Returns
    -------
    csr_array
        Matrix `R` of shape ``(p * m, M)``, so that ``phi(E).ravel() == R @ E.ravel()``.

    Notes
    -----
    Each column takes one call of `phi`, so this function is meant for small epitomes and for tests.

    Examples
    --------
    >>> from epitomes.phi import as_matrix, windows
    >>> as_matrix(windows(3, 2)).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
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
    """Return the mask of the pixels in a patch that the atoms of phi contain.

    Parameters
    ----------
    phi : Phi
        Map from epitomes to dictionaries.

    Returns
    -------
    ndarray of bool or None
        Mask of shape ``phi.patch_shape``. None if the atoms contain all pixels of the patch.

    Examples
    --------
    >>> from epitomes.phi import support_of, windows
    >>> support_of(windows((9, 9), (2, 2))) is None
    True
    >>> corner = [[True, True], [True, False]]
    >>> support_of(windows((9, 9), (2, 2), support=corner, border="periodic"))
    array([[ True,  True],
           [ True, False]])
    """
    support: NDArray[np.bool_] | None = getattr(phi, "support", None)  # optional: not part of the protocol
    return support


def checked_epitome(phi: Phi, value: ArrayLike) -> Array:
    """Convert `value` to finite floats of the epitome shape of phi."""
    epitome = as_floats("epitome", value)
    if epitome.shape != phi.epitome_shape:
        raise ValueError(f"epitome needs shape {phi.epitome_shape} for {phi!r}, got {epitome.shape}")
    return epitome


def checked_atoms(phi: Phi, value: ArrayLike) -> Array:
    """Convert `value` to finite floats with one row per atom of phi."""
    atoms = as_floats("atoms", value)
    if atoms.shape != (phi.n_atoms, phi.patch_size):
        needed = f"{(phi.n_atoms, phi.patch_size)} (n_atoms, patch_size)"
        raise ValueError(f"atoms needs shape {needed} for {phi!r}, got {atoms.shape}")
    return atoms


def in_dtype_of(given: Array, result: NDArray[np.float64]) -> Array:
    """Convert `result`, computed in float64, to the dtype of `given`."""
    return result if given.dtype == np.float64 else result.astype(np.float32)


def require_table(name: str, n_atoms: int, patch_size: int) -> None:
    """Refuse a phi whose table of entries no array can hold, before allocating it."""
    require_indexable(f"{name} of (n_atoms, patch_size)", (n_atoms, patch_size))
