"""Find groups of similar patches, shrink them, and average the overlapping estimates.

References are worked on in bands of fixed height. Each band has its own sums, which are added in order, so the number
of threads changes no bit. Rows and planes that no later band can reach are finished at once: memory holds a few bands,
not sums of the size of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks
from epitomes.checks import positive
from epitomes.groups._bands import Box, GroupEstimator, Images, RunningAverage
from epitomes.groups.matching import Matching, Planar, Reference, references
from epitomes.groups.shrinkage import Shrinker

LINES = 8  # of references in a band
BAND_ROWS = 20  # of a band instead, where strides divide it: parts of an image begin where the bands of all passes do
BANDS_PER_THREAD = 4  # whose sums wait to be added

Level = float | NDArray[np.float32]


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
    images = Images.of(noisy, noisy if match_on is None else match_on, noisy if guide is None else guide)
    estimator = GroupEstimator(matching, shrinker, len(noisy), by_channel)

    work = partial(
        estimator.run,
        images,
        box_of=lambda reference: estimator.box(reference, shape),
        levels_of=lambda reference, _: [_at(each, reference) for each in levels],
    )
    result = np.empty_like(noisy)
    # Groups within a plane finish its rows, others whole planes. Rows are counted through all planes.
    flat = matching.patch[0] == 1 and matching.search_radius[0] == 0
    parts = result.reshape(len(noisy), -1, shape[2]) if flat else result
    average = RunningAverage(len(noisy), parts.shape[2:])
    bands = list(references(matching, shape, lines_of(matching.stride[1])))
    ahead = BANDS_PER_THREAD * blocks.n_threads(threads)
    for k, done in enumerate(blocks.stream(work, bands, threads=threads, ahead=ahead)):
        along, inner, depth = _placed(done.box, shape[1], flat)
        average.add(along, inner, done.total[depth], done.weight[depth])
        end = parts.shape[1]
        if k + 1 < len(bands):
            end = _placed(estimator.box(bands[k + 1], shape), shape[1], flat)[0].start
        total, weight = average.finish(end)
        parts[:, average.first - total.shape[1] : average.first] = total / weight
        if callback is not None:
            callback((k + 1) / len(bands))
    return result


def lines_of(stride: int) -> int:
    """How many lines of references are in a band."""
    return LINES if BAND_ROWS % stride else BAND_ROWS // stride


def _placed(box: Box, height: int, flat: bool) -> tuple[slice, tuple[slice, ...], tuple[slice | int, ...]]:
    """Where the sums of a box belong in an average over rows or planes, and which planes of them."""
    if not flat:
        return box.planes, (box.rows, box.columns), (slice(None),)
    first = box.first * height
    return slice(first + box.rows.start, first + box.rows.stop), (box.columns,), (slice(None), 0)


def _at(level: Level, reference: Reference) -> NDArray[np.float32]:
    if isinstance(level, np.ndarray):
        chosen = level[reference.plane][np.ix_(reference.tops, reference.lefts)]
        return np.ascontiguousarray(chosen.reshape(-1), np.float32)
    return np.full(len(reference), level, np.float32)


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
