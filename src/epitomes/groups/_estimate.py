"""Find groups of similar patches, shrink them, and average the overlapping estimates.

References are worked on in bands of fixed height. Each band has its own sums, which are added in order, so the number
of threads changes no bit. Rows that no later band can reach are finished at once: memory holds a few bands, not sums of
the size of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.checks import positive
from epitomes.groups.matching import Matching, Planar, Reference, matches, references
from epitomes.groups.shrinkage import Shrinker

LINES = 8  # of references in a band
BANDS_PER_THREAD = 4  # whose sums wait to be added

Level = float | NDArray[np.float32]
Sums = NDArray[np.float64]


def estimate(
    noisy: Planar,
    *,
    matching: Matching,
    shrinker: Shrinker,
    level: Level | Sequence[Level],
    match_on: Planar | None = None,
    guide: Planar | None = None,
    by_channel: bool = False,
    threads: int | None = None,
    callback: Callable[[float], None] | None = None,
) -> Planar:
    """Estimate an image from groups of similar patches.

    Parameters
    ----------
    noisy : ndarray
        Image ``(channels, planes, height, width)``, float32.
    matching : Matching
        How groups are found.
    shrinker : Shrinker
        How the members of a group are estimated together.
    level : float or ndarray, or a sequence of them
        Standard deviation of the noise: a number, or one for each position a patch can have,
        ``(planes, height, width)`` less the patch shape plus one. With `by_channel`, one for each channel.
    match_on : ndarray, optional
        Image on which patches are compared, with any number of channels. Default: `noisy`.
    guide : ndarray, optional
        Image on which atoms are chosen or covariances computed, of the shape of `noisy`. Default: `noisy`.
    by_channel : bool, default: False
        Whether each channel is estimated by itself. Groups are found once, on all channels of `match_on`. Otherwise the
        channels of a patch form one vector.
    threads : int, optional
        Number of threads. It changes no bit of the result.
    callback : callable, optional
        Called as ``callback(fraction)`` when a part of the image is done.

    Returns
    -------
    ndarray
        The estimate, of the shape of `noisy`, float32.

    Raises
    ------
    ValueError
        If the patch does not fit in the image, the stride is longer than the patch, or the shapes of the arrays do not
        match.

    See Also
    --------
    Matching : How groups are found.
    SharedAtoms : Members share few atoms of a dictionary.
    LowRank : Members differ from their mean in few directions.
    Wiener : Members vary by their covariance, and the noise by its own.

    Notes
    -----
    Every group gives an estimate of each pixel of its members. A pixel becomes their weighted mean; the shrinker says
    how much a group weighs.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.groups import LowRank, Matching, estimate
    >>> noisy = np.random.default_rng(0).standard_normal((1, 1, 24, 24)).astype(np.float32)
    >>> flat = estimate(noisy, matching=Matching(patch=(1, 6, 6)), shrinker=LowRank(), level=1.0)
    >>> bool(flat.std() < 0.3)
    True
    """
    shape = noisy.shape[1:]
    levels = list(level) if isinstance(level, Sequence) else [level]
    _require_shapes(noisy, matching, levels, match_on, guide, by_channel)
    finder = noisy if match_on is None else match_on
    chooser = noisy if guide is None else guide
    # One part: all channels as one vector. Else one part per channel, with the same groups.
    parts = [slice(c, c + 1) for c in range(len(noisy))] if by_channel else [slice(0, len(noisy))]
    wide = 1 if by_channel else len(noisy)
    shrinkage = shrinker.shrinkage(wide * matching.size, wide)

    def work(reference: Reference, stop: blocks.Stop) -> tuple[slice, Planar, Planar]:
        places, counts = matches(finder, matching, reference, stop)
        rows = _rows(reference, matching, shape)
        total = np.zeros((len(noisy), rows.stop - rows.start, shape[2]), np.float32)
        weight = np.zeros_like(total)
        for part, its_level in zip(parts, levels, strict=True):
            groups = kernels.Groups(
                noisy[part].reshape(-1),
                chooser[part].reshape(-1),
                _offsets(matching.patch, (wide, *shape)),
                _offsets(matching.patch, (wide, 1, rows.stop - rows.start, shape[2]), shape[1]),
                rows.start * shape[2],
                places,
                counts,
                _levels(its_level, reference),
            )
            kernels.shrink_groups(groups, shrinkage, total[part].reshape(-1), weight[part].reshape(-1), stop)
        return rows, total, weight

    result = np.empty((len(noisy), shape[0] * shape[1], shape[2]), np.float32)
    average = RunningAverage(result)
    bands = list(references(matching, shape, LINES))
    for first, last in blocks.split(len(bands), BANDS_PER_THREAD * blocks.n_threads(threads)):
        done = blocks.run(work, bands[first:last], threads=threads)
        average.add(done)
        finished = result.shape[1] if last == len(bands) else _rows(bands[last], matching, shape).start
        average.finish(finished)
        if callback is not None:
            callback(last / len(bands))
    return result.reshape(noisy.shape)


class RunningAverage:
    """Weighted averages, row by row, into an image `(channels, rows, width)`; unfinished rows alone are in memory."""

    def __init__(self, result: Planar) -> None:
        self.result = result
        self.first = 0  # rows before it are finished
        self.total: Sums = np.zeros((len(result), 0, result.shape[2]))
        self.weight: Sums = np.zeros_like(self.total)

    def add(self, parts: Sequence[tuple[slice, Planar, Planar]]) -> None:
        """Add sums and weights of some rows each, in the order of `parts`."""
        more = max(rows.stop for rows, _, _ in parts) - self.first - self.total.shape[1]
        if more > 0:
            room = np.zeros((len(self.result), more, self.result.shape[2]))
            self.total = np.concatenate([self.total, room], axis=1)
            self.weight = np.concatenate([self.weight, room], axis=1)
        for rows, total, weight in parts:
            here = slice(rows.start - self.first, rows.stop - self.first)
            self.total[:, here] += total
            self.weight[:, here] += weight

    def finish(self, row: int) -> None:
        """Divide the rows before `row`, to which nothing will be added any more."""
        n = row - self.first
        if n <= 0:
            return
        self.result[:, self.first : row] = self.total[:, :n] / self.weight[:, :n]
        self.total, self.weight = self.total[:, n:].copy(), self.weight[:, n:].copy()
        self.first = row


def _require_shapes(
    noisy: Planar,
    matching: Matching,
    levels: list[Level],
    match_on: Planar | None,
    guide: Planar | None,
    by_channel: bool,
) -> None:
    shape = noisy.shape[1:]
    if any(side > size for side, size in zip(matching.patch, shape, strict=True)):
        raise ValueError(f"the image needs at least {matching.patch} planes, rows and columns, got {shape}")
    if any(step > side for step, side in zip(matching.stride, matching.patch, strict=True)):
        raise ValueError(
            f"stride {matching.stride} is longer than the patch {matching.patch}: pixels would be left out"
        )
    if match_on is not None and match_on.shape[1:] != shape:
        raise ValueError(
            f"match_on needs planes, rows and columns {shape}, as the noisy image, got {match_on.shape[1:]}"
        )
    if guide is not None and guide.shape != noisy.shape:
        raise ValueError(f"guide needs shape {noisy.shape}, as the noisy image, got {guide.shape}")
    expected = len(noisy) if by_channel else 1
    if len(levels) != expected:
        raise ValueError(f"level needs {expected} entries, one for each estimate, got {len(levels)}")
    for level in levels:
        if not isinstance(level, np.ndarray):
            positive("level", level, zero=True)
            continue
        places = tuple(size - side + 1 for size, side in zip(shape, matching.patch, strict=True))
        if level.shape != places:
            raise ValueError(f"level needs shape {places}, one for each place of a patch, got {level.shape}")


def _rows(reference: Reference, matching: Matching, shape: tuple[int, ...]) -> slice:
    """The rows, counted through all planes, that members of these groups may touch."""
    planes, height, _ = shape
    deep, far = matching.search_radius[0], matching.search_radius[1]
    first, last = max(0, reference.plane - deep), min(planes - matching.patch[0], reference.plane + deep)
    top, bottom = int(reference.tops[0]) - far, int(reference.tops[-1]) + far + matching.patch[1]
    if first == last and matching.patch[0] == 1:
        return slice(first * height + max(0, top), first * height + min(height, bottom))
    return slice(first * height, (last + matching.patch[0]) * height)


def _offsets(patch: tuple[int, int, int], shape: tuple[int, ...], height: int | None = None) -> NDArray[np.int64]:
    """From the place of a patch to its pixels: channels, planes, rows, columns. `height` is that of a plane."""
    channels, planes, rows, width = shape
    line = np.arange(patch[2]) + width * np.arange(patch[1])[:, None]
    plane = line + width * (rows if height is None else height) * np.arange(patch[0])[:, None, None]
    offsets = plane + planes * rows * width * np.arange(channels)[:, None, None, None]
    return offsets.reshape(-1).astype(np.int64)


def _levels(level: Level, reference: Reference) -> NDArray[np.float32]:
    if isinstance(level, np.ndarray):
        chosen = level[reference.plane][np.ix_(reference.tops, reference.lefts)]
        return np.ascontiguousarray(chosen.reshape(-1), np.float32)
    return np.full(len(reference), level, np.float32)
