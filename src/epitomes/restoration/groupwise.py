"""The non-local mode: a pilot by the paper's method, then passes over groups of similar patches.

Colours are turned into one lightness and two differences by an orthonormal matrix, which leaves white noise as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.epitome import Epitome
from epitomes.groups.matching import Planar
from epitomes.restoration.passes import Pass, State

OPPONENT = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Rows: lightness, red against blue, green against both. Orthonormal."""

Pilot = Callable[[Array], Array]  # a grey image in units of the noise to its estimate


def restore(
    pixels: Array,
    sigma: float,
    *,
    pilot: Pilot,
    epitome: Epitome,
    passes: tuple[Pass, ...],
    threads: int | None = None,
    on_pass: Callable[[int, int], None] | None = None,
) -> tuple[Array, Epitome]:
    """An image `(height, width)` or `(height, width, channels)` without its noise, and the epitome in the end.

    Three channels are taken for colours.
    """
    level = float(pixels.mean(dtype=np.float64))
    noisy = _planar((pixels.astype(np.float64) - level) / sigma)
    current = np.stack([pilot(channel[0])[None] for channel in noisy]).astype(np.float32)
    if on_pass is not None:
        on_pass(1, len(passes) + 1)
    state = State(noisy, current, epitome)
    for done, step in enumerate(passes, start=2):
        state = step.run(state, threads)
        if on_pass is not None:
            on_pass(done, len(passes) + 1)
    clean = _interleaved(state.current, pixels.ndim) * sigma + level
    return clean.astype(pixels.dtype), state.epitome


def _planar(image: NDArray[np.float64]) -> Planar:
    channels = image.reshape(*image.shape[:2], -1)
    if channels.shape[2] == 3:
        channels = channels @ OPPONENT.T
    return np.ascontiguousarray(channels.transpose(2, 0, 1)[:, None], np.float32)


def _interleaved(planar: Planar, ndim: int) -> NDArray[np.float64]:
    channels = planar[:, 0].transpose(1, 2, 0).astype(np.float64)
    if channels.shape[2] == 3:
        channels = channels @ OPPONENT
    return np.ascontiguousarray(channels if ndim == 3 else channels[..., 0])
