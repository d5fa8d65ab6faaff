"""Patches: the overlapping windows of an image, as rows of a matrix that is never stored as a whole.

This is the paper's X, transposed: patches are rows. Images can have any number of axes: signals, grey and colour images
(patches contain all channels, the last axis), videos and volumes. Coders and learners read blocks of rows, and
`Aggregator` averages estimates of patches to an image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import kernels
from epitomes.checks import Array, Shape, as_floats, as_mask, as_shape, read_only, whole


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Patches:
    """All patches of an image on a grid of positions, numbered in row order and read in blocks.

    Parameters
    ----------
    image : array_like
        Array with any number of axes and any real dtype. It is copied only if its layout or dtype has to change.
    patch_shape : int or sequence of int
        Shape of a patch. A single number applies to every axis.
    stride : int or sequence of int, optional
        Steps between neighbouring patches. The last position that fits is always included, so that the patches cover
        the border for any stride up to the patch length.
    centred : bool, optional
        Whether `rows` subtracts the mean of each patch.
    support : array_like of bool, optional
        Mask of shape `patch_shape`: the pixels of the patch that a row contains. By default, all of them.
    level : float, optional
        Reference grey level, which some kernels subtract to keep rounding errors small. By default, the mean of the
        image. Crops keep the level of the whole image.
    chosen : array_like of int, optional
        Positions along the first axis, instead of those of `stride`. Usually set by `lines`.

    Raises
    ------
    ValueError
        If the patch does not fit in the image, or if the image contains NaN, infinite or extremely large values.

    See Also
    --------
    Aggregator : Average overlapping estimates of patches to an image.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Patches
    >>> patches = Patches(np.arange(12.0).reshape(3, 4), (2, 2))
    >>> patches
    Patches(6 rows of 4 pixels, image (3, 4) float64, patch (2, 2), stride (1, 1), centred)
    >>> rows, means = patches.rows(0, 2)
    >>> rows
    array([[-2.5, -1.5,  1.5,  2.5],
           [-2.5, -1.5,  1.5,  2.5]])
    >>> means
    array([2.5, 3.5])
    """

    image: Array  # read-only, C-contiguous, float32 or float64
    patch_shape: tuple[int, ...]  # one length per axis of the image
    stride: tuple[int, ...]  # one step per axis
    centred: bool  # whether rows are returned without their mean
    support: NDArray[np.bool_] | None  # pixels of the patch in use; None: all of them
    level: float  # grey level of the whole image, the same for all its crops
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
        _require_fitting(patch, pixels.shape)
        if not isinstance(centred, (bool, np.bool_)):
            raise TypeError(f"centred must be True or False, got {centred!r}")
        setting = object.__setattr__  # the fields are frozen
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
        """Positions of the patches along each axis, as a tuple of integer arrays."""
        grids = []
        for length, width, step in zip(self.image.shape, self.patch_shape, self.stride, strict=True):
            last = length - width
            grids.append(read_only(np.append(np.arange(0, last, step, dtype=np.intp), np.intp(last))))
        if self.chosen is not None:
            grids[0] = self.chosen
        return tuple(grids)

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """Offsets `(m,)` of the pixels of a patch from its first corner, in the flat image."""
        mask = np.ones(self.patch_shape, np.bool_) if self.support is None else self.support
        return read_only(np.ravel_multi_index(np.nonzero(mask), self.image.shape).astype(np.intp))

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Number of positions along each axis, as a tuple."""
        return tuple(len(grid) for grid in self.positions)

    @property
    def n_patches(self) -> int:
        """Number of patches, `n`."""
        return math.prod(self.grid_shape)

    @property
    def patch_size(self) -> int:
        """Number of pixels of a patch, `m`."""
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
        """Return the positions of patches in the flat image.

        Parameters
        ----------
        first : int
            Number of the first patch.
        last : int
            Number of the patch after the last one.

        Returns
        -------
        ndarray of int
            Flat index of the first corner of the patches `first` to ``last - 1``.
        """
        first, last = whole("first", first, least=0), whole("last", last, least=0)
        if not first <= last <= self.n_patches:
            raise ValueError(f"rows {first} to {last} are not a range within the {self.n_patches} patches")
        return self._starts_of(np.arange(first, last, dtype=np.intp))

    def rows(self, first: int, last: int) -> tuple[Array, Array]:
        """Return consecutive patches as rows.

        Parameters
        ----------
        first : int
            Number of the first patch.
        last : int
            Number of the patch after the last one.

        Returns
        -------
        rows : ndarray
            Patches `first` to ``last - 1``, of shape ``(last - first, m)``.
        means : ndarray
            Means that were subtracted, of shape ``(last - first,)``. Zeros if the patches are not centred.
        """
        return kernels.gather(self.image.reshape(-1), self.starts(first, last), self.offsets, self.centred)

    def at_index(self, indices: ArrayLike) -> tuple[Array, Array]:
        """Return any patches as rows, for example a random sample.

        Parameters
        ----------
        indices : array_like of int
            Numbers of the patches, in any order, repetitions allowed.

        Returns
        -------
        rows : ndarray
            Patches of shape ``(len(indices), m)``.
        means : ndarray
            Means that were subtracted, of shape ``(len(indices),)``. Zeros if the patches are not centred.
        """
        starts = self._starts_of(_as_indices(indices, self.n_patches))
        return kernels.gather(self.image.reshape(-1), starts, self.offsets, self.centred)

    def lines(self, indices: ArrayLike) -> Patches:
        """Select lines of patches: those at some of the positions along the first axis.

        Parameters
        ----------
        indices : array_like of int
            Numbers of the lines, as indices into ``positions[0]``, in any order.

        Returns
        -------
        Patches
            Patches of these lines. The image is shared, not copied.

        Notes
        -----
        Coders compute correlations of neighbouring patches together, so lines are much cheaper to code than a random
        sample of patches.
        """
        positions = self.positions[0][_as_indices(indices, len(self.positions[0]))]
        return self._sharing(self.image, _as_chosen(positions, self.image.shape[0] - self.patch_shape[0]))

    def crop(self, window: Sequence[slice]) -> Patches:
        """Return the patches of a part of the image.

        Parameters
        ----------
        window : sequence of slice
            One slice per axis of the image, without a step and within the image.

        Returns
        -------
        Patches
            Patches of the part. Their grid of positions begins at its corner.

        Notes
        -----
        The grey level stays that of the whole image, so that the code of a patch has the same bits in every tile. Tiles
        that overlap by the patch length minus 1 contain all patches of their inner pixels.
        """
        window = tuple(window)
        if len(window) != self.image.ndim:
            raise ValueError(f"window needs {self.image.ndim} slices, one per axis of the image, got {len(window)}")
        for axis, part in enumerate(window):
            _require_inside(axis, part, self.image.shape[axis])
        image = self.image[window]
        _require_fitting(self.patch_shape, image.shape)
        return self._sharing(read_only(np.ascontiguousarray(image)), None)

    def _sharing(self, image: Array, chosen: NDArray[np.intp] | None) -> Patches:
        """Make patches of the same form from checked pixels, without reading them again."""
        patches = object.__new__(Patches)
        for field in fields(self):
            object.__setattr__(patches, field.name, getattr(self, field.name))
        object.__setattr__(patches, "image", image)
        object.__setattr__(patches, "chosen", chosen)
        return patches

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


def _require_fitting(patch: tuple[int, ...], shape: tuple[int, ...]) -> None:
    for axis, (have, need) in enumerate(zip(shape, patch, strict=True)):
        if need > have:
            raise ValueError(
                f"patch_shape {patch} does not fit in the image of shape {shape}: "
                f"axis {axis} has length {have}, the patch needs {need}"
            )


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
    return None if mask.all() else read_only(mask.copy())  # full rectangles have faster kernels


def _as_level(level: float | None, pixels: Array) -> float:
    if level is None:
        return float(pixels.dtype.type(pixels.mean(dtype=np.float64)))
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, float, np.integer, np.floating)):
        raise TypeError(f"level must be a number, got {level!r}")
    if not abs(float(level)) <= float(np.finfo(pixels.dtype).max):
        raise ValueError(f"level must be a finite {pixels.dtype} number, got {level}")
    return float(pixels.dtype.type(level))


def _require_summable(pixels: Array, patch_size: int) -> None:
    """Refuse values so large that the mean would be infinite."""
    peak = max(abs(float(pixels.min())), abs(float(pixels.max())))
    limit = min(float(np.finfo(pixels.dtype).max) / patch_size, float(np.finfo(np.float64).max) / pixels.size)
    if peak > limit:
        raise ValueError(
            f"image holds values up to {peak:.3g}, too large to sum in {pixels.dtype}: scale it below {limit:.3g}"
        )


def _require_inside(axis: int, part: slice, length: int) -> None:
    """Refuse slices that Python would wrap or shorten silently: the tile would be elsewhere than expected."""
    if not isinstance(part, slice):
        raise TypeError(f"window along axis {axis} must be a slice, got {part!r}")
    if part.step not in (None, 1):
        raise ValueError(f"window along axis {axis} must be a slice without a step, got {part!r}")
    begin = 0 if part.start is None else whole(f"start of the window along axis {axis}", part.start, least=0)
    end = length if part.stop is None else whole(f"stop of the window along axis {axis}", part.stop, least=1)
    if not begin < end <= length:
        raise ValueError(f"window along axis {axis} goes from {begin} to {end}, the image from 0 to {length}")
