"""Dictionary: the atoms that every coder receives, with what is computed from them once.

Coders work on unit atoms: a code on `D` is the code on `D / |d_j|` divided by the norms (paper, appendix A).
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
    """Atoms as rows `(p, m)`; zero atoms are allowed and never used.

    Where the atoms are all windows of some pictures, in row order and one picture after another, naming the pictures
    lets coders correlate image windows with them without looking at every product.
    """

    atoms: Array
    pictures: tuple[Array, ...] | None = None
    patch_shape: tuple[int, ...] | None = None  # of the windows of the pictures

    def __post_init__(self) -> None:
        atoms = as_floats("atoms", self.atoms, ndim=2)
        object.__setattr__(self, "atoms", read_only(atoms))
        if self.pictures is None:
            return
        if self.patch_shape is None:
            raise ValueError("pictures need patch_shape: the atoms are windows of that shape")
        patch = as_shape("patch_shape", self.patch_shape)
        pictures = tuple(read_only(as_floats("picture", picture, dtype=atoms.dtype)) for picture in self.pictures)
        n_windows = 0
        for picture in pictures:
            if picture.ndim != len(patch) or any(h < w for h, w in zip(picture.shape, patch, strict=True)):
                raise ValueError(f"a picture of shape {picture.shape} has no windows of shape {patch}")
            n_windows += math.prod(h - w + 1 for h, w in zip(picture.shape, patch, strict=True))
        if (n_windows, math.prod(patch)) != atoms.shape:
            raise ValueError(
                f"the pictures have {n_windows} windows of {math.prod(patch)} pixels, the atoms are {atoms.shape}"
            )
        object.__setattr__(self, "pictures", pictures)
        object.__setattr__(self, "patch_shape", patch)

    @property
    def n_atoms(self) -> int:
        """Number of atoms, p."""
        return int(self.atoms.shape[0])

    @property
    def patch_size(self) -> int:
        """Number of pixels of an atom, m."""
        return int(self.atoms.shape[1])

    def __reduce__(self) -> tuple[type[Dictionary], tuple[object, ...]]:
        return Dictionary, (self.atoms, self.pictures, self.patch_shape)  # a prepared engine cannot be copied

    @cached_property
    def norms(self) -> Array:
        """`(p,)` lengths of the atoms."""
        squares = np.einsum("pm,pm->p", self.atoms, self.atoms, dtype=np.float64)
        norms = np.sqrt(squares).astype(self.atoms.dtype)
        norms[norms < np.finfo(self.atoms.dtype).tiny] = 0.0  # too short to divide by
        return read_only(norms)

    @cached_property
    def unit(self) -> Array:
        """`(p, m)` atoms of length one; zero atoms stay zero."""
        safe = np.where(self.norms > 0, self.norms, 1)
        return read_only(np.where(self.norms[:, None] > 0, self.atoms / safe[:, None], 0).astype(self.atoms.dtype))

    @cached_property
    def gram(self) -> Array:
        """`(p, p)` products of the unit atoms."""
        return read_only(self.engine.correlate(kernels.Rows(self.unit, None)))

    @cached_property
    def engine(self) -> kernels.Engine:
        """The unit atoms, prepared for coding."""
        if self.pictures is None or self.patch_shape is None or not _is_flat(self.pictures, self.patch_shape):
            return kernels.make_engine(self.unit, self.norms)
        height, width = self.patch_shape[:2]
        planes = tuple(picture.reshape(*picture.shape[:2], -1) for picture in self.pictures)
        return kernels.make_engine(self.unit, self.norms, planes, (height, width))

    def astype(self, dtype: np.dtype[np.floating]) -> Dictionary:
        """The same atoms in float32 or float64; itself where nothing changes."""
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
    """Whether windows slide over two axes only; a third axis must be channels, all of them in every window."""
    if len(patch_shape) == 2:
        return True
    return len(patch_shape) == 3 and all(picture.shape[2] == patch_shape[2] for picture in pictures)
