"""GatherPhi: every entry of the dictionary copies one pixel of the epitome (paper, appendix B).

Each row of `R` then contains a single 1, so `R'R` is diagonal: it counts how many entries copy each pixel, and phi* is
the average over these copies. All maps of the paper are of this kind. They differ only in their index pictures. An
index picture has as many axes as a patch, its entries are indices of pixels of the epitome, and its windows are the
atoms. A pixel may appear several times, which is all that periodic borders and turned atoms need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array, as_mask, as_shape
from epitomes.phi.protocol import checked_atoms, checked_epitome, in_dtype_of, require_table

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class GatherPhi:
    """Map that copies pixels of the epitome into atoms by a table of indices.

    Most users create one with `windows`, `flat`, `shift_invariant`, `turned` or `union`.

    Parameters
    ----------
    epitome_shape : tuple of int
        Shape of the epitome.
    patch_shape : tuple of int
        Shape of a patch.
    pictures : tuple of ndarray of int
        Index pictures, with as many axes as a patch. An entry is the flat index of a pixel of the epitome. The atoms
        are all windows of these pictures, in row order, one picture after another.
    support : ndarray of bool, optional
        Mask of shape `patch_shape`: the pixels of the patch that an atom contains. None means all of them.
    part_shapes : tuple of tuple of int, optional
        Epitome shapes of the parts, if this map is a union.

    Raises
    ------
    ValueError
        If a pixel of the epitome appears in no atom, or an index picture is smaller than a patch.

    See Also
    --------
    windows : All overlapping patches of one or several epitomes.
    MatrixPhi : Maps whose atoms are linear combinations of pixels.

    Notes
    -----
    ``D = E.ravel()[index]``. Each row of the matrix `R` contains a single 1, so `R'R` is the diagonal matrix of
    `counts`, and `average` is the mean over the copies of each pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import GatherPhi
    >>> phi = GatherPhi((4,), (2,), (np.array([0, 1, 2, 3, 0]),))  # a ring of four pixels
    >>> phi([10.0, 11.0, 12.0, 13.0])
    array([[10., 11.],
           [11., 12.],
           [12., 13.],
           [13., 10.]])
    """

    epitome_shape: tuple[int, ...]
    patch_shape: tuple[int, ...]
    pictures: tuple[Index, ...]
    support: NDArray[np.bool_] | None = None
    part_shapes: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        shape = as_shape("epitome_shape", self.epitome_shape)
        patch = as_shape("patch_shape", self.patch_shape)
        pictures = tuple(_checked_picture(i, p, patch, math.prod(shape)) for i, p in enumerate(self.pictures))
        if not pictures:
            raise ValueError("pictures needs at least one index picture, got none")
        if self.part_shapes and sum(map(math.prod, self.part_shapes)) != math.prod(shape):
            raise ValueError(
                f"part_shapes {self.part_shapes} must add up to the {math.prod(shape)} pixels of epitome_shape {shape}"
            )
        object.__setattr__(self, "epitome_shape", shape)
        object.__setattr__(self, "patch_shape", patch)
        object.__setattr__(self, "pictures", pictures)
        object.__setattr__(self, "support", checked_support(self.support, patch))
        require_table("the index table", self.n_atoms, self.patch_size)
        self._require_injective()

    @cached_property
    def n_atoms(self) -> int:
        """Number of atoms: the windows of all index pictures."""
        return sum(count_windows(picture.shape, self.patch_shape) for picture in self.pictures)

    @cached_property
    def patch_size(self) -> int:
        """Number of pixels of an atom."""
        return math.prod(self.patch_shape) if self.support is None else int(self.support.sum())

    @cached_property
    def index(self) -> Index:
        """Flat index of the pixel of the epitome that each entry of the dictionary copies, `(p, m)`."""
        tables = []
        for picture in self.pictures:
            seen = sliding_window_view(picture, self.patch_shape)
            seen = seen if self.support is None else seen[..., self.support]
            tables.append(seen.reshape(-1, self.patch_size))
        return _frozen(np.ascontiguousarray(np.concatenate(tables)))  # indexing with a mask gives Fortran order

    @cached_property
    def counts(self) -> Index:
        """Number of entries of the dictionary that copy each pixel of the epitome: the diagonal of `R'R`."""
        counts = np.bincount(self.index.reshape(-1), minlength=math.prod(self.epitome_shape))
        return _frozen(counts.astype(np.intp, copy=False).reshape(self.epitome_shape))

    def __call__(self, epitome: ArrayLike) -> Array:
        """Compute the dictionary `D = phi(E)`, `(p, m)`."""
        return checked_epitome(self, epitome).reshape(-1)[self.index]

    def adjoint(self, atoms: ArrayLike) -> Array:
        """Apply the adjoint `R'`: each pixel receives the sum of the entries that copy it.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Array of shape `epitome_shape`, summed in float64 and returned in the dtype of `atoms`.
        """
        D = checked_atoms(self, atoms)
        return in_dtype_of(D, self._sums(D))

    def average(self, atoms: ArrayLike) -> Array:
        """Compute the epitome whose dictionary is nearest to `atoms`: the mean of the entries that copy each pixel.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Epitome of shape `epitome_shape`, in the dtype of `atoms`: the paper's phi*, `(R'R)^-1 R' D`.
        """
        D = checked_atoms(self, atoms)
        return in_dtype_of(D, self._sums(D) / self.counts)

    def atom_pictures(self, epitome: ArrayLike) -> tuple[Array, ...] | None:
        """Compute the pictures whose windows are the atoms.

        Parameters
        ----------
        epitome : array_like
            Epitome of shape `epitome_shape`.

        Returns
        -------
        tuple of ndarray or None
            One picture per index picture. Their windows, in row order and one picture after another, are the atoms.
            None if the map has a support, since its atoms are no rectangles.
        """
        if self.support is not None:
            return None
        pixels = checked_epitome(self, epitome).reshape(-1)
        return tuple(pixels[picture] for picture in self.pictures)

    def _sums(self, D: Array) -> NDArray[np.float64]:
        n_pixels = math.prod(self.epitome_shape)
        sums = np.bincount(self.index.reshape(-1), weights=D.reshape(-1), minlength=n_pixels)
        return np.asarray(sums, dtype=np.float64).reshape(self.epitome_shape)

    def _require_injective(self) -> None:
        unseen = self.counts == 0
        if not unseen.any():
            return
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(unseen)), self.epitome_shape))
        advice = "every pixel must appear in a picture"
        if self.support is not None:
            advice = 'use border="periodic", or a support that contains the corners of the patch'
        raise ValueError(
            f"phi must be injective, but {int(unseen.sum())} of the {unseen.size} pixels of the epitome are in no atom,"
            f" the first at index {first}: {advice}"
        )

    def __reduce__(self) -> tuple[type[GatherPhi], tuple[object, ...]]:
        # The tables are much larger than the pictures that define them: pickle the pictures only.
        return GatherPhi, (self.epitome_shape, self.patch_shape, self.pictures, self.support, self.part_shapes)

    def __repr__(self) -> str:
        held = "" if self.support is None else f", {self.patch_size} of {self.support.size} pixels"
        seen = "" if len(self.pictures) == 1 else f", {len(self.pictures)} pictures"
        return f"GatherPhi({self.epitome_shape} -> {self.n_atoms} atoms of {self.patch_shape}{held}{seen})"


def count_windows(shape: tuple[int, ...], patch: tuple[int, ...]) -> int:
    """Count the windows of shape `patch` in a picture: the product of `n - w + 1` over the axes."""
    return math.prod(n - w + 1 for n, w in zip(shape, patch, strict=True))


def _frozen(array: Index) -> Index:
    array.flags.writeable = False  # shared by all calls: writing to it would break the laws of phi
    return array


def _checked_picture(number: int, value: ArrayLike, patch: tuple[int, ...], n_pixels: int) -> Index:
    name = f"index picture {number}"
    picture = np.asarray(value)
    if picture.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got dtype {picture.dtype}")
    if picture.ndim != len(patch):
        raise ValueError(f"{name} needs {len(patch)} axes as the patch {patch}, got shape {picture.shape}")
    for axis, (length, width) in enumerate(zip(picture.shape, patch, strict=True)):
        if length < width:
            raise ValueError(
                f"patch_shape {patch} does not fit in {name}, shape {picture.shape}: axis {axis} needs at least {width}"
            )
    low, high = int(picture.min()), int(picture.max())
    if low < 0 or high >= n_pixels:
        raise ValueError(f"{name} must point to pixels 0 to {n_pixels - 1} of the epitome, got {low} to {high}")
    return _frozen(np.array(picture, dtype=np.intp, order="C"))


def checked_support(value: ArrayLike | None, patch: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Convert `value` to a mask of the patch with at least one pixel; None if it contains all pixels."""
    if value is None:
        return None
    support = as_mask("support", value, patch).copy()
    if not support.any():
        raise ValueError(f"support of shape {patch} holds no pixel: mark at least one as True")
    support.flags.writeable = False
    return None if support.all() else support
