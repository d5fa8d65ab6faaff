"""Missing: patches with unknown pixels, for learning from what is known of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.coders import Codes
from epitomes.dictionary import Dictionary
from epitomes.patches import Patches

Known = NDArray[np.bool_]

LEAST_KNOWN = 0.25  # share of the pixels of a patch; fewer say little about it
MAX_ROWS = 1_000_000  # patches that are kept in memory


def completed(rows: Array, known: Known, codes: Codes, dictionary: Dictionary) -> Array:
    """Rows with unknown pixels replaced by what their codes say.

    The squared error of these rows is that of the known pixels, and for other dictionaries it is no lower: a dictionary
    step on the moments of completed rows cannot raise the cost of the known pixels.
    """
    return np.where(known, rows, (codes @ dictionary.atoms).astype(rows.dtype))


def known_rows(
    image: Array, missing: Known, patch_shape: tuple[int, ...], support: Known | None, seed: int
) -> tuple[Array, Known]:
    """Patches as rows, less the mean of their known pixels, and which pixels these are.

    Patches of which too little is known are left out, and beyond a million a random sample is drawn.
    """
    patches = Patches(image, patch_shape, centred=False, support=support)
    hidden = Patches(missing.astype(np.float32), patch_shape, centred=False, support=support)
    shares = np.concatenate(
        [hidden.rows(first, min(first + 8192, len(hidden)))[0].mean(axis=1) for first in range(0, len(hidden), 8192)]
    )
    chosen = np.flatnonzero(shares <= 1 - LEAST_KNOWN)
    if not len(chosen):
        raise ValueError(
            f"no patch of shape {patch_shape} has {LEAST_KNOWN:.0%} of its pixels known: use smaller patches, or check "
            "that mask is non-zero at missing pixels only"
        )
    if len(chosen) > MAX_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, MAX_ROWS, replace=False))
    known = hidden.at_index(chosen)[0] == 0
    rows = np.where(known, patches.at_index(chosen)[0], 0)
    means = rows.sum(axis=1) / known.sum(axis=1)
    return np.where(known, rows - means[:, None], 0).astype(image.dtype), known
