"""Every patch by itself: codes over an epitome become estimates, and every pixel the mean of its estimates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.checks import Array
from epitomes.coders import OLS, Codes
from epitomes.dictionary import Dictionary
from epitomes.epitome import Epitome
from epitomes.patches import Patches

Estimate = Callable[[Array, Array, Codes], Array]
"""Rows `(b, m)` of the noisy image, their means `(b,)` and codes `(b, p)` to estimates `(b, m)`, means included."""


def coded(
    pixels: Array, sigma: float, epitome: Epitome, gain: float, blend: float, threads: int | None
) -> tuple[Array, float]:
    """Every patch coded up to the noise, overlaps averaged; and the atoms per patch."""
    patches = patches_of(pixels, epitome)
    dictionary = epitome.dictionary.astype(patches.image.dtype)
    coder = OLS(residual=patches.patch_size * (gain * sigma) ** 2)

    def estimate(rows: Array, means: Array, codes: Codes) -> Array:
        return np.asarray(codes @ dictionary.atoms + means[:, None], means.dtype)

    return averaged(patches, patches, coder, dictionary, estimate, blend, threads)


def patches_of(pixels: Array, epitome: Epitome) -> Patches:
    """All patches of the image, of the form that the epitome codes."""
    patch = epitome.phi.patch_shape
    if pixels.ndim != len(patch):
        raise ValueError(
            f"noisy needs {len(patch)} axes, as the patches {patch} of the epitome, got shape {pixels.shape}: "
            "give one grey plane at a time, or an epitome of that many axes"
        )
    return Patches(pixels, patch, support=getattr(epitome.phi, "support", None))


def averaged(
    patches: Patches,
    guide: Patches,
    coder: OLS,
    dictionary: Dictionary,
    estimate: Estimate,
    blend: float,
    threads: int | None,
) -> tuple[Array, float]:
    """Codes of the patches of `guide` make estimates of `patches`, every pixel is the mean of its own.

    Band by band: the codes of a band are dropped before the next one.
    """
    image, nonzeros, first = Aggregator(patches), 0, 0
    lines = len(patches.positions[0])
    per_line = len(patches) // lines
    for low, high in blocks.split(lines, max(1, 65_536 // per_line)):
        band = patches.lines(np.arange(low, high))
        codes = coder.encode(guide.lines(np.arange(low, high)), dictionary, threads=threads)
        nonzeros += codes.nnz

        def work(piece: tuple[int, int], stop: blocks.Stop, band: Patches = band, codes: Codes = codes) -> Array:
            return estimate(*band.rows(*piece), codes[slice(*piece)])

        for rows in blocks.run(work, blocks.split(len(band)), threads=threads):
            image.add(first, rows)
            first += len(rows)
    return image.mean(patches.image, blend), nonzeros / len(patches)
