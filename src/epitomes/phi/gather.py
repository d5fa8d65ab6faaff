"""GatherPhi: every entry of the dictionary copies one pixel of the epitome (paper, appendix B).

Each row of `R` then holds a single 1, so `R'R` is diagonal: it counts the atoms' entries that show each pixel, and
phi* is an average over them. All the maps of the paper are of this kind. They differ only in their index pictures:
pictures, of the rank of a patch, whose entries say which pixel of the epitome is seen there. The atoms are all the
windows of these pictures. One pixel may be seen in many places: tori and turned atoms need nothing more.
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
    """`D = E.ravel()[index]`: the atoms are the windows of index pictures. `windows` and its kin make them."""

    epitome_shape: tuple[int, ...]
    patch_shape: tuple[int, ...]
    pictures: tuple[Index, ...]  # of the rank of the patch; an entry is the flat index of a pixel of E
    support: NDArray[np.bool_] | None = None  # the pixels of the patch that an atom holds; None: the full rectangle
    part_shapes: tuple[tuple[int, ...], ...] = ()  # of a union: the epitome shapes of its parts

    def __post_init__(self) -> None:
        shape = as_shape("epitome_shape", self.epitome_shape)
        patch = as_shape("patch_shape", self.patch_shape)
        pictures = tuple(_checked_picture(i, p, patch, math.prod(shape)) for i, p in enumerate(self.pictures))
        if not pictures:
            raise ValueError("pictures needs at least one index picture, got none")
        if self.part_shapes and sum(map(math.prod, self.part_shapes)) != math.prod(shape):
            raise ValueError(
                f"part_shapes {self.part_shapes} must hold the pixels of epitome_shape {shape}, all and once"
            )
        object.__setattr__(self, "epitome_shape", shape)
        object.__setattr__(self, "patch_shape", patch)
        object.__setattr__(self, "pictures", pictures)
        object.__setattr__(self, "support", checked_support(self.support, patch))
        require_table("the index table", self.n_atoms, self.patch_size)
        self._require_injective()

    @cached_property
    def n_atoms(self) -> int:
        """The number of windows of all pictures."""
        return sum(count_windows(picture.shape, self.patch_shape) for picture in self.pictures)

    @cached_property
    def patch_size(self) -> int:
        """The number of pixels of an atom."""
        return math.prod(self.patch_shape) if self.support is None else int(self.support.sum())

    @cached_property
    def index(self) -> Index:
        """The pixel of E that each entry of D copies, `(p, m)`."""
        tables = []
        for picture in self.pictures:
            seen = sliding_window_view(picture, self.patch_shape)
            seen = seen if self.support is None else seen[..., self.support]
            tables.append(seen.reshape(-1, self.patch_size))
        return _frozen(np.ascontiguousarray(np.concatenate(tables)))  # a mask alone would leave columns together

    @cached_property
    def counts(self) -> Index:
        """How many entries of D copy each pixel, of the shape of E: the diagonal of `R'R`."""
        counts = np.bincount(self.index.reshape(-1), minlength=math.prod(self.epitome_shape))
        return _frozen(counts.astype(np.intp, copy=False).reshape(self.epitome_shape))

    def __call__(self, epitome: ArrayLike) -> Array:
        """`D = phi(E)`, `(p, m)`."""
        return checked_epitome(self, epitome).reshape(-1)[self.index]

    def adjoint(self, atoms: ArrayLike) -> Array:
        """`R' D`: every pixel gets the sum of the entries that copy it, summed in float64."""
        D = checked_atoms(self, atoms)
        return in_dtype_of(D, self._sums(D))

    def average(self, atoms: ArrayLike) -> Array:
        """`(R'R)^-1 R' D`, the paper's phi*: every pixel gets the mean of the entries that copy it."""
        D = checked_atoms(self, atoms)
        return in_dtype_of(D, self._sums(D) / self.counts)

    def atom_pictures(self, epitome: ArrayLike) -> tuple[Array, ...] | None:
        """The pictures whose windows, in row order, picture by picture, are the atoms; None if there is a support."""
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
        advice = "let the pictures show every pixel"
        if self.support is not None:
            advice = 'use border="periodic", or a support that contains the corners of the patch'
        raise ValueError(
            f"phi must be injective, but {int(unseen.sum())} of the {unseen.size} pixels of the epitome are in no atom,"
            f" the first at index {first}: {advice}"
        )

    def __reduce__(self) -> tuple[type[GatherPhi], tuple[object, ...]]:
        # The tables are far larger than the pictures that make them: send the pictures to files and workers.
        return GatherPhi, (self.epitome_shape, self.patch_shape, self.pictures, self.support, self.part_shapes)

    def __repr__(self) -> str:
        held = "" if self.support is None else f", {self.patch_size} of {self.support.size} pixels"
        seen = "" if len(self.pictures) == 1 else f", {len(self.pictures)} pictures"
        return f"GatherPhi({self.epitome_shape} -> {self.n_atoms} atoms of {self.patch_shape}{held}{seen})"


def count_windows(shape: tuple[int, ...], patch: tuple[int, ...]) -> int:
    """The number of windows of `patch` pixels in a picture: the product of `n - w + 1` over the axes."""
    return math.prod(n - w + 1 for n, w in zip(shape, patch, strict=True))


def _frozen(array: Index) -> Index:
    array.flags.writeable = False  # shared by all calls: a caller's change would break the laws
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
    """`value` as a mask of the patch with at least one pixel; None, the full rectangle, where it leaves none out."""
    if value is None:
        return None
    support = as_mask("support", value, patch).copy()
    if not support.any():
        raise ValueError(f"support of shape {patch} holds no pixel: mark at least one as True")
    support.flags.writeable = False
    return None if support.all() else support
