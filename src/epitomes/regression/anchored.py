"""AnchoredRegression: each patch of an estimate is corrected by the linear map of its nearest anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.checks import whole

BAND = 64  # rows that are corrected at once
STEP = 16  # the kernel takes maps with rows of a multiple of this length
BANDS_PER_THREAD = 4

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AnchoredRegression:
    """Linear maps for patches of an estimate, one for each of some anchors.

    Parameters
    ----------
    anchors : ndarray
        Typical patches ``(n_anchors, side * side)``, as keys (see Notes), upright.
    maps : ndarray
        Their maps, ``(n_anchors, n_inputs * side * side, side * side)``.
    limit : float, default: inf
        Largest correction of a patch, as a root mean square; larger ones are scaled down. What was learned where
        estimates err a lot can harm where they are nearly perfect.

    Raises
    ------
    ValueError
        If the shapes do not match, or patches are not square.

    See Also
    --------
    natural_regressions : Those that ship with the library.

    Notes
    -----
    All images are in units of the noise. A patch is turned and flipped first, until the estimate rises to the right and
    downwards, and most to the right. With the patch x of the estimate less its mean, and its contrast
    ``c = sqrt(mean(x^2))``, the key of the patch is ``x log(1 + 2 c) / c``. Its inputs are its key, and the same patch
    of the other images less the estimate, such as the noisy one. Its correction is ``inputs @ maps[k]``, k the anchor
    nearest to the key, scaled down to `limit` if it is larger. The logarithm keeps corrections small where noise is
    faint. A pixel is corrected by the mean over all patches that cover it. After Timofte, De Smet and Van Gool (2014),
    who enlarge images so.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.regression import AnchoredRegression
    >>> half = 0.5 * np.eye(4, dtype=np.float32)  # half of what the noisy image has above the estimate
    >>> maps = np.concatenate([np.zeros((4, 4), np.float32), half])[None]
    >>> regression = AnchoredRegression(np.zeros((1, 4), np.float32), maps)
    >>> estimate, noisy = np.zeros((3, 3), np.float32), np.ones((3, 3), np.float32)
    >>> float(regression.correct(estimate, [noisy]).max())
    0.5
    """

    anchors: Floats
    maps: Floats
    limit: float = float("inf")

    def __post_init__(self) -> None:
        for name in ("anchors", "maps"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float32))
        if not self._agrees():
            raise ValueError(
                "anchors (n, m) and maps (n, c m, m) with m = side * side are needed, got shapes "
                f"{self.anchors.shape} and {self.maps.shape}"
            )
        if not self.limit > 0:
            raise ValueError(f"limit must be above 0, got {self.limit}")

    def _agrees(self) -> bool:
        if self.anchors.ndim != 2 or self.maps.ndim != 3 or not self.anchors.size or not self.maps.size:
            return False
        n, m = self.anchors.shape
        return isqrt(m) ** 2 == m and self.maps.shape[::2] == (n, m) and self.maps.shape[1] % m == 0

    @property
    def side(self) -> int:
        """Side of a patch, in pixels."""
        return isqrt(self.anchors.shape[1])

    @property
    def n_inputs(self) -> int:
        """Number of images that a correction is made from, the estimate included."""
        return int(self.maps.shape[1] // self.anchors.shape[1])

    def correct(
        self,
        estimate: Floats,
        others: Sequence[Floats],
        *,
        stride: int = 1,
        threads: int | None = None,
        callback: Callable[[float], None] | None = None,
    ) -> Floats:
        """Correct an estimate.

        Parameters
        ----------
        estimate : ndarray
            Image ``(height, width)`` in units of the noise, float32.
        others : sequence of ndarray
            The other inputs, of the same shape; the noisy image is the last.
        stride : int, default: 1
            Distance of patches; no more than their side is used.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction)`` when a part of the image is done.

        Returns
        -------
        ndarray
            The corrected estimate, float32. Images smaller than a patch come back as they are.

        Raises
        ------
        ValueError
            If the number of inputs or their shapes do not match.
        """
        if len(others) + 1 != self.n_inputs or any(other.shape != estimate.shape for other in others):
            raise ValueError(
                f"{self.n_inputs - 1} images of shape {estimate.shape} are needed beside the estimate, got "
                f"{[other.shape for other in others]}"
            )
        if min(estimate.shape) < self.side:
            return estimate.copy()
        step = min(whole("stride", stride, least=1), self.side)
        height, width = estimate.shape
        work = partial(self._band, estimate, others, _places(height, self.side, step), _places(width, self.side, step))
        corrected = np.empty_like(estimate)
        bands = blocks.split(height, BAND)
        ahead = BANDS_PER_THREAD * blocks.n_threads(threads)
        for band, rows in zip(bands, blocks.stream(work, bands, threads=threads, ahead=ahead), strict=True):
            corrected[slice(*band)] = rows
            if callback is not None:
                callback(band[1] / height)
        return corrected

    def _band(
        self,
        estimate: Floats,
        others: Sequence[Floats],
        tops: NDArray[np.int64],
        lefts: NDArray[np.int64],
        band: tuple[int, int],
        stop: NDArray[np.uint8],
    ) -> Floats:
        """Some rows, from all patches that reach them: a pixel has the same sum whatever the bands."""
        first, last = band
        mine = tops[(tops > first - self.side) & (tops < last)]
        above, below = int(mine[0]), int(mine[-1]) + self.side
        rows = estimate[above:below]
        images = np.stack([rows, *(other[above:below] - rows for other in others)])
        total = np.zeros((last - first, estimate.shape[1]), np.float32)
        kernels.regress(
            images, self.side, mine - above, lefts, self.anchors, self._padded, self.limit, first - above, stop, total
        )
        covered = np.outer(_covers(mine, self.side, first, last), _covers(lefts, self.side, 0, estimate.shape[1]))
        return estimate[first:last] + total / covered

    @cached_property
    def _padded(self) -> Floats:
        """Maps as the kernel takes them."""
        return np.pad(self.maps, ((0, 0), (0, 0), (0, -self.anchors.shape[1] % STEP)))


def _places(size: int, side: int, stride: int) -> NDArray[np.int64]:
    """First pixels of patches: every `stride`, and the last place that there is."""
    return np.unique(np.append(np.arange(0, size - side + 1, stride), size - side)).astype(np.int64)


def _covers(places: NDArray[np.int64], side: int, first: int, last: int) -> Floats:
    """How many patches cover each line from `first` to `last`."""
    lines = np.arange(first, last)
    return np.asarray(
        np.searchsorted(places, lines, side="right") - np.searchsorted(places, lines - side, side="right"), np.float32
    )
