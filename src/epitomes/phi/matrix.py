"""MatrixPhi: any linear, injective phi, given by its sparse matrix R (paper, section 2 and appendix B).

Entries of the dictionary can then combine several pixels of the epitome, as sub-pixel shifts, rotations and scales do.
`R'R` is not diagonal. It is factorised once, when the map is created, and a rank-deficient `R` is refused then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, issparse
from scipy.sparse.linalg import SuperLU, splu

from epitomes.checks import Array, as_floats, as_shape, require_finite
from epitomes.phi.gather import checked_support
from epitomes.phi.protocol import checked_atoms, checked_epitome, in_dtype_of, require_table

# Above this condition number of R'R (with unit columns) phi* loses too many digits to be an inverse.
WORST_CONDITION = 1e12

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class MatrixPhi:
    """Map from epitomes to dictionaries that is given by its matrix.

    The functions `subpixel`, `rotated` and `scaled` create such maps.

    Parameters
    ----------
    matrix : sparse array or array_like
        Matrix `R` of shape ``(p * m, M)``, with linearly independent columns. The `m` rows of an atom are consecutive.
        A float64 copy in CSR format is kept.
    epitome_shape : tuple of int
        Shape of the epitome of `M` pixels.
    patch_shape : tuple of int
        Shape of a patch.
    support : ndarray of bool, optional
        Mask of shape `patch_shape`: the `m` pixels of the patch that an atom contains. None means all of them.

    Raises
    ------
    ValueError
        If the shapes do not agree, or if the columns of `matrix` are linearly dependent, exactly or nearly.

    See Also
    --------
    GatherPhi : Maps that copy pixels.

    Notes
    -----
    ``D.ravel() = R @ E.ravel()``. `average` solves the least squares problem ``min |R e - d|^2`` by the normal
    equations, with one step of iterative refinement.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import MatrixPhi
    >>> R = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0, 0.5, 0.5]]
    >>> phi = MatrixPhi(R, (3,), (2,))
    >>> phi([2.0, 4.0, 8.0])
    array([[2., 4.],
           [4., 8.],
           [3., 6.]])
    """

    matrix: csr_array
    epitome_shape: tuple[int, ...]
    patch_shape: tuple[int, ...]
    support: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epitome_shape", as_shape("epitome_shape", self.epitome_shape))
        object.__setattr__(self, "patch_shape", as_shape("patch_shape", self.patch_shape))
        object.__setattr__(self, "support", checked_support(self.support, self.patch_shape))
        object.__setattr__(self, "matrix", _checked_matrix(self.matrix, math.prod(self.epitome_shape), self.patch_size))
        require_table("R", self.n_atoms, self.patch_size)
        self._normal_equations  # noqa: B018  computed here, so that a rank-deficient R is refused at once

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return int(self.matrix.shape[0]) // self.patch_size

    @cached_property
    def patch_size(self) -> int:
        """Number of pixels of an atom."""
        return math.prod(self.patch_shape) if self.support is None else int(self.support.sum())

    def __call__(self, epitome: ArrayLike) -> Array:
        """Compute the dictionary `D = phi(E)`, `(p, m)`."""
        E = checked_epitome(self, epitome)
        D: Floats = self.matrix @ E.reshape(-1).astype(np.float64, copy=False)
        return in_dtype_of(E, D.reshape(self.n_atoms, self.patch_size))

    def adjoint(self, atoms: ArrayLike) -> Array:
        """Apply the adjoint, the transposed matrix `R'`.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Array of shape `epitome_shape`, in the dtype of `atoms`.
        """
        D = checked_atoms(self, atoms)
        E: Floats = self.matrix.T @ D.reshape(-1).astype(np.float64, copy=False)
        return in_dtype_of(D, E.reshape(self.epitome_shape))

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
        D = checked_atoms(self, atoms)
        E = self._normal_equations.least_squares(self.matrix, D.reshape(-1).astype(np.float64, copy=False))
        return in_dtype_of(D, E.reshape(self.epitome_shape))

    @cached_property
    def _normal_equations(self) -> _NormalEquations:
        return _factorised(self.matrix, self.epitome_shape)

    def __reduce__(self) -> tuple[type[MatrixPhi], tuple[object, ...]]:
        # The factor does not pickle: files and workers get R and factorise again.
        return MatrixPhi, (self.matrix, self.epitome_shape, self.patch_shape, self.support)

    def __repr__(self) -> str:
        held = "" if self.support is None else f", {self.patch_size} of {self.support.size} pixels"
        sizes = f"{self.epitome_shape} -> {self.n_atoms} atoms of {self.patch_shape}{held}"
        return f"MatrixPhi({sizes}, {self.matrix.nnz} non-zeros)"


@dataclass(frozen=True, eq=False)
class _NormalEquations:
    """Factorisation of `S R'R S`, where the diagonal `S` scales the columns of `R` to unit norm."""

    scales: Floats  # (M,)
    factor: SuperLU

    def solve(self, right: Floats) -> Floats:
        """Compute `(R'R)^-1 right`."""
        solution: Floats = self.scales * self.factor.solve(self.scales * right)
        return solution

    def least_squares(self, R: csr_array, d: Floats) -> Floats:
        """Compute the `e` that minimises `|R e - d|^2`."""
        e = self.solve(R.T @ d)
        # One step of iterative refinement recovers the digits that are lost by squaring R.
        return e + self.solve(R.T @ (d - R @ e))


def _factorised(R: csr_array, epitome_shape: tuple[int, ...]) -> _NormalEquations:
    lengths = np.sqrt(np.asarray(R.power(2).sum(axis=0)).reshape(-1))
    unseen = np.flatnonzero(lengths == 0)
    if unseen.size:
        first = tuple(int(i) for i in np.unravel_index(int(unseen[0]), epitome_shape))
        raise ValueError(
            f"phi must be injective, but {unseen.size} of the {lengths.size} pixels of the epitome are in no atom, "
            f"the first at index {first}: give each column of R a non-zero entry"
        )
    scaled = csr_array((R.data / lengths[R.indices], R.indices, R.indptr), shape=R.shape)
    gram = csc_array(scaled.T @ scaled)
    try:
        # Symmetric mode keeps the pivots on the diagonal, which suits a positive definite matrix.
        options = {"SymmetricMode": True}
        factor = splu(gram, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        condition = _condition(gram, factor)
    except RuntimeError:  # an exactly zero pivot
        condition = math.inf
    if not condition <= WORST_CONDITION:
        raise ValueError(
            f"phi must be injective, but the columns of R, shape {R.shape}, depend on each other (condition number of "
            f"R'R {condition:.1e}, at most {WORST_CONDITION:.0e} is safe): add atoms that tell these pixels apart"
        )
    return _NormalEquations(1.0 / lengths, factor)


def _condition(gram: csc_array, factor: SuperLU) -> float:
    """Estimate the condition number of `gram` by inverse iteration from a random vector; slightly too low."""
    x = np.random.default_rng(0).standard_normal(gram.shape[0])  # a fixed seed: results are reproducible
    growth = 1.0
    with np.errstate(all="ignore"):  # a singular gram may give infinities, which the caller refuses
        for _ in range(8):
            x = factor.solve(x / np.linalg.norm(x))
            growth = float(np.linalg.norm(x))
    return growth * float(abs(gram).sum(axis=0).max())


def _checked_matrix(value: Any, n_pixels: int, patch_size: int) -> csr_array:
    if not issparse(value):
        value = as_floats("matrix", value, ndim=2)
    if value.ndim != 2:
        raise ValueError(f"matrix needs 2 axes, got shape {value.shape}")
    if value.dtype.kind not in "fiu":
        raise TypeError(f"matrix must hold real numbers, got dtype {value.dtype}")
    rows, columns = value.shape
    if columns != n_pixels:
        raise ValueError(f"matrix needs {n_pixels} columns, one per pixel of the epitome, got shape {value.shape}")
    if rows == 0 or rows % patch_size:
        raise ValueError(
            f"matrix needs a multiple of {patch_size} rows, one per pixel of each atom, got shape {value.shape}"
        )
    if rows < columns:
        raise ValueError(
            f"phi must be injective, but matrix has shape {value.shape}: fewer rows than columns; add atoms"
        )
    R: csr_array = csr_array(value, dtype=np.float64, copy=True)
    R.sum_duplicates()
    R.eliminate_zeros()
    require_finite("matrix", R.data)
    for part in (R.data, R.indices, R.indptr):
        part.flags.writeable = False  # a change would not update the factorisation
    return R
