"""One volume or clip: its unknown pixels by a smooth start, the planes around them, and groups across planes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, label

from epitomes.checks import Array
from epitomes.colours import turn_of
from epitomes.groups.matching import Planar
from epitomes.restoration.inpainting.between import Neighbour, interpolated
from epitomes.restoration.inpainting.holes import fill_holes
from epitomes.restoration.inpainting.picture import GROUPING, KEPT, REST, ROUNDS, STARTING, Completion, tell, window_of
from epitomes.restoration.inpainting.regions import holes_of
from epitomes.restoration.inpainting.smooth import smooth_fill
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.colour import from_planar, to_planar

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

PATCH, STRIDE, SEARCH_RADIUS = (2, 6, 6), (1, 4, 4), (2, 8, 8)  # planes, rows and columns of groups
SEED = (14, 1)  # a mask that the user drew from a seed must not hide the same pixels
HIDDEN = 0.1  # share of known pixels that tell how planes are related
TRIED = (16, 96, 96)  # planes, rows and columns of the part that is tried
FARTHEST = 4  # planes: beyond them, holes are completed from their own plane
COVERED = 0.5  # share of a hole that a neighbouring plane must know


@dataclass(frozen=True, eq=False)
class VolumeCompletion:
    """How volumes are completed; `planar` completes images."""

    planar: Completion

    def run(self, volume: Doubles, unknown: Flags, sigma: float, callback: Callback | None) -> Doubles:
        """Complete `(planes, height, width, channels)`, unknown pixels the same in all channels; remove the noise."""
        mean = float(volume[~unknown].mean())
        given = np.where(unknown[..., None], mean, volume)
        turn = turn_of(given[int(np.argmin(unknown.mean(axis=(1, 2))))])
        known = np.concatenate([to_planar(plane, mean, 1.0, turn) for plane in given], axis=1)
        seen: Flags = np.asarray(~unknown.all(axis=(1, 2)))  # planes of which something is known
        holes = np.stack([holes_of(flags) if some else flags for some, flags in zip(seen, unknown, strict=True)])
        current = known.copy()
        current[:, seen] = self._completed(known[:, seen], unknown[seen], sigma, callback)
        image: Array = np.empty(volume.shape)
        for k, plane in enumerate(image):
            plane[...] = from_planar(current[:, k : k + 1], mean, 1.0, turn, plane.shape, np.float64)
        if sigma > 0:
            tell(callback, GROUPING, "removing the rest of the noise")
            image[seen] = self._cleaned(image[seen], sigma)
        if holes.any():
            tell(callback, GROUPING, "filling holes")
            left = bridge(image, holes)
            for at in np.flatnonzero(left.any(axis=(1, 2))):
                image[at] = fill_holes(image[at], left[at], self.planar.seed)
        low, high = volume[~unknown].min(axis=0), volume[~unknown].max(axis=0)
        return np.where(unknown[..., None], np.clip(image, low, high), image)

    def _completed(self, known: Planar, unknown: Flags, sigma: float, callback: Callback | None) -> Planar:
        """Planes of which something is known: a smooth start, then groups."""
        if sigma == 0 and not unknown.any():
            return known
        deep = foretell(known[0].astype(np.float64), unknown)
        start = self._started(known, unknown, sigma, deep)
        tell(callback, STARTING, "completing groups")
        return self._grouped(known, unknown, start, sigma, callback)

    def _started(self, known: Planar, unknown: Flags, sigma: float, deep: bool) -> Planar:
        """What is smooth along all axes, or along those of each plane."""
        if deep:
            return np.stack([smooth_fill(channel.astype(np.float64), unknown) for channel in known]).astype(np.float32)
        planes = [self.planar.started(known[:, k : k + 1], unknown[k], sigma) for k in range(len(unknown))]
        return np.concatenate(planes, axis=1)

    def _grouped(self, known: Planar, unknown: Flags, start: Planar, sigma: float, callback: Callback | None) -> Planar:
        """Rounds of groups, around each run of planes with unknown pixels."""
        planar = ROUNDS[self.planar.preset]
        if planar is None:
            return start
        rounds = replace(planar, patch=PATCH, stride=STRIDE, search_radius=SEARCH_RADIUS)
        current, part = start.copy(), within(callback, STARTING, GROUPING)
        for window in [(slice(None),) * 3] if sigma > 0 else _windows(unknown, rounds.margin):
            current[(slice(None), *window)] = rounds.run(
                np.ascontiguousarray(known[(slice(None), *window)]),
                unknown[window],
                np.ascontiguousarray(start[(slice(None), *window)]),
                KEPT * sigma,
                threads=self.planar.threads,
                advance=None if part is None else lambda fraction: part(fraction, "completing groups"),
            )
        return current

    def _cleaned(self, image: Array, sigma: float) -> Array:
        fast = ROUNDS[self.planar.preset] is None
        method = NonLocal(preset="fast" if fast else self.planar.preset)
        rest = sigma if fast else REST * sigma
        return method.run(image, rest, channels=True, seed=self.planar.seed, threads=self.planar.threads).image


def foretell(volume: Doubles, unknown: Flags) -> bool:
    """Whether planes foretell each other: some known pixels are hidden, and completed in a volume and in planes."""
    if len(volume) < 3:
        return False
    corner = [max(0, (size - most) // 2) for size, most in zip(volume.shape, TRIED, strict=True)]
    window = tuple(slice(at, at + most) for at, most in zip(corner, TRIED, strict=True))
    part, hidden = volume[window], unknown[window]
    more = ~hidden & (np.random.default_rng(SEED).random(part.shape) < HIDDEN)
    barred = hidden | more
    usable = ~barred.all(axis=(1, 2))
    part, barred, more = part[usable], barred[usable], more[usable]
    if len(part) < 3 or not more.any():
        return False
    together = smooth_fill(part, barred)
    apart = np.stack([smooth_fill(plane, flags) for plane, flags in zip(part, barred, strict=True)])
    first, second = (np.abs(found - part)[more].mean() for found in (together, apart))
    return bool(first < second)


def bridge(image: Array, holes: Flags) -> Flags:
    """Complete holes from the planes before and after them, in place; return what is left of them."""
    left, found = holes.copy(), image.copy()
    for k in np.flatnonzero(holes.any(axis=(1, 2))):
        before, after = (_neighbour(image, holes, int(k), step) for step in (-1, 1))
        if before is None and after is None:
            continue
        layers, known = interpolated(before, after)
        inside = holes[k] & known
        found[k][inside] = np.moveaxis(layers, 0, -1)[inside]
        left[k] &= ~known
    image[...] = found
    return left


def _neighbour(image: Array, holes: Flags, k: int, step: int) -> Neighbour | None:
    """The next plane that knows enough of a hole; from a plane that is missing as a whole, however far it is."""
    size, whole = holes[k].sum(), bool(holes[k].all())
    at = k + step
    while 0 <= at < len(holes) and (whole or abs(at - k) <= FARTHEST):
        if (holes[k] & ~holes[at]).sum() > COVERED * size:
            next_one = at + step
            has_next = 0 <= next_one < len(holes) and not holes[next_one].any()
            beyond = image[next_one].mean(axis=-1) if has_next else None
            return Neighbour(np.moveaxis(image[at], -1, 0), holes[at], abs(at - k), beyond)
        at += step
    return None


def _windows(unknown: Flags, margin: tuple[int, int, int]) -> list[tuple[slice, ...]]:
    """Boxes around runs of planes with unknown pixels, each with what matters to it."""
    planes = unknown.any(axis=(1, 2))
    runs, n = label(binary_dilation(planes, iterations=margin[0]) if margin[0] else planes)
    found = []
    for number in range(1, n + 1):
        mine = np.where((runs == number)[:, None, None], unknown, False)
        found.append(window_of(mine, margin))
    return found
