"""Usage: which windows of the epitome code which patch, in a table that is small enough for a page.

Patches are taken on a grid and coded as the patchwise method does. Of each code, the windows with the largest
coefficients are kept. A window is a rectangle of one epitome on a sheet that shows all epitomes side by side.
"""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.coders import OLS, Codes
from epitomes.draw.tones import Bytes, grey_levels, robust_range
from epitomes.epitome import RESIDUAL_FACTOR, Epitome
from epitomes.patches import Patches
from epitomes.phi import GatherPhi, Phi, UnionPhi, split
from epitomes.phi.protocol import support_of

MOST_PATCHES = 40_000
HELD = 3  # windows that are kept of a patch, the largest coefficient first
MOST_ATOMS = 16  # of a code: without noise it would need all atoms, which takes long
BREAK = 1.5  # pixels: a larger gap inside a window means that it wraps around the border

Places = NDArray[np.uint16]  # (n, 4): top, left, height, width


@dataclass(frozen=True, eq=False)
class Usage:
    """Patches and their windows. `numbers` index the rows of `windows`; `len(windows)` stands for none."""

    rows: NDArray[np.intp]  # where patches begin, in pixels of the image
    columns: NDArray[np.intp]
    patch: tuple[int, int]
    stride: int
    numbers: NDArray[np.uint16 | np.uint32]  # (rows, columns, HELD)
    windows: NDArray[np.uint16]  # (n, 5): epitome, top, left, height, width; a window may wrap around the border
    tiles: Places  # where the epitomes lie on the sheet
    sheet: Bytes
    codes: Codes

    def as_dict(self) -> dict[str, Any]:
        """Pack everything for the script of the page: tables become base64 of little-endian integers."""
        return {
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
            "patch": list(self.patch),
            "stride": self.stride,
            "held": HELD,
            "bytes": self.numbers.dtype.itemsize,
            "numbers": _packed(self.numbers),
            "windows": _packed(self.windows),
            "tiles": self.tiles.tolist(),
            "sheet": list(self.sheet.shape[:2]),
        }


def usage(image: NDArray[Any], epitome: Epitome, sigma: float) -> Usage | None:
    """Code patches of a noisy image; None if the patches of the epitome do not fit the image."""
    patch = epitome.phi.patch_shape
    if len(patch) not in (2, 3) or (len(patch) == 3 and image.shape[2:] != patch[2:]):
        return None
    if any(need > have for need, have in zip(patch[:2], image.shape, strict=False)):
        return None
    if len(patch) == 2 and image.ndim == 3:  # channels were denoised one by one: code their mean
        image, sigma = image.mean(axis=2), sigma / math.sqrt(image.shape[2])
    stride = _stride(image.shape, patch)
    patches = Patches(image, patch, (stride, stride, 1)[: len(patch)], support=support_of(epitome.phi))
    most = min(MOST_ATOMS, patches.patch_size)
    coder = OLS(residual=patches.patch_size * (RESIDUAL_FACTOR * sigma) ** 2, n_nonzero=most)
    dictionary = epitome.dictionary.astype(patches.image.dtype)
    codes = coder.encode(patches, dictionary)
    rows, columns = patches.positions[:2]
    atoms = largest_atoms(codes, dictionary.norms)
    used, numbers = np.unique(atoms, return_inverse=True)
    if used[0] < 0:  # -1 stands for none: its index moves from the front to the end
        used, numbers = used[1:], np.where(numbers == 0, len(used) - 1, numbers - 1)
    kind = np.uint16 if len(used) < 2**16 else np.uint32
    tiles, sheet = laid_out(epitome)
    return Usage(
        rows,
        columns,
        (patch[0], patch[1]),
        stride,
        numbers.reshape(len(rows), len(columns), HELD).astype(kind),
        windows_of(epitome.phi)[used],
        tiles,
        sheet,
        codes,
    )


def largest_atoms(codes: Codes, norms: NDArray[Any]) -> NDArray[np.int64]:
    """Find the atoms with the largest `|a_j| |d_j|` of each code, `(n, HELD)`, in falling order; -1 if none is left."""
    weight = np.abs(codes.data) * norms[codes.indices]
    row = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    order = np.lexsort((-weight, row))  # by row, then by weight; ties keep the order of the atoms
    rank = np.arange(len(order)) - codes.indptr[row]
    kept = (rank < HELD) & (weight[order] > 0)
    atoms = np.full((codes.shape[0], HELD), -1, np.int64)
    atoms[row[kept], rank[kept]] = codes.indices[order][kept]
    return atoms


def windows_of(phi: Phi) -> NDArray[np.uint16]:
    """Find the epitome, top, left, height and width of each atom, `(p, 5)`.

    phi is linear. Applied to images that hold their own coordinates, it gives the place of each entry of each atom,
    also between pixels. Windows of a torus may begin near one border and end beyond it.
    """
    shapes = tile_shapes(phi)
    grids = [np.indices(shape)[:2].reshape(2, -1) for shape in shapes]
    number = np.repeat(np.arange(len(shapes)), [math.prod(shape) for shape in shapes])
    ones = phi(np.ones(phi.epitome_shape))

    def seen(values: NDArray[Any]) -> NDArray[np.float64]:
        whole = phi(values.astype(np.float64).reshape(phi.epitome_shape))
        return np.divide(whole, ones, out=np.zeros_like(whole), where=ones != 0)

    epitome = np.rint(seen(number)[:, 0]).astype(np.intp)
    found = [epitome]
    for axis in (0, 1):
        lengths = np.array([shape[axis] for shape in shapes])[epitome]
        found += _extent(seen(np.concatenate([grid[axis] for grid in grids])), lengths)
    top, height, left, width = found[1:]
    return np.stack([epitome, top, left, height, width], axis=1).astype(np.uint16)


def tile_shapes(phi: Phi) -> list[tuple[int, ...]]:
    """List the shapes of all parts of an epitome, in the order of its pixels."""
    return [tile.shape for tile in _tiles(phi, np.zeros(phi.epitome_shape))]


def laid_out(epitome: Epitome) -> tuple[Places, Bytes]:
    """Lay the epitomes out on a nearly square sheet, in one grey scale; return their places and the sheet."""
    tiles = [
        tile if tile.shape[2:] in ((), (3,)) else tile.mean(axis=2) for tile in _tiles(epitome.phi, epitome.pixels)
    ]
    low, high = robust_range(tiles)
    height, width = (max(tile.shape[axis] for tile in tiles) for axis in (0, 1))
    across = max(1, round(math.sqrt(len(tiles) * height / width)))
    gap = max(1, min(height, width) // 12)
    down = -(-len(tiles) // across)
    shape = (down * (height + gap) - gap, across * (width + gap) - gap, *tiles[0].shape[2:])
    sheet, places = np.full(shape, 255, np.uint8), []
    for number, tile in enumerate(tiles):
        top, left = number // across * (height + gap), number % across * (width + gap)
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = grey_levels(tile, low, high)
        places.append((top, left, *tile.shape[:2]))
    return np.array(places, np.uint16), sheet


def _tiles(phi: Phi, pixels: NDArray[Any]) -> list[NDArray[Any]]:
    is_union = isinstance(phi, UnionPhi) or (isinstance(phi, GatherPhi) and phi.part_shapes)
    parts = split(phi, pixels) if is_union else (pixels,)
    rank = len(phi.patch_shape)
    return [tile for part in parts for tile in (part if part.ndim > rank else (part,))]


def _extent(places: NDArray[np.float64], lengths: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Find the first pixel and the number of pixels of each atom along one axis; on a torus, the shorter way round."""
    ordered = np.sort(places, axis=1)
    first, last = ordered[:, 0], ordered[:, -1]
    if places.shape[1] > 1:
        gaps = np.diff(ordered, axis=1)
        widest = np.argmax(gaps, axis=1)
        each = np.arange(len(places))
        begin, end = ordered[each, widest + 1], ordered[each, widest] + lengths
        over = (gaps[each, widest] > BREAK) & (end - begin < last - first)
        first, last = np.where(over, begin, first), np.where(over, end, last)
    start = np.floor(first + 1e-6).astype(np.intp)
    return [start, np.ceil(last - 1e-6).astype(np.intp) - start + 1]


def _stride(shape: tuple[int, ...], patch: tuple[int, ...]) -> int:
    """Find the smallest stride with at most MOST_PATCHES patches."""
    stride = 1
    while math.prod(-(-(have - need) // stride) + 1 for have, need in zip(shape[:2], patch[:2], strict=True)) > (
        MOST_PATCHES
    ):
        stride += 1
    return stride


def _packed(table: NDArray[Any]) -> str:
    return b64encode(np.ascontiguousarray(table.astype(table.dtype.newbyteorder("<"))).tobytes()).decode()
