"""Masks of stored images: bad pixels, read by windows, and good pixels in their place, as in the whole image."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import distance_transform_edt, maximum_filter

from epitomes.filling import Flags, Pixels
from epitomes.formats import read
from epitomes.formats.stored import StoredImage, is_stored, open_stored, require_safe
from epitomes.layout import Layout

MOST_REACH = 4096  # pixels beyond a window in which good ones are looked for


@dataclass(frozen=True, eq=False)
class StoredMask:
    """A mask of which windows are read; it may lack axes of the image that it is for."""

    image: StoredImage
    letters: str  # of the image that it is for, one per axis of the mask; a blank: the axis has length 1
    path: str  # of the file, for other processes; empty: it is in memory
    name: str  # the same for the same mask

    def read(self, window: Mapping[str, slice], letters: str) -> Flags:
        """Read a window; the axes are those of `letters`, with length 1 where the mask has none."""
        own = {
            axis: window[letter] for axis, letter in zip(self.image.axes, self.letters, strict=True) if letter in window
        }
        bad = self.image.read(own) != 0
        kept = [letter for letter in self.letters if letter != " "]
        bad = bad.reshape([side for side, letter in zip(bad.shape, self.letters, strict=True) if letter != " "])
        order = [kept.index(letter) for letter in letters if letter in kept]
        return np.asarray(
            np.expand_dims(bad.transpose(order), [k for k, each in enumerate(letters) if each not in kept])
        )

    def saved(self, path: Path) -> StoredMask:
        """The mask in a file that other processes can read: its own, or this one."""
        if self.path:
            return self
        np.save(path, self.image.array, allow_pickle=False)
        return open_mask(str(path), self.letters)


def open_mask(path: str, letters: str) -> StoredMask:
    """Open a mask of which the axes are known."""
    if path.endswith(".npy"):
        return StoredMask(_in_memory(np.load(path, mmap_mode="r", allow_pickle=False)), letters, path, "")
    return StoredMask(open_stored(path), letters, path, path)


def mask_for(image: StoredImage, mask: ArrayLike | str | os.PathLike[str]) -> StoredMask:
    """Read what is given as a mask of an image, and refuse one that does not fit."""
    if isinstance(mask, (str, os.PathLike)) and is_stored(mask):
        found = open_stored(mask)
        require_safe(found.path)
        return StoredMask(found, _letters(image, found.shape, found.axes), str(found.path), str(found.path))
    given = read(mask).pixels if isinstance(mask, (str, os.PathLike)) else np.asarray(mask)
    if given.dtype.kind not in "bui":
        raise TypeError(f"mask must hold booleans or integers, non-zero at bad pixels, got dtype {given.dtype}")
    bad = np.ascontiguousarray(given != 0)
    return StoredMask(_in_memory(bad), _letters(image, bad.shape, ""), "", f"{zlib.crc32(bad.data):x}")


def _in_memory(array: Pixels) -> StoredImage:
    letters = "ABDEFGH"[: array.ndim]  # any: they are named after the axes of the image
    return StoredImage.of_array(array, letters, "mask")


def _letters(image: StoredImage, shape: tuple[int, ...], own: str) -> str:
    """Axes of the image that those of a mask are: by its shape, as in memory, or by the letters of its file."""
    layout = image.layout
    rest = image.axes if layout.channel_axis is None else image.axes.replace(image.axes[layout.channel_axis], "")
    sides = dict(zip(image.axes, image.shape, strict=True))
    allowed = {
        letters: tuple(sides[each] for each in letters)
        for letters in (image.axes, rest, rest[-layout.spatial :], rest[-2:])
    }
    for letters, needed in allowed.items():
        if shape == needed:
            return letters
    named = "".join(letter if side > 1 else " " for letter, side in zip(own, shape, strict=False))
    if own and all(letter == " " or sides.get(letter) == side for letter, side in zip(named, shape, strict=True)):
        return named
    raise ValueError(
        f"mask has shape {shape}, the image {image.shape}: the mask needs "
        f"{' or '.join(map(str, dict.fromkeys(allowed.values())))}"
    )


def reach_of_holes(bad: Flags, inner: tuple[slice, ...], halo: tuple[int, ...], layout: Layout) -> float:
    """How far outside a window good pixels may take the place of its bad ones; infinite if that is not known yet.

    Only bad pixels that reach into a good one of the inner part count, because the others change nothing that is kept.
    A mirror at the edge of a hole shows a pixel that is twice as far away as the edge.
    """
    good = np.zeros(bad.shape[: layout.spatial], np.bool_)
    inside = ~bad[inner]
    good[inner] = inside if layout.channel_axis is None else inside.any(axis=-1)
    near = maximum_filter(good, tuple(2 * each + 1 for each in halo), mode="constant")
    needed = bad & (near if layout.channel_axis is None else near[..., None])
    farthest = 0.0
    for plane, wanted in zip(layout.planes(bad), layout.planes(needed), strict=True):
        if wanted.any():
            farthest = math.inf if plane.all() else max(farthest, float(distance_transform_edt(plane)[wanted].max()))
    return 2 * farthest + 1
