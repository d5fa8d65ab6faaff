"""Unions: the dictionaries of several phis, one after the other, are the dictionary of one phi.

The epitomes are laid end to end as one vector of pixels. Epitomes of different sizes and shapes, or of different
kinds of phi, can thus be learned together; `split` gives them back in their shapes.
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
    """The phi whose atoms are those of all `phis`, and whose epitome is the vector of all their pixels.

    The parts need the same patches. Index-table phis make one index-table phi, so coders still see its pictures.
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
    """The epitomes of the parts of a union, each in its own shape, as views of `epitome` where it is clean."""
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
    """Phis of any kind side by side: `R` is block-diagonal, so every verb works part by part."""

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
        """`(M,)`: the pixels of all parts end to end."""
        return (sum(math.prod(part.epitome_shape) for part in self.parts),)

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """That of every part."""
        return self.parts[0].patch_shape

    @property
    def support(self) -> NDArray[np.bool_] | None:
        """That of every part."""
        return support_of(self.parts[0])

    @cached_property
    def n_atoms(self) -> int:
        """The atoms of all parts."""
        return sum(part.n_atoms for part in self.parts)

    @property
    def patch_size(self) -> int:
        """That of every part."""
        return self.parts[0].patch_size

    def __call__(self, epitome: ArrayLike) -> Array:
        """`D = phi(E)`: the atoms of the parts, one part after the other."""
        pieces = split(self, epitome)
        return _joined([part(piece) for part, piece in zip(self.parts, pieces, strict=True)])

    def adjoint(self, atoms: ArrayLike) -> Array:
        """`R' D`, part by part."""
        return _joined([part.adjoint(D).reshape(-1) for part, D in self._with_atoms(atoms)])

    def average(self, atoms: ArrayLike) -> Array:
        """`(R'R)^-1 R' D`, part by part, since no pixel belongs to two parts."""
        return _joined([part.average(D).reshape(-1) for part, D in self._with_atoms(atoms)])

    def _with_atoms(self, atoms: ArrayLike) -> Iterator[tuple[Phi, Array]]:
        D = checked_atoms(self, atoms)
        ranges = _ranges(part.n_atoms for part in self.parts)
        yield from ((part, D[first:last]) for part, (first, last) in zip(self.parts, ranges, strict=True))

    def __repr__(self) -> str:
        return f"UnionPhi({', '.join(map(repr, self.parts))})"


def _ranges(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last + 1 index of each of several runs laid end to end."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


def _joined(pieces: list[Array]) -> Array:
    return cast(Array, np.concatenate(pieces))
