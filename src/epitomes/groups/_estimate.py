"""estimate: find groups, shrink them, and let every pixel be the mean of its estimates.

Lines of references are worked on in bands of fixed height, each with sums of its own, which are added in their order:
neither threads nor memory change a bit, and only a few bands are in memory at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.checks import positive
from epitomes.groups.matching import Matching, Planar, Reference, matches, references
from epitomes.groups.shrinkage import Shrinker

LINES = 8  # of references in a band
AT_ONCE = 16  # bands whose sums wait to be added


def estimate(
    noisy: Planar,
    *,
    matching: Matching,
    shrinker: Shrinker,
    level: float | NDArray[np.float32],
    match_on: Planar | None = None,
    guide: Planar | None = None,
    threads: int | None = None,
) -> Planar:
    """The image `(channels, planes, height, width)` estimated by groups of similar patches.

    Groups are found on `match_on`, atoms are chosen on `guide` (default: the noisy image itself). `level` is the
    standard deviation of the noise: a number, or one for each place a patch may have.
    """
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
    if isinstance(level, np.ndarray):
        places = tuple(size - side + 1 for size, side in zip(shape, matching.patch, strict=True))
        if level.shape != places:
            raise ValueError(f"level needs shape {places}, one for each place of a patch, got {level.shape}")
    else:
        positive("level", level, zero=True)
    finder = noisy if match_on is None else match_on
    chooser = noisy if guide is None else guide
    shrinkage = shrinker.shrinkage(len(noisy) * matching.size, len(noisy))

    def work(reference: Reference, stop: blocks.Stop) -> tuple[slice, Planar, Planar]:
        places, counts = matches(finder, matching, reference, stop)
        rows = _rows(reference, matching, shape)
        total = np.zeros((len(noisy), rows.stop - rows.start, shape[2]), np.float32)
        weight = np.zeros_like(total)
        groups = kernels.Groups(
            noisy.reshape(-1),
            chooser.reshape(-1),
            _offsets(matching.patch, noisy.shape),
            _offsets(matching.patch, (len(noisy), 1, rows.stop - rows.start, shape[2]), shape[1]),
            rows.start * shape[2],
            places,
            counts,
            _levels(level, reference),
        )
        kernels.shrink_groups(groups, shrinkage, total.reshape(-1), weight.reshape(-1), stop)
        return rows, total, weight

    lines = (len(noisy), shape[0] * shape[1], shape[2])
    total, weight = np.zeros(lines), np.zeros(lines)
    bands = list(references(matching, shape, LINES))
    for first, last in blocks.split(len(bands), AT_ONCE):
        for rows, part, share in blocks.run(work, bands[first:last], threads=threads):
            total[:, rows] += part
            weight[:, rows] += share
    return (total / weight).astype(np.float32).reshape(noisy.shape)


def _rows(reference: Reference, matching: Matching, shape: tuple[int, ...]) -> slice:
    """The rows, counted through all planes, that members of these groups may touch."""
    planes, height, _ = shape
    deep, far = matching.reach[0], matching.reach[1]
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


def _levels(level: float | NDArray[np.float32], reference: Reference) -> NDArray[np.float32]:
    if isinstance(level, np.ndarray):
        chosen = level[reference.plane][np.ix_(reference.tops, reference.lefts)]
        return np.ascontiguousarray(chosen.reshape(-1), np.float32)
    return np.full(len(reference), level, np.float32)
