"""Pictures of epitomes, of dictionaries and of their use (paper, section 5: figures 1, 2 and 4 to 6).

Epitomes hold negative values, so they are rescaled for display, as in the paper. All parts of a picture share one grey
scale, and the most extreme values are clipped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.coders import Codes
from epitomes.dictionary import Dictionary
from epitomes.draw.tones import Bytes, amounts, enlarged, grey_levels, robust_range
from epitomes.epitome import Epitome
from epitomes.phi import GatherPhi, Phi, UnionPhi, split

WIDTH = 420  # pixels: default width of a picture
_WHITE = 255


def epitome_picture(epitome: Epitome, *, enlarge: int | None = None) -> Bytes:
    """Draw an epitome, or several as a grid, `(height, width)` or `(height, width, 3)`.

    Each pixel becomes a square of `enlarge` pixels; None chooses the size.
    """
    planes = _planes(epitome.pixels, epitome.phi)
    low, high = robust_range(planes)
    return _grid([grey_levels(plane, low, high) for plane in planes], enlarge)


def dictionary_picture(
    dictionary: Dictionary, patch_shape: Sequence[int], *, columns: int | None = None, enlarge: int | None = None
) -> Bytes:
    """Draw all atoms as a grid of patches, in their order; by default the grid is nearly square."""
    patch = tuple(patch_shape)
    if math.prod(patch) != dictionary.patch_size:
        raise ValueError(f"patch_shape {patch} has {math.prod(patch)} pixels, the atoms have {dictionary.patch_size}")
    planes = [plane for atom in dictionary.atoms for plane in _cut(atom.reshape(patch))]
    low, high = robust_range(planes)
    return _grid([grey_levels(plane, low, high) for plane in planes], enlarge, columns, least=2)


def usage_picture(epitome: Epitome, codes: Codes, *, enlarge: int | None = None) -> Bytes:
    """Draw how many coded patches use each pixel of the epitome, `(height, width, 3)`.

    Brightness is the square root of the share of the most used pixel: a few pixels serve nearly every patch, and on a
    linear scale the others would be dark.
    """
    uses = pixel_uses(epitome, codes)
    planes = [plane if plane.ndim == 2 else plane.max(axis=2) for plane in _planes(uses, epitome.phi)]
    most = math.sqrt(float(uses.max()))
    return _grid([amounts(np.sqrt(plane), most) for plane in planes], enlarge)


def pixel_uses(epitome: Epitome, codes: Codes) -> NDArray[np.float64]:
    """Count the uses of each pixel of the epitome: one for every atom of a code that contains it."""
    if codes.shape[1] != epitome.phi.n_atoms:
        raise ValueError(f"codes are on {codes.shape[1]} atoms, the epitome has {epitome.phi.n_atoms}")
    used = np.bincount(codes.indices[codes.data != 0], minlength=epitome.phi.n_atoms).astype(np.float64)
    shown = np.broadcast_to(used[:, None], (epitome.phi.n_atoms, epitome.phi.patch_size))
    return np.maximum(epitome.phi.adjoint(np.ascontiguousarray(shown)), 0.0)  # interpolating phis have weights below 0


def _planes(pixels: NDArray[Any], phi: Phi) -> list[NDArray[Any]]:
    """Split an epitome into planes, `(height, width)` or `(height, width, 3)`."""
    if isinstance(phi, UnionPhi) or (isinstance(phi, GatherPhi) and phi.part_shapes):
        parts: Sequence[NDArray[Any]] = split(phi, pixels)
    else:
        parts = [pixels]
    rank = len(phi.patch_shape)
    pictures = [picture for part in parts for picture in (part if part.ndim > rank else [part])]
    return [plane for picture in pictures for plane in _cut(picture)]


def _cut(picture: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut an image into planes: a signal is one row, volumes and channels other than RGB are cut slice by slice."""
    if picture.ndim == 1:
        return [picture[None, :]]
    if picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] == 3):
        return [picture]
    if picture.ndim == 3 and picture.shape[2] <= 4:  # a few channels
        return [np.ascontiguousarray(picture[..., channel]) for channel in range(picture.shape[2])]
    return [plane for part in picture for plane in _cut(part)]


def _grid(tiles: list[Bytes], enlarge: int | None, columns: int | None = None, least: int = 1) -> Bytes:
    """Arrange tiles row by row with white gaps, by default in a nearly square grid."""
    height, width = max(tile.shape[0] for tile in tiles), max(tile.shape[1] for tile in tiles)
    across = columns or max(1, round(math.sqrt(len(tiles) * height / width)))
    down = math.ceil(len(tiles) / across)
    scale = max(least, WIDTH // (across * (width + 1))) if enlarge is None else enlarge
    gap = max(1, scale * min(height, width) // 12)
    tall, wide = height * scale + gap, width * scale + gap
    shape = (down * tall - gap, across * wide - gap)
    sheet = np.full((*shape, *tiles[0].shape[2:]), _WHITE, np.uint8)
    for number, tile in enumerate(tiles):
        top, left = number // across * tall, number % across * wide
        large = enlarged(tile, scale)
        sheet[top : top + large.shape[0], left : left + large.shape[1]] = large
    return sheet
