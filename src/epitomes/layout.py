"""Layout: how an array is read, said once for the whole library.

`channel_axis` holds the channels of one picture. `spatial` is the number of axes along which neighbours are near each
other: 1 for signals, 2 for images, 3 for volumes. Axes before these count pictures that have nothing to do with each
other. Everything below works on pictures with their channels last; `Layout` is the only way there and back.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import whole

MOST_SPATIAL = 3
NOUNS = {1: "signal", 2: "image", 3: "volume"}

Pixels = NDArray[Any]
Place = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """The meaning of the axes of an array: a stack of pictures, each with `spatial` axes and perhaps channels."""

    shape: tuple[int, ...]  # of the array
    spatial: int
    channel_axis: int | None  # counted from the front; None: no axis holds channels

    @classmethod
    def of(
        cls, shape: tuple[int, ...], channel_axis: SupportsIndex | None = None, spatial: SupportsIndex | None = None
    ) -> Layout:
        """Read a shape; without `spatial`, all axes but that of the channels are spatial."""
        axis = None
        if channel_axis is not None:
            try:
                axis = operator.index(channel_axis)
            except TypeError:
                raise TypeError(f"channel_axis must be a whole number or None, got {channel_axis!r}") from None
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"channel_axis {axis} is out of range for an array of shape {shape}: "
                    f"it must be between {-len(shape)} and {len(shape) - 1}"
                )
            axis %= len(shape)
        rest = len(shape) - (axis is not None)
        if rest == 0:
            raise ValueError(
                f"an array of shape {shape}{'' if axis is None else ', channels only,'} has no spatial axis: "
                "pass an image of shape (height, width)"
            )
        if spatial is None:
            if rest > MOST_SPATIAL:
                raise ValueError(
                    f"an array of shape {shape} has {rest} axes besides channels, and at most {MOST_SPATIAL} of them "
                    "can be spatial: pass spatial=2 for a stack of images or spatial=3 for a stack of volumes"
                )
            return cls(shape, rest, axis)
        n = whole("spatial", spatial, least=1)
        if n > min(rest, MOST_SPATIAL):
            raise ValueError(
                f"spatial={n} does not fit an array of shape {shape}"
                + (f" with channel_axis={axis}" if axis is not None else "")
                + f": it must be between 1 and {min(rest, MOST_SPATIAL)}"
            )
        return cls(shape, n, axis)

    @property
    def n_channels(self) -> int | None:
        """Number of channels; None if no axis holds them."""
        return None if self.channel_axis is None else self.shape[self.channel_axis]

    @property
    def stack_shape(self) -> tuple[int, ...]:
        """Lengths of the axes that count pictures."""
        rest = self._without_channels()
        return rest[: len(rest) - self.spatial]

    @property
    def picture_shape(self) -> tuple[int, ...]:
        """Shape of one picture, channels last."""
        rest = self._without_channels()
        return (*rest[len(rest) - self.spatial :], *(() if self.n_channels is None else (self.n_channels,)))

    @property
    def noun(self) -> str:
        """What one picture is called: signal, image or volume."""
        return NOUNS[self.spatial]

    def canonical(self, image: Pixels) -> Pixels:
        """The array, or one that broadcasts to it axis by axis, with its channels last: a view."""
        return image if self.channel_axis is None else np.moveaxis(image, self.channel_axis, -1)

    def original(self, canonical: Pixels) -> Pixels:
        """The inverse of `canonical`, contiguous."""
        if self.channel_axis is None:
            return canonical
        return np.ascontiguousarray(np.moveaxis(canonical, -1, self.channel_axis))

    def places(self) -> Iterator[Place]:
        """Where each picture of the stack lies in the canonical array; a single empty place if there is no stack."""
        yield from np.ndindex(*self.stack_shape)

    def planes(self, image: Pixels) -> list[Pixels]:
        """Views of all planes of an array in its own order, each channel by itself; of signals, of all lines."""
        last = self.canonical(image)
        if self.channel_axis is not None:
            last = np.moveaxis(last, -1, 0)
        return [last[place] for place in np.ndindex(last.shape[: -min(2, self.spatial)])]

    def _without_channels(self) -> tuple[int, ...]:
        if self.channel_axis is None:
            return self.shape
        return self.shape[: self.channel_axis] + self.shape[self.channel_axis + 1 :]
