"""Planes: stacks, TIFF files and Zarr directories, of which a worker reads only some pictures.

The axes before those of a picture count pictures; how many axes a picture has depends on the epitome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.formats import ImageFileError
from epitomes.formats.errors import one_line
from epitomes.formats.registry import suffix_of
from epitomes.formats.stored import StoredImage, is_stored, open_stored, require_safe

Pixels = NDArray[Any]

LARGE = 2**25  # bytes: smaller files are read as a whole


@dataclass(frozen=True, eq=False)
class Planes:
    """A stack on disk. Its order of axes is the stored one, with colours last."""

    image: StoredImage

    @property
    def n_channels(self) -> int:
        """Number of colours."""
        return self.image.layout.n_channels or 1

    def stack(self, n_axes: int) -> tuple[int, ...]:
        """Return the lengths of the axes that count pictures of `n_axes` axes."""
        if n_axes < 2 + (self.n_channels > 1):
            raise ImageFileError(f"its pictures have {self.n_channels} channels, and the patches have {n_axes} axes")
        lengths = [self.image.shape[self.image.axes.index(letter)] for letter in self._order]
        return tuple(lengths[: max(0, len(lengths) - (self.n_channels == 1) * self._coloured - n_axes)])

    def read(self, first: int, last: int, n_axes: int) -> Pixels:
        """Read the pictures `first` to `last - 1`, stacked along a first axis."""
        stack = self.stack(n_axes)
        return np.stack([self._picture(np.unravel_index(number, stack)) for number in range(first, last)])

    @property
    def _coloured(self) -> bool:
        return self.image.layout.channel_axis is not None

    @property
    def _order(self) -> str:
        return f"{self.image.axes.replace('C', '')}C" if self._coloured else self.image.axes

    def _picture(self, place: tuple[Any, ...]) -> Pixels:
        window = {letter: slice(int(at), int(at) + 1) for letter, at in zip(self._order, place, strict=False)}
        try:
            pixels: Pixels = self.image.layout.canonical(self.image.read(window))[(0,) * len(place)]
        except (ImageFileError, MemoryError):
            raise
        except Exception as error:  # a decoder may raise anything on a damaged file
            raise ImageFileError(f"it is damaged ({one_line(error)}): get another copy") from error
        if self._coloured and self.n_channels == 1:
            pixels = pixels[..., 0]
        return pixels


def opened(path: Path) -> Planes:
    """Open a TIFF file or a Zarr directory."""
    return Planes(open_stored(path))


def is_large(path: Path) -> bool:
    """Return whether a file may hold so many planes that a worker should not read all of them."""
    if path.is_dir():
        return True
    return suffix_of(path) != "" and path.stat().st_size >= LARGE and is_stored(path)


def count_pictures(path: Path, n_axes: int) -> int:
    """Return the number of pictures of a large file, from its header."""
    require_safe(path)
    return math.prod(opened(path).stack(n_axes))
