"""Is the noise white? What JPEG, demosaicking, resizing and sharpening leave is not, and white-noise methods err.

White noise has the same energy at all frequencies of a patch. Flat patches are chosen by the lowest frequencies, where
texture is. The correlation of neighbours is fitted to all the other ones, which this choice leaves untouched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from epitomes.noise.door import Flags, Floats, planes
from epitomes.noise.usable import limits, without_noise
from epitomes.noise.weak import NOTHING
from epitomes.noise.windows import WIDTH, chosen_rows, chunks, cosines, whole, windows

LOWEST = 3  # frequencies u + v up to it choose, the others measure
LAGS = ((0, 1), (1, 0), (0, 2), *((1, j) for j in (-2, -1, 1, 2)), *((2, j) for j in range(-2, 3)))  # up to two pixels
MOST = 2**17  # patches that are looked at; of larger images, every k-th line of patches
SHARES = (0.002, 0.02, 0.2)  # of flattest patches; the whitest answer counts, for texture is correlated, too
FEWEST = 256  # patches that may decide
NOTABLE = 0.1  # correlation that is worth a warning
CHANCE = 6.0  # over the root of the number of pixels: in small images so much comes by chance
BLOCK = 8  # of JPEG, in pixels
GRID = 4.0  # so many standard deviations a block's last column stands out of the seven others
ENOUGH = 1024  # lines that show a grid or a lattice
UNEVEN = 1.3  # ratio of fine detail on the four sites of a 2 x 2 lattice


@dataclass(frozen=True)
class NoiseCorrelation:
    """How far the noise is from white."""

    across: float  # correlation of the noise of a pixel with that of its right neighbour
    down: float  # with that of the one below
    largest: float  # of all pixels up to two apart, by size; with its sign
    jpeg: bool  # a grid of 8 x 8 blocks shows
    demosaicked: bool  # pixels alternate between two kinds, as where colours were interpolated
    warning: str  # for the user; empty if the noise is white as far as can be seen

    @property
    def correlated(self) -> bool:
        return bool(self.warning)


def noise_correlation(image: ArrayLike, *, channel_axis: int | None = None) -> NoiseCorrelation:
    """Look for noise that is not white in a grey image, or in the worst channel of a colour image.

    Texture as fine as the noise, with no flat spot anywhere, is taken for correlated noise, too: from one image nobody
    can tell the two apart.
    """
    found = []
    for plane in planes(image, channel_axis, least=2 * WIDTH):
        useless = limits(plane.pixels)[1] | without_noise(plane.pixels)
        found.append(correlation_of(plane.pixels, ~useless))
    return max(found, key=lambda one: (one.correlated, abs(one.largest)))


def correlation_of(plane: Floats, usable: Flags) -> NoiseCorrelation:
    """The same for a plane of deviation 1."""
    lags = _correlations(plane, usable)
    largest = max(lags, key=abs)
    jpeg = _stands_out(plane) > GRID and _stands_out(plane.T) > GRID
    demosaicked = _unevenness(plane) > UNEVEN
    warning = _warning(lags, max(NOTABLE, CHANCE / math.sqrt(plane.size)), jpeg, demosaicked)
    return NoiseCorrelation(lags[0], lags[1], largest, jpeg, demosaicked, warning)


def _warning(lags: list[float], notable: float, jpeg: bool, demosaicked: bool) -> str:
    if jpeg:
        return "the image shows the 8 x 8 blocks of JPEG, whose noise is not white: start from the file before it"
    if demosaicked:
        return "pixels alternate like those of a demosaicked image, whose noise is not white: denoise the raw image"
    if abs(largest := max(lags, key=abs)) > notable:
        kind = "were sharpened" if max(lags[:2]) < 0 else "were resized, smoothed or compressed or have stripes"
        return (
            f"the noise of neighbouring pixels is correlated ({largest:+.2f}), as in images that {kind}, or texture as "
            "fine as noise is everywhere: white-noise methods misjudge it; give a spectrum if you know it"
        )
    return ""


def _correlations(plane: Floats, usable: Flags) -> list[float]:
    """Correlations of the noise at `LAGS`, from the set of flat patches in which they are smallest."""
    view, clear = windows(plane, MOST), np.flatnonzero(whole(usable, MOST))
    basis, frequency = cosines()
    low, high = basis[(frequency > 0) & (frequency <= LOWEST)], basis[frequency > LOWEST]
    texture = np.concatenate([np.square(rows @ low.T).sum(axis=1) for _, rows in chunks(view)])
    order = clear[np.argsort(texture[clear], kind="stable")]
    sets = []
    for share in SHARES:
        flat = order[: max(FEWEST, int(share * len(order)))]
        covariance = np.zeros((len(high), len(high)))
        for _, rows in chosen_rows(view, flat):
            covariance += (rows @ high.T).T @ (rows @ high.T) / len(flat)
        variance, *lags = _solution() @ covariance.ravel()
        if variance > NOTHING:
            sets.append([float(np.clip(lag / variance, -1, 1)) for lag in lags])  # beyond 1: longer than two pixels
    return min(sets, key=lambda lags: max(map(abs, lags)), default=[0.0] * len(LAGS))


@cache
def _solution() -> Floats:
    """The least-squares map from a covariance of high frequencies to the autocovariance at lag 0 and `LAGS`."""
    basis, frequency = cosines()
    high = basis[frequency > LOWEST]
    y, x = np.divmod(np.arange(WIDTH**2), WIDTH)
    down, across = y[:, None] - y, x[:, None] - x
    shifts = [((down == i) & (across == j)) | ((down == -i) & (across == -j)) for i, j in ((0, 0), *LAGS)]
    design = np.stack([(high @ shift @ high.T).ravel() for shift in shifts], axis=1)
    return np.asarray(np.linalg.pinv(design), np.float64)


def _stands_out(plane: Floats) -> float:
    """How far the steps between two columns stand out every eight columns, in standard deviations of the others."""
    if plane.shape[1] < 4 * BLOCK:
        return 0.0
    steps = np.abs(np.diff(plane[:: max(1, plane.shape[0] // ENOUGH)], axis=1))
    excess = (steps[:, 1:-1] - (steps[:, :-2] + steps[:, 2:]) / 2).mean(axis=0)
    phases = np.sort([excess[phase::BLOCK].mean() for phase in range(BLOCK)])
    spread = float(phases[:-1].std(ddof=1))
    return float(phases[-1] - phases[:-1].mean()) / spread if spread > math.sqrt(NOTHING) else 0.0


def _unevenness(plane: Floats) -> float:
    """The largest over the smallest mean detail of the four sites of a 2 x 2 lattice; 1 where all sites are alike."""
    plane = plane[:ENOUGH, :ENOUGH]
    around = plane[:-2, 1:-1] + plane[2:, 1:-1] + plane[1:-1, :-2] + plane[1:-1, 2:]
    detail = np.abs(plane[1:-1, 1:-1] - around / 4)
    sites = [float(detail[i::2, j::2].mean()) for i in (0, 1) for j in (0, 1)]
    return max(sites) / max(min(sites), np.finfo(float).tiny) if max(sites) > math.sqrt(NOTHING) else 1.0
