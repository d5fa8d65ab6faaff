"""What a part of an image must know of the whole, so that it gets the same bits as within it.

Methods look at the whole image in a few places: its mean, its range, its contrast. If these are settled before, and a
part brings the pixels around it that reach into it, it is denoised as it would be within the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from epitomes.checks import Array
from epitomes.noise import BlockSpectrum
from epitomes.restoration.method import Method


@dataclass(frozen=True)
class WholeScale:
    """Settled values of an image with correlated noise, or of it at half its size, and so on."""

    means: tuple[float, ...]  # of its channels
    contrast: float  # in units of the noise, as passes use it


@dataclass(frozen=True, kw_only=True)
class WholeImage:
    """Settled values of a whole image with even noise; pictures that are coded by themselves are its channels."""

    levels: tuple[float, ...]  # mean of each picture that is coded by itself, as it is coded
    double: tuple[bool, ...]  # whether it is coded in float64
    mean: float = 0.0  # of all values
    contrast: float = 1.0  # in units of the noise, as passes use it
    turned: bool = False  # whether four channels are turned as those of a Bayer sensor
    stride: int = 1  # of the patches that are coded
    arrangement: str = ""  # of the planes of a volume
    scales: tuple[WholeScale, ...] = ()  # of an image with correlated noise, the finest first
    believed: float = 1.0  # how many times the told noise level is used
    background: float | None = None  # of a field of objects, whose fluxes are kept; None: it is no such field

    def precise(self, picture: Array, number: int) -> Array:
        """A picture in the type that it is coded in."""
        return picture.astype(np.float64) if self.double[number] else picture


@dataclass(frozen=True)
class Support:
    """Which pixels around a part reach into it, along each axis that the method works on at once."""

    halo: tuple[int, ...]  # pixels, each way
    grid: tuple[int, ...]  # a part with its halo begins at multiples of these

    def wider(self, more: int) -> Support:
        """The support of a step that follows and reaches so much further."""
        return Support(tuple(each + more for each in self.halo), self.grid)


@runtime_checkable
class PartMethod(Method, Protocol):
    """A method that can denoise parts of an image with the bits that they have in the whole."""

    whole: WholeImage | None  # None: what it is given is a whole image

    def for_parts(self, sample: Array, sigma: float, *, channels: bool, blocks: BlockSpectrum | None = None) -> Self:
        """Settle what depends on the whole image, on a sample of it; refuse modes that reach across all of it."""
        ...

    def support(self) -> Support:
        """Which pixels around a part are needed, once the method is settled."""
        ...
