"""What all coders share: argument checks, blocks on threads, and the conversion between atoms and unit atoms.

Patches of an image with atoms that are windows of pictures use the structural kernel; everything else is coded as rows.
The choice depends on the kind of patches and atoms, never on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from epitomes import blocks
from epitomes.checks import Array, as_floats, as_mask
from epitomes.coders.protocol import Codes
from epitomes.dictionary import Dictionary
from epitomes.kernels import Engine, Packed, Rows, Source, Start, Windows
from epitomes.patches import Patches

Work = Callable[[Engine, Source, Start | None, blocks.Stop], Packed]


def encode(
    work: Work,
    patches: ArrayLike | Patches,
    dictionary: Dictionary,
    start: Codes | None,
    mask: ArrayLike | None,
    threads: int | None,
) -> Codes:
    """Run `work` on blocks of patches and return their codes on the atoms of `dictionary`."""
    require_dictionary(dictionary)
    material = _material(patches, dictionary, mask)
    ready = dictionary.astype(material.dtype)
    begin = None if start is None else _as_start(start, material.n, ready)
    engine = ready.engine  # prepared once, not by every thread

    def code(piece: tuple[int, int], stop: blocks.Stop) -> Packed:
        return work(engine, material.source(*piece), _slice(begin, *piece), stop)

    packed = blocks.run(code, blocks.shares(material.n, threads), threads=threads)
    return _assemble(packed, ready)


def require_dictionary(dictionary: Dictionary) -> None:
    """Refuse plain arrays: they have no norms and no engine."""
    if not isinstance(dictionary, Dictionary):
        raise TypeError(f"dictionary must be a Dictionary, got {type(dictionary).__name__}: wrap atoms in Dictionary()")


@dataclass(frozen=True, eq=False)
class _Material:
    """Checked patches, read block by block."""

    n: int
    dtype: np.dtype[np.floating]
    source: Callable[[int, int], Source]


def _material(patches: ArrayLike | Patches, dictionary: Dictionary, mask: ArrayLike | None) -> _Material:
    if isinstance(patches, Patches):
        n, size, dtype = patches.n_patches, patches.patch_size, patches.image.dtype
    else:
        rows = as_floats("patches", patches, ndim=2)
        (n, size), dtype = rows.shape, rows.dtype
    if size != dictionary.patch_size:
        raise ValueError(
            f"patches have {size} pixels, the atoms {dictionary.patch_size}: give both the same patch shape"
        )
    known = None if mask is None else as_mask("mask", mask, (n, size)).view(np.uint8)
    if not isinstance(patches, Patches):
        return _Material(n, dtype, lambda i, j: Rows(rows[i:j], None if known is None else known[i:j]))
    if known is not None and patches.centred:
        raise ValueError(
            "mask needs patches that are not centred, because their means are unknown: use Patches(..., centred=False)"
        )
    if known is None and is_structural(patches, dictionary):
        image, tops = window_image(patches)
        return _Material(n, dtype, lambda i, j: Windows(image, tops, i, j, patches.centred))
    return _Material(n, dtype, lambda i, j: Rows(patches.rows(i, j)[0], None if known is None else known[i:j]))


def is_structural(patches: Patches, dictionary: Dictionary) -> bool:
    """Tell whether adjacent windows of an image are coded on atoms that are windows of pictures, of the same shape."""
    return (
        patches.support is None
        and patches.patch_shape == dictionary.patch_shape
        and dictionary.pictures is not None
        and (patches.image.ndim == 2 or (patches.image.ndim == 3 and patches.grid_shape[2] == 1))
        and patches.stride[1] == 1
        and dictionary.astype(patches.image.dtype).engine.structural
    )


def window_image(patches: Patches) -> tuple[Array, NDArray[np.int64]]:
    """Return the image rows that the patches cover, `(rows, width, channels)`, and where each line of patches begins.

    Centred patches do not depend on the grey level of the image, which is subtracted to keep float32 sums small.
    """
    tops = patches.positions[0]
    rows = np.unique(tops[:, None] + np.arange(patches.patch_shape[0]))
    has_gaps = rows[-1] - rows[0] >= len(rows)
    image = patches.image[rows] if has_gaps else patches.image[rows[0] : rows[-1] + 1]
    if patches.centred:
        image = np.subtract(image, image.dtype.type(patches.level))
    return image.reshape(*image.shape[:2], -1), np.searchsorted(rows, tops).astype(np.int64)


def _as_start(start: Codes, n: int, dictionary: Dictionary) -> Start:
    """Convert initial codes to unit atoms: the inverse of `_assemble`."""
    if not issparse(start):
        raise TypeError(f"start must be sparse codes, as encode returns them, got {type(start).__name__}")
    if start.shape != (n, dictionary.n_atoms):
        raise ValueError(f"start needs shape {(n, dictionary.n_atoms)}, got {start.shape}")
    rows = csr_array(start)
    values = as_floats("start", rows.data, dtype=dictionary.atoms.dtype) if rows.nnz else rows.data[:0]
    unit_values = (values * dictionary.norms[rows.indices]).astype(dictionary.atoms.dtype)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), unit_values


def _slice(start: Start | None, first: int, last: int) -> Start | None:
    if start is None:
        return None
    begin, atoms, values = start
    low, high = int(begin[first]), int(begin[last])
    return begin[first : last + 1] - low, atoms[low:high], values[low:high]


def _assemble(packed: list[Packed], dictionary: Dictionary) -> Codes:
    """Join the blocks to one CSR matrix and divide by the norms: from unit atoms to atoms."""
    counts = np.concatenate([block[0] for block in packed])
    atoms = np.concatenate([block[1] for block in packed])
    values = np.concatenate([block[2] for block in packed])
    values /= dictionary.norms[atoms]
    ends = np.cumsum(counts, dtype=np.int64)
    index: type[np.signedinteger] = np.int32 if len(atoms) < np.iinfo(np.int32).max else np.int64
    begins: NDArray[np.signedinteger] = np.concatenate([[0], ends]).astype(index)
    codes = csr_array((values, atoms.astype(index, copy=False), begins), shape=(len(counts), dictionary.n_atoms))
    codes.has_canonical_format = True  # the kernels sort the indices: SciPy need not check
    return codes
