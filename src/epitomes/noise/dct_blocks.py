"""DCT blocks of a picture: where correlated noise is measured, frequency by frequency.

A block is 8 x 8 pixels. Its coefficients at even and at odd `i + j` are uncorrelated under any stationary noise whose
correlation is the same in both directions of an axis, so that flat blocks can be chosen by the ones and measured in the
others: choosing does not bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dct

from epitomes.noise.planes import Floats

SIDE = 8
MAX_BLOCKS = 2**15  # that are measured; of larger pictures, every k-th along both axes

ORDER = np.add.outer(np.arange(SIDE), np.arange(SIDE)).reshape(
    -1
)  # of each frequency: 0 for the mean, 14 for the finest
PARITY = ORDER % 2
MIDDLE = (ORDER >= 3) & (ORDER <= 8)


def cosines(side: int = SIDE) -> Floats:
    """The orthonormal DCT of vectors, one wave per row."""
    return np.asarray(dct(np.eye(side), norm="ortho", axis=0))


def at_half_frequencies(values: Floats) -> Floats:
    """Values `(8, 8, ...)` of frequencies at half of each of them, linear in between: those of the half size."""
    low, high = np.arange(SIDE) // 2, (np.arange(SIDE) + 1) // 2
    rows = (values[low] + values[high]) / 2
    return np.asarray((rows[:, low] + rows[:, high]) / 2)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Coefficients of blocks and their brightness."""

    coefficients: NDArray[np.float32]  # (n, 64, channels)
    brightness: Floats  # (n,): mean of the pixels of all channels

    def __len__(self) -> int:
        return len(self.brightness)

    @property
    def n_channels(self) -> int:
        return int(self.coefficients.shape[2])

    @classmethod
    def of(cls, planar: NDArray[np.float32], brightness: NDArray[np.float32]) -> Blocks:
        """Blocks of `(channels, height, width)`: all of them, or about `MAX_BLOCKS`, evenly spaced."""
        height, width = planar.shape[1:]
        places = (height - SIDE + 1) * (width - SIDE + 1)
        step = max(1, int(np.ceil(np.sqrt(places / MAX_BLOCKS))))
        waves = cosines().astype(np.float32)

        def spaced(plane: NDArray[np.float32]) -> NDArray[np.float32]:
            return sliding_window_view(plane, (SIDE, SIDE))[::step, ::step].reshape(-1, SIDE, SIDE)

        found = [np.einsum("ai,nij,bj->nab", waves, spaced(plane), waves, optimize=True) for plane in planar]
        mean = spaced(brightness).mean(axis=(1, 2), dtype=np.float64)
        return cls(np.stack(found, axis=-1).reshape(len(mean), SIDE**2, len(planar)), mean)
