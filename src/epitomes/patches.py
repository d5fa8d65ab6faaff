"""Patches: the overlapping windows of an image as rows of a matrix that is never in memory at once.

The paper's X (its columns x_i are our rows), for images of any number of axes: signals, pictures, colour (the last axis
at full length), video, volumes. Coders and learners ask for blocks of rows; `Aggregator` makes the way back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import kernels
from epitomes.checks import Array, Shape, as_floats, as_mask, as_shape, read_only, whole


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Patches:
    """All patches of an image on a grid of positions, numbered in row order and read block by block.

    Along each axis the positions are 0, s, 2s, ... and always the last one that fits, so that no border pixel is lost
    whatever the stride. The image is kept as a read-only view, copied only when its layout or dtype needs it.
    """

    image: Array  # C-contiguous, float32 or float64
    patch_shape: tuple[int, ...]  # one length per axis of the image
    stride: tuple[int, ...]  # steps between positions, one per axis
    centred: bool  # rows come without their mean
    support: NDArray[np.bool_] | None  # pixels of the patch in use; None: the full rectangle
    level: float  # reference grey level of the whole image, the same for all its crops
    chosen: NDArray[np.intp] | None  # positions along the first axis; None: those of the stride

    def __init__(
        self,
        image: ArrayLike,
        patch_shape: Shape,
        stride: Shape = 1,
        centred: bool = True,
        support: ArrayLike | None = None,
        *,
        level: float | None = None,  # None: the mean of the image
        chosen: ArrayLike | None = None,
    ) -> None:
        pixels = _as_image(image)
        patch = as_shape("patch_shape", patch_shape, ndim=pixels.ndim)
        for axis, (have, need) in enumerate(zip(pixels.shape, patch, strict=True)):
            if need > have:
                raise ValueError(
                    f"patch_shape {patch} does not fit in the image of shape {pixels.shape}: "
                    f"axis {axis} has length {have}, the patch needs {need}"
                )
        if not isinstance(centred, (bool, np.bool_)):
            raise TypeError(f"centred must be True or False, got {centred!r}")
        setting = object.__setattr__  # the fields are frozen for everybody else
        setting(self, "image", pixels)
        setting(self, "patch_shape", patch)
        setting(self, "stride", as_shape("stride", stride, ndim=pixels.ndim))
        setting(self, "centred", bool(centred))
        setting(self, "support", None if support is None else _as_support(support, patch))
        _require_summable(pixels, self.patch_size)
        setting(self, "level", _as_level(level, pixels))
        setting(self, "chosen", None if chosen is None else _as_chosen(chosen, pixels.shape[0] - patch[0]))

    @cached_property
    def positions(self) -> tuple[NDArray[np.intp], ...]:
        """Where patches begin, along each axis."""
        grids = []
        for length, width, step in zip(self.image.shape, self.patch_shape, self.stride, strict=True):
            last = length - width
            grids.append(read_only(np.append(np.arange(0, last, step, dtype=np.intp), np.intp(last))))
        if self.chosen is not None:
            grids[0] = self.chosen
        return tuple(grids)

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """`(m,)` distances, in the flat image, from the first pixel of a patch's rectangle to its pixels."""
        mask = np.ones(self.patch_shape, np.bool_) if self.support is None else self.support
        return read_only(np.ravel_multi_index(np.nonzero(mask), self.image.shape).astype(np.intp))

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Number of positions along each axis."""
        return tuple(len(grid) for grid in self.positions)

    @property
    def n_patches(self) -> int:
        """Number of rows, n."""
        return math.prod(self.grid_shape)

    @property
    def patch_size(self) -> int:
        """Number of pixels of a patch, m."""
        return math.prod(self.patch_shape) if self.support is None else int(self.support.sum())

    def __len__(self) -> int:
        return self.n_patches

    def __repr__(self) -> str:
        form = "" if self.support is None else ", support given"
        return (
            f"Patches({self.n_patches} rows of {self.patch_size} pixels, image {self.image.shape} {self.image.dtype}, "
            f"patch {self.patch_shape}, stride {self.stride}{form}, {'centred' if self.centred else 'not centred'})"
        )

    def starts(self, first: int, last: int) -> NDArray[np.intp]:
        """Positions in the flat image of the first pixels of patches `first` to `last - 1`."""
        first, last = whole("first", first, least=0), whole("last", last, least=0)
        if not first <= last <= self.n_patches:
            raise ValueError(f"rows {first} to {last} are not a range within the {self.n_patches} patches")
        return self._starts_of(np.arange(first, last, dtype=np.intp))

    def rows(self, first: int, last: int) -> tuple[Array, Array]:
        """Patches `first` to `last - 1` as rows `(b, m)`, and the means `(b,)` taken away (zeros if not centred)."""
        return kernels.gather(self.image.reshape(-1), self.starts(first, last), self.offsets, self.centred)

    def at_index(self, indices: ArrayLike) -> tuple[Array, Array]:
        """The same as `rows`, for patches in any order and number: samples, permutations."""
        starts = self._starts_of(_as_indices(indices, self.n_patches))
        return kernels.gather(self.image.reshape(-1), starts, self.offsets, self.centred)

    def lines(self, indices: ArrayLike) -> Patches:
        """The patches at some positions of the first axis, given by their numbers in `positions[0]`, in that order.

        A line of patches shares what neighbours share, so lines are the cheapest sample of an image.
        """
        numbers = _as_indices(indices, len(self.positions[0]))
        return replace(self, chosen=self.positions[0][numbers])

    def crop(self, window: Sequence[slice]) -> Patches:
        """Patches of a part of the image, for tiles: one slice per axis, within the image.

        The grid of positions begins anew at the corner of the window. The grey level stays that of the whole, so that a
        patch gives the same bits in every tile. A halo of patch length - 1 makes the inner pixels of a tile complete.
        """
        window = tuple(window)
        if len(window) != self.image.ndim:
            raise ValueError(f"window needs {self.image.ndim} slices, one per axis of the image, got {len(window)}")
        for axis, part in enumerate(window):
            _require_inside(axis, part, self.image.shape[axis])
        return replace(self, image=self.image[window], chosen=None)

    def _starts_of(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        starts = np.zeros(len(indices), np.intp)
        for axis, places in enumerate(np.unravel_index(indices, self.grid_shape)):
            starts += self.positions[axis][places] * math.prod(self.image.shape[axis + 1 :])
        return starts


def _as_image(image: ArrayLike) -> Array:
    pixels = as_floats("image", image)
    if pixels.ndim == 0:
        raise ValueError("image needs at least one axis, got a single number")
    return read_only(pixels)


def _as_indices(indices: ArrayLike, n: int) -> NDArray[np.intp]:
    numbers = np.asarray(indices)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise TypeError(
            f"indices must be one row of whole numbers, got dtype {numbers.dtype} and shape {numbers.shape}"
        )
    outside = (numbers < 0) | (numbers >= n)
    if outside.any():
        raise IndexError(f"indices must be in 0 ... {n - 1}, got {numbers[outside][0]}")
    return numbers.astype(np.intp)


def _as_chosen(chosen: ArrayLike, last: int) -> NDArray[np.intp]:
    positions = _as_indices(chosen, last + 1)
    if not len(positions):
        raise ValueError("chosen is empty: name at least one position along the first axis")
    return read_only(positions)


def _as_support(support: ArrayLike, patch: tuple[int, ...]) -> NDArray[np.bool_] | None:
    mask = as_mask("support", support, patch)
    if not mask.any():
        raise ValueError(f"support of shape {patch} is False everywhere: a patch needs at least one pixel")
    return None if mask.all() else read_only(mask.copy())  # the full rectangle has the faster kernels


def _as_level(level: float | None, pixels: Array) -> float:
    if level is None:
        return float(pixels.dtype.type(pixels.mean(dtype=np.float64)))
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, float, np.integer, np.floating)):
        raise TypeError(f"level must be a number, got {level!r}")
    if not abs(float(level)) <= float(np.finfo(pixels.dtype).max):
        raise ValueError(f"level must be a finite {pixels.dtype} number, got {level}")
    return float(pixels.dtype.type(level))


def _require_summable(pixels: Array, patch_size: int) -> None:
    """Refuse finite values so large that a mean would be infinite."""
    peak = max(abs(float(pixels.min())), abs(float(pixels.max())))
    limit = min(float(np.finfo(pixels.dtype).max) / patch_size, float(np.finfo(np.float64).max) / pixels.size)
    if peak > limit:
        raise ValueError(
            f"image holds values up to {peak:.3g}, too large to sum in {pixels.dtype}: scale it below {limit:.3g}"
        )


def _require_inside(axis: int, part: slice, length: int) -> None:
    """Refuse slices that Python would wrap or cut in silence: a tile would not be where its maker thinks."""
    if not isinstance(part, slice):
        raise TypeError(f"window along axis {axis} must be a slice, got {part!r}")
    if part.step not in (None, 1):
        raise ValueError(f"window along axis {axis} must be a slice without a step, got {part!r}")
    begin = 0 if part.start is None else whole(f"start of the window along axis {axis}", part.start, least=0)
    end = length if part.stop is None else whole(f"stop of the window along axis {axis}", part.stop, least=1)
    if not begin < end <= length:
        raise ValueError(f"window along axis {axis} goes from {begin} to {end}, the image from 0 to {length}")
