"""Descriptions: an index-table phi as a few words that a file can store, and back.

A `GatherPhi` keeps its pictures, not the calls that made it. `describe` finds these calls and verifies them: it builds
the phi again and compares every index. A description is therefore exact, or there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from epitomes.phi._union import UnionPhi, union
from epitomes.phi._windows import Border, turned, windows
from epitomes.phi.gather import GatherPhi, Index, count_windows
from epitomes.phi.protocol import Phi

Turns = Literal["none", "flips", "quarter turns", "all"]
TURNS: tuple[Turns, ...] = get_args(Turns)
BORDERS: tuple[Border, ...] = get_args(Border)

ADVICE = "keep the pixels with numpy.save and the lines that make phi"


@dataclass(frozen=True)
class Part:
    """One epitome, or several of the same shape: the arguments of `windows` and `turned`."""

    shape: tuple[int, ...]  # with one axis more than the patch, the first one counts several epitomes
    border: tuple[Border, ...]  # one word per axis of the patch
    turns: Turns


@dataclass(frozen=True)
class Description:
    """Everything that is needed to build an index-table phi."""

    patch_shape: tuple[int, ...]
    support: str | None  # "0" or "1" for each pixel of the patch, in row order; None: all of them
    parts: tuple[Part, ...]
    joined: bool  # made by union: the pixels of the parts are concatenated

    @property
    def patch_size(self) -> int:
        """Number of pixels of an atom."""
        return math.prod(self.patch_shape) if self.support is None else self.support.count("1")

    def most_atoms(self) -> int:
        """Compute an upper bound of the number of atoms, in Python ints: without overflow and without allocation."""
        return sum(_most_atoms(part, self.patch_shape) for part in self.parts)

    def build(self) -> GatherPhi:
        """Build the phi; raise a ValueError if the description is inconsistent."""
        if not self.parts or (len(self.parts) > 1 and not self.joined):
            raise ValueError(f"a phi needs one part, or several that are joined, got {len(self.parts)}")
        phis = [_build_part(part, self.patch_shape, _mask(self.support, self.patch_shape)) for part in self.parts]
        if not self.joined:
            return phis[0]
        made = union(*phis)
        assert isinstance(made, GatherPhi)  # because all parts are
        return made


def describe(phi: Phi) -> Description:
    """Find the description that builds exactly this phi; raise a TypeError if there is none."""
    if isinstance(phi, UnionPhi):
        phi = union(*phi.parts)
    if not isinstance(phi, GatherPhi):
        raise TypeError(f"only phis that copy pixels can be described in a file, got {phi!r}: {ADVICE}")
    shapes = phi.part_shapes or (phi.epitome_shape,)
    ends = np.cumsum([0, *map(math.prod, shapes)]).tolist()
    found = []
    for shape, (first, last) in zip(shapes, pairwise(ends), strict=True):
        pictures = [picture - first for picture in phi.pictures if first <= picture.flat[0] < last]
        found.append(_describe_part(shape, phi.patch_shape, pictures))
    parts = tuple(part for part in found if part is not None)
    mask = None if phi.support is None else "".join("01"[int(used)] for used in phi.support.flat)
    description = Description(phi.patch_shape, mask, parts, bool(phi.part_shapes))
    if len(parts) < len(found) or not _same(description.build(), phi):
        raise TypeError(
            f"{phi!r} was not made by windows, turned or one union of them, so a file cannot describe it: {ADVICE}"
        )
    return description


def _describe_part(shape: tuple[int, ...], patch: tuple[int, ...], pictures: list[Index]) -> Part | None:
    several = len(shape) - len(patch)
    if several not in (0, 1) or not pictures:
        return None
    seen = zip(pictures[0].shape, shape[several:], strict=True)
    border: tuple[Border, ...] = tuple("valid" if here == length else "periodic" for here, length in seen)
    for turns in TURNS:
        part = Part(shape, border, turns)
        try:
            made = _build_part(part, patch, None)
        except ValueError:  # such patches cannot be turned, or the patch does not fit
            continue
        if _same_pictures(made.pictures, pictures):
            return part
    return None


def _build_part(part: Part, patch: tuple[int, ...], support: NDArray[np.bool_] | None) -> GatherPhi:
    phi = windows(part.shape, patch, border=part.border, support=support)
    if part.turns == "none":
        return phi
    return turned(phi, quarter_turns=part.turns != "flips", flips=part.turns != "quarter turns")


def _mask(support: str | None, patch: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if support is None:
        return None
    if len(support) != math.prod(patch) or not set(support) <= {"0", "1"}:
        raise ValueError(f"support needs a 0 or a 1 for each of the {math.prod(patch)} pixels of the patch {patch}")
    return np.array([letter == "1" for letter in support]).reshape(patch)


def _most_atoms(part: Part, patch: tuple[int, ...]) -> int:
    one = part.shape[len(part.shape) - len(patch) :]
    seen = tuple(
        length + (width - 1 if each == "periodic" else 0)
        for length, width, each in zip(one, patch, part.border, strict=True)
    )
    n_epitomes = math.prod(part.shape) // math.prod(one)
    upright = count_windows(seen, patch)
    if part.turns in ("none", "flips") or len(seen) < 2:
        return n_epitomes * upright * (1 if part.turns == "none" else 4)
    lying = math.prod(max(0, n - w + 1) for n, w in zip((seen[1], seen[0], *seen[2:]), patch, strict=True))
    return n_epitomes * (upright + lying) * (4 if part.turns == "all" else 2)


def _same(made: GatherPhi, phi: GatherPhi) -> bool:
    shapes = (made.epitome_shape, made.patch_shape, made.part_shapes)
    if shapes != (phi.epitome_shape, phi.patch_shape, phi.part_shapes) or (made.support is None) != (
        phi.support is None
    ):
        return False
    if made.support is not None and not np.array_equal(made.support, phi.support):  # type: ignore[arg-type]
        return False
    return _same_pictures(made.pictures, list(phi.pictures))


def _same_pictures(made: tuple[Index, ...], pictures: list[Index]) -> bool:
    return len(made) == len(pictures) and all(map(np.array_equal, made, pictures))
