"""Code every patch by itself: codes over an epitome become estimates, and each pixel the mean of its estimates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.checks import Array
from epitomes.coders import OLS, OMP, Coder, Codes
from epitomes.dictionary import Dictionary
from epitomes.epitome import Epitome
from epitomes.patches import Patches
from epitomes.restoration.method import Callback

ROWS_PER_BAND = 65_536  # patches whose codes are in memory at once

EstimateRows = Callable[[Array, Array, Codes], Array]
"""From noisy rows `(b, m)`, their means `(b,)` and codes `(b, p)` to estimates `(b, m)`, means included."""


def coded(
    pixels: Array,
    sigma: float,
    epitome: Epitome,
    factor: float,
    blend: float,
    threads: int | None,
    callback: Callback | None = None,
    stride: int = 1,
    pursuit: type[OLS] | type[OMP] = OLS,
    level: float | None = None,
) -> tuple[Array, float]:
    """Code every patch up to the noise and average the overlaps; also return the mean number of atoms per patch.

    `level` is the mean of the whole image, if the pixels are a part of one.
    """
    patches = patches_of(pixels, epitome, stride, level)
    dictionary = epitome.dictionary.astype(patches.image.dtype)
    coder = pursuit(residual=patches.patch_size * (factor * sigma) ** 2)

    def estimate(rows: Array, means: Array, codes: Codes) -> Array:
        found = np.asarray(codes @ dictionary.atoms, means.dtype)
        found += means[:, None]
        return found

    return averaged(patches, patches, coder, dictionary, estimate, blend, threads, callback)


def patches_of(pixels: Array, epitome: Epitome, stride: int = 1, level: float | None = None) -> Patches:
    """The patches of the image, in the shape that the epitome codes: all, or those `stride` pixels apart."""
    patch = epitome.phi.patch_shape
    if pixels.ndim != len(patch):
        raise ValueError(
            f"an epitome with patches of shape {patch} needs an image with {len(patch)} axes, got shape "
            f"{pixels.shape}: use an epitome whose patches have {pixels.ndim} axes"
        )
    steps = tuple(min(stride, side) for side in patch)  # longer ones would leave pixels out
    return Patches(pixels, patch, stride=steps, support=getattr(epitome.phi, "support", None), level=level)


def averaged(
    patches: Patches,
    guide: Patches,
    coder: Coder,
    dictionary: Dictionary,
    estimate: EstimateRows,
    blend: float,
    threads: int | None,
    callback: Callback | None = None,
) -> tuple[Array, float]:
    """Codes of the patches of `guide` make estimates of `patches`; each pixel is the mean of its estimates.

    Band by band: the codes of a band are dropped before the next one.
    """
    image, nonzeros, first = Aggregator(patches), 0, 0
    lines = len(patches.positions[0])
    per_line = len(patches) // lines
    for low, high in blocks.split(lines, max(1, ROWS_PER_BAND // per_line)):
        band = patches.lines(np.arange(low, high))
        codes = coder.encode(guide.lines(np.arange(low, high)), dictionary, threads=threads)
        nonzeros += codes.nnz

        def work(piece: tuple[int, int], stop: blocks.Stop, band: Patches = band, codes: Codes = codes) -> Array:
            return estimate(*band.rows(*piece), codes[slice(*piece)])

        for rows in blocks.run(work, blocks.split(len(band)), threads=threads):
            image.add(first, rows)
            first += len(rows)
        if callback is not None:
            callback(high / lines, "coding patches")
    return image.mean(patches.image, blend), nonzeros / len(patches)
