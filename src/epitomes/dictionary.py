"""Dictionary: the atoms on which coders work, with everything that is computed from them once.

Coders use unit atoms: a code on `D` is the code on `D / |d_j|`, divided by the norms (paper, appendix A).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from epitomes import kernels
from epitomes.checks import Array, as_floats, as_shape, read_only


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Atoms of a dictionary, as rows.

    Parameters
    ----------
    atoms : array_like
        Atoms of shape ``(p, m)``. Zero atoms are allowed; no code uses them.
    pictures : tuple of ndarray, optional
        Pictures whose windows, in row order and one picture after another, are the atoms. Coders use them to compute
        correlations with the patches of an image faster.
    patch_shape : tuple of int, optional
        Shape of the windows. Required with `pictures`.

    See Also
    --------
    Epitome : Its attribute `dictionary` has the pictures set.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Dictionary
    >>> dictionary = Dictionary(np.array([[3.0, 4.0], [0.0, 2.0]]))
    >>> dictionary.n_atoms, dictionary.patch_size
    (2, 2)
    >>> dictionary.norms
    array([5., 2.])
    >>> dictionary.unit
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    atoms: Array
    pictures: tuple[Array, ...] | None = None
    patch_shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        atoms = as_floats("atoms", self.atoms, ndim=2)
        object.__setattr__(self, "atoms", read_only(atoms))
        if self.pictures is None:
            return
        if self.patch_shape is None:
            raise ValueError("pictures need patch_shape, the shape of the windows that are the atoms")
        patch = as_shape("patch_shape", self.patch_shape)
        pictures = tuple(read_only(as_floats("picture", picture, dtype=atoms.dtype)) for picture in self.pictures)
        n_windows = 0
        for picture in pictures:
            if picture.ndim != len(patch) or any(h < w for h, w in zip(picture.shape, patch, strict=True)):
                raise ValueError(f"patch_shape {patch} does not fit in a picture of shape {picture.shape}")
            n_windows += math.prod(h - w + 1 for h, w in zip(picture.shape, patch, strict=True))
        if (n_windows, math.prod(patch)) != atoms.shape:
            raise ValueError(
                f"the pictures have {n_windows} windows of {math.prod(patch)} pixels, the atoms are {atoms.shape}"
            )
        object.__setattr__(self, "pictures", pictures)
        object.__setattr__(self, "patch_shape", patch)

    @property
    def n_atoms(self) -> int:
        """Number of atoms, `p`."""
        return int(self.atoms.shape[0])

    @property
    def patch_size(self) -> int:
        """Number of pixels of an atom, `m`."""
        return int(self.atoms.shape[1])

    def __reduce__(self) -> tuple[type[Dictionary], tuple[object, ...]]:
        return Dictionary, (self.atoms, self.pictures, self.patch_shape)  # engines cannot be pickled

    @cached_property
    def norms(self) -> Array:
        """Norms of the atoms, `(p,)`."""
        squares = np.einsum("pm,pm->p", self.atoms, self.atoms, dtype=np.float64)
        norms = np.sqrt(squares).astype(self.atoms.dtype)
        norms[norms < np.finfo(self.atoms.dtype).tiny] = 0.0  # too small to divide by
        return read_only(norms)

    @cached_property
    def unit(self) -> Array:
        """Atoms scaled to norm 1, `(p, m)`; zero atoms stay zero."""
        safe = np.where(self.norms > 0, self.norms, 1)
        return read_only(np.where(self.norms[:, None] > 0, self.atoms / safe[:, None], 0).astype(self.atoms.dtype))

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of the unit atoms, `(p, p)`."""
        return read_only(self.engine.correlate(kernels.Rows(self.unit, None)))

    @cached_property
    def engine(self) -> kernels.Engine:
        """Unit atoms, prepared for coding."""
        if self.pictures is None or self.patch_shape is None or not _is_flat(self.pictures, self.patch_shape):
            return kernels.make_engine(self.unit, self.norms)
        height, width = self.patch_shape[:2]
        planes = tuple(picture.reshape(*picture.shape[:2], -1) for picture in self.pictures)
        return kernels.make_engine(self.unit, self.norms, planes, (height, width))

    def astype(self, dtype: np.dtype[np.floating]) -> Dictionary:
        """Convert the dictionary to another dtype.

        Parameters
        ----------
        dtype : numpy.dtype
            The dtype float32 or float64.

        Returns
        -------
        Dictionary
            The same atoms in this dtype. Conversions are cached; without a change, the dictionary itself is returned.
        """
        if dtype == self.atoms.dtype:
            return self
        cache: dict[np.dtype[np.floating], Dictionary] = self._conversions
        if dtype not in cache:
            pictures = None if self.pictures is None else tuple(picture.astype(dtype) for picture in self.pictures)
            cache[dtype] = Dictionary(self.atoms.astype(dtype), pictures, self.patch_shape)
        return cache[dtype]

    @cached_property
    def _conversions(self) -> dict[np.dtype[np.floating], Dictionary]:
        return {}


def _is_flat(pictures: tuple[Array, ...], patch_shape: tuple[int, ...]) -> bool:
    """Tell whether windows slide along two axes only; a third axis must be channels, all of them in every window."""
    if len(patch_shape) == 2:
        return True
    return len(patch_shape) == 3 and all(picture.shape[2] == patch_shape[2] for picture in pictures)
