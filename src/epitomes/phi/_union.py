"""Unions: several maps as one, whose dictionary is the concatenation of their dictionaries.

The epitomes are concatenated to one vector of pixels. Epitomes of different shapes, or with different kinds of phi, can
therefore be learned together. `split` returns them in their own shapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array, as_shape
from epitomes.phi.gather import GatherPhi
from epitomes.phi.protocol import Phi, checked_atoms, checked_epitome, require_table, support_of


def union(*phis: Phi) -> GatherPhi | UnionPhi:
    """Combine several maps into one whose atoms are the atoms of all of them.

    Parameters
    ----------
    *phis : Phi
        Maps with the same patch shape and support.

    Returns
    -------
    GatherPhi or UnionPhi
        Map whose epitome is the vector of all pixels of the parts, one part after another. It is a `GatherPhi` if all
        parts are, so that coders can still use the overlap of its atoms.

    Raises
    ------
    ValueError
        If there is no part, or if the parts differ in patch shape or support.

    See Also
    --------
    split : Return the epitomes of the parts.

    Examples
    --------
    >>> from epitomes.phi import union, windows
    >>> phi = union(windows((20, 20), (8, 8)), windows((5, 12, 12), (8, 8)))
    >>> phi.epitome_shape, phi.n_atoms
    ((1120,), 294)
    """
    joined = UnionPhi(phis)
    gathers = [phi for phi in phis if isinstance(phi, GatherPhi)]
    if len(gathers) < len(phis):
        return joined
    shapes = tuple(phi.epitome_shape for phi in gathers)
    ranges = _ranges(math.prod(shape) for shape in shapes)
    pictures = tuple(
        picture + start for phi, (start, _) in zip(gathers, ranges, strict=True) for picture in phi.pictures
    )
    return GatherPhi(joined.epitome_shape, joined.patch_shape, pictures, joined.support, shapes)


def split(phi: Phi, epitome: ArrayLike) -> tuple[Array, ...]:
    """Split the epitome of a union into the epitomes of its parts.

    Parameters
    ----------
    phi : Phi
        Map made by `union`.
    epitome : array_like
        Epitome of shape ``phi.epitome_shape``.

    Returns
    -------
    tuple of ndarray
        The epitome of each part, in its own shape. They are views of `epitome` if it is a contiguous array of floats.

    Raises
    ------
    TypeError
        If `phi` was not made by `union`.

    See Also
    --------
    union : Combine several maps into one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.phi import split, union, windows
    >>> phi = union(windows((20, 20), (8, 8)), windows((5, 12, 12), (8, 8)))
    >>> [part.shape for part in split(phi, np.zeros(1120))]
    [(20, 20), (5, 12, 12)]
    """
    shapes: tuple[tuple[int, ...], ...] = ()
    if isinstance(phi, UnionPhi):
        shapes = tuple(part.epitome_shape for part in phi.parts)
    elif isinstance(phi, GatherPhi):
        shapes = phi.part_shapes
    if not shapes:
        raise TypeError(f"split needs a phi made by union(...), got {phi!r}")
    pixels = checked_epitome(phi, epitome)
    ranges = _ranges(math.prod(shape) for shape in shapes)
    return tuple(pixels[first:last].reshape(shape) for (first, last), shape in zip(ranges, shapes, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class UnionPhi:
    """Map whose atoms are the atoms of several maps of any kind.

    `union` creates it, unless all parts are index tables.

    Parameters
    ----------
    parts : tuple of Phi
        Maps with the same patch shape and support.

    See Also
    --------
    union : Combine several maps into one.

    Notes
    -----
    The matrix `R` is block-diagonal, so `adjoint` and `average` work part by part.

    Examples
    --------
    >>> from epitomes.phi import UnionPhi, subpixel, windows
    >>> plain = windows((10, 10), (4, 4))
    >>> phi = UnionPhi((plain, subpixel(plain, [[0.5, 0.5]])))
    >>> phi.epitome_shape, phi.n_atoms
    ((200,), 134)
    """

    parts: tuple[Phi, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise ValueError("union needs at least one phi, got none")
        for number, part in enumerate(self.parts):
            if not isinstance(part, Phi):
                raise TypeError(f"part {number} of the union must be a phi, got {type(part).__name__}")
            self._require_same_patches(number, part)
        as_shape("the epitome of the union", self.epitome_shape)
        require_table("the union", self.n_atoms, self.patch_size)

    def _require_same_patches(self, number: int, part: Phi) -> None:
        first = self.parts[0]
        ours, theirs = (first.patch_shape, first.patch_size), (part.patch_shape, part.patch_size)
        if ours != theirs:
            raise ValueError(
                f"all parts of a union need the same patches: part 0 has patch_shape {ours[0]} with {ours[1]} pixels, "
                f"part {number} has {theirs[0]} with {theirs[1]}"
            )
        one, other = (np.ones(ours[0], bool) if mask is None else mask for mask in map(support_of, (first, part)))
        if not np.array_equal(one, other):
            raise ValueError(f"all parts of a union need the same support: that of part {number} differs from part 0")

    @cached_property
    def epitome_shape(self) -> tuple[int, ...]:
        """Shape `(M,)` of the epitome: the pixels of all parts, one part after another."""
        return (sum(math.prod(part.epitome_shape) for part in self.parts),)

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """Shape of the patches that the atoms represent."""
        return self.parts[0].patch_shape

    @property
    def support(self) -> NDArray[np.bool_] | None:
        """Mask of the pixels in a patch that the atoms contain; None means all of them."""
        return support_of(self.parts[0])

    @cached_property
    def n_atoms(self) -> int:
        """Number of atoms of all parts."""
        return sum(part.n_atoms for part in self.parts)

    @property
    def patch_size(self) -> int:
        """Number of pixels of an atom."""
        return self.parts[0].patch_size

    def __call__(self, epitome: ArrayLike) -> Array:
        """Compute the dictionary `D = phi(E)`: the atoms of the parts, one part after another."""
        pieces = split(self, epitome)
        return _joined([part(piece) for part, piece in zip(self.parts, pieces, strict=True)])

    def adjoint(self, atoms: ArrayLike) -> Array:
        """Apply the adjoint `R'`, part by part.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Array of shape `epitome_shape`, in the dtype of `atoms`.
        """
        return _joined([part.adjoint(D).reshape(-1) for part, D in self._with_atoms(atoms)])

    def average(self, atoms: ArrayLike) -> Array:
        """Compute the epitome whose dictionary is nearest to `atoms`, part by part.

        Parameters
        ----------
        atoms : array_like
            Dictionary `D` of shape ``(n_atoms, patch_size)``.

        Returns
        -------
        ndarray
            Epitome of shape `epitome_shape`, in the dtype of `atoms`: the paper's phi*, `(R'R)^-1 R' D`.
        """
        return _joined([part.average(D).reshape(-1) for part, D in self._with_atoms(atoms)])

    def _with_atoms(self, atoms: ArrayLike) -> Iterator[tuple[Phi, Array]]:
        D = checked_atoms(self, atoms)
        ranges = _ranges(part.n_atoms for part in self.parts)
        yield from ((part, D[first:last]) for part, (first, last) in zip(self.parts, ranges, strict=True))

    def __repr__(self) -> str:
        return f"UnionPhi({', '.join(map(repr, self.parts))})"


def _ranges(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each of several consecutive runs."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


def _joined(pieces: list[Array]) -> Array:
    return cast(Array, np.concatenate(pieces))
