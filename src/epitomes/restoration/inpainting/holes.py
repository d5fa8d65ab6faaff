"""Holes: regions without any known pixel, completed by patches of their surroundings, coarse to fine.

Every patch that touches the hole looks for the patch most like it among those that do not, and the pixels of the hole
become weighted means of what these copies say; both steps are repeated on every scale (Wexler, Shechtman and Irani
2007). Amounts of texture are compared beside colours, or smooth patches would win (Newson and others 2014). In the end
each pixel is copied from the best patch over it: a mean would blur.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, distance_transform_edt, find_objects, label, uniform_filter

from epitomes import kernels

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]  # (n, 2): rows and columns

SIDE = 7  # of patches
PIXELS = np.argwhere(np.ones((SIDE, SIDE)))  # of a patch: rows and columns
MARGIN = 3  # of known surroundings, in widths of the hole
LEAST_MARGIN = 40
MOST_SOURCES = 20_000  # compared exhaustively on the coarsest scale
STEPS = 12  # searches and means on the coarsest scale; fewer on finer ones
TEXTURE = 4.0  # weight of gradients beside colours
FADING = 1.3  # weight of a patch for each pixel that its centre is nearer to the border of the hole
OFF_CENTRE = 0.1  # what the likelihood of a copy loses for each pixel from the middle of its patch
FAR = 16  # pixels: the longest random step of the search


def fill_holes(image: Doubles, holes: Flags, seed: int = 0) -> Doubles:
    """Complete holes of `(height, width, channels)`, one after another, from what is known around them."""
    filled, left = image.copy(), holes.copy()
    parts, _ = label(binary_dilation(holes, iterations=2))
    for number, box in enumerate(find_objects(parts), start=1):
        width = max(side.stop - side.start for side in box)
        margin = max(LEAST_MARGIN, MARGIN * width)
        window = tuple(
            slice(max(0, side.start - margin), min(size, side.stop + margin))
            for side, size in zip(box, holes.shape, strict=True)
        )
        hole = holes[window] & (parts[window] == number)
        if min(hole.shape) <= SIDE or not _sources(left[window]).size:
            continue  # no patch to copy from: the smooth start stays
        found = _completed(filled[window], hole, left[window] & ~hole, np.random.default_rng((seed, number)))
        filled[window][hole] = found[hole]
        left[window] &= ~hole
    return filled


def _completed(image: Doubles, hole: Flags, barred: Flags, rng: np.random.Generator) -> Doubles:
    """One hole, on all scales; barred pixels belong to other holes and are not copied."""
    thickness = 2 * float(distance_transform_edt(hole).max())
    n_scales = max(0, int(np.ceil(np.log2(max(thickness / SIDE, 1)))))
    scales = [(np.concatenate([image, _texture(image, hole | barred, n_scales)], axis=2), hole, barred)]
    while len(scales) <= n_scales and _sources(_halved_flags(scales[-1][1] | scales[-1][2])).size:
        layers, inside, outside = scales[-1]
        scales.append((_halved(layers, ~inside), _halved_flags(inside), _halved_flags(outside)))
    nearest: Places | None = None
    for number, (layers, inside, outside) in reversed(list(enumerate(scales))):
        search = Search(layers, inside, outside, rng)
        coarsest = number == len(scales) - 1
        if coarsest:
            search.peel()
        else:
            assert nearest is not None
            search.inherit(nearest)
            search.vote()
        for _ in range(max(3, STEPS - 3 * (len(scales) - 1 - number))):
            search.everywhere() if coarsest else search.nearby()
            search.vote()
        nearest = search.nearest
    search.copy()
    return search.layers[..., : image.shape[2]]


class Search:
    """Patches on one scale: those that touch the hole, and for each of them the most similar one that does not."""

    def __init__(self, layers: Doubles, hole: Flags, barred: Flags, rng: np.random.Generator) -> None:
        self.layers, self.hole, self.rng = layers.copy(), hole, rng
        inner = tuple(side - SIDE + 1 for side in hole.shape)
        self.usable = np.zeros(inner, np.bool_)
        self.usable[tuple(_sources(hole | barred).T)] = True
        self.sources = np.argwhere(self.usable)
        self.targets = np.argwhere(_windows(hole).any(axis=(2, 3)))
        depth = distance_transform_edt(hole)
        centre = self.targets + SIDE // 2
        self.trust = FADING ** -depth[tuple(centre.T)]
        self.nearest: Places = np.moveaxis(
            np.indices(inner), 0, -1
        ).copy()  # of targets, the source; of others, themselves
        self.errors = np.full(len(self.targets), np.inf)

    def peel(self) -> None:
        """Begin: from the border inwards, copy each pixel from the patch most like what is known around it."""
        some = self._some()
        rows = self._rows(some)
        columns, squares = np.ascontiguousarray(rows.T), np.ascontiguousarray(rows.T**2)
        unknown, n_layers = self.hole.copy(), self.layers.shape[2]
        while unknown.any():
            border = unknown & binary_dilation(~unknown)
            at = np.argwhere(border)
            tops = np.clip(at - SIDE // 2, 0, np.array(self.usable.shape) - 1)
            known = ~_windows(unknown)[tuple(tops.T)][:, None]
            known = np.broadcast_to(known, (len(at), n_layers, SIDE, SIDE)).reshape(len(at), -1).astype(np.float64)
            ours, theirs = (np.empty((len(at), len(some))) for _ in range(2))
            kernels.multiply(known * self._rows(tops), columns, ours)
            kernels.multiply(known, squares, theirs)
            best = some[(theirs - 2 * ours).argmin(axis=1)]
            self.layers[border] = self.layers[tuple((best + at - tops).T)]
            unknown &= ~border

    def _some(self) -> Places:
        """The sources, or a sample of them."""
        if len(self.sources) <= MOST_SOURCES:
            return self.sources
        return self.sources[np.sort(self.rng.choice(len(self.sources), MOST_SOURCES, replace=False))]

    def everywhere(self) -> None:
        """Compare every target with every source, or with a sample of them."""
        some = self._some()
        rows = self._rows(some)
        energies = np.einsum("ij,ij->i", rows, rows)
        for first in range(0, len(self.targets), 256):
            block = self._rows(self.targets[first : first + 256])
            products = np.empty((len(block), len(rows)))
            kernels.multiply(block, np.ascontiguousarray(rows.T), products)
            errors = energies - 2 * products
            best = errors.argmin(axis=1)
            self.nearest[tuple(self.targets[first : first + 256].T)] = some[best]
            self.errors[first : first + 256] = np.maximum(
                errors[np.arange(len(block)), best] + np.einsum("ij,ij->i", block, block), 0
            )

    def inherit(self, coarse: Places) -> None:
        """Begin where the scale of half the size ended."""
        at = np.minimum(self.targets // 2, np.array(coarse.shape[:2]) - 1)
        self.nearest[tuple(self.targets.T)] = 2 * coarse[tuple(at.T)] + self.targets % 2
        mine = self.nearest[tuple(self.targets.T)]
        limit = np.array(self.usable.shape) - 1
        mine = np.clip(mine, 0, limit)
        lost = ~self.usable[tuple(mine.T)]
        mine[lost] = self.sources[self.rng.integers(len(self.sources), size=int(lost.sum()))]
        self.nearest[tuple(self.targets.T)] = mine
        self.errors = self._errors(mine)

    def nearby(self) -> None:
        """Try small shifts, what the neighbours found, and a few random steps."""
        self.errors = self._errors(self.nearest[tuple(self.targets.T)])
        limit = np.array(self.usable.shape) - 1
        around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        for shift in around:
            self._try(self.nearest[tuple(self.targets.T)] + shift)
        for shift in around:
            beside = np.clip(self.targets + shift, 0, limit)
            self._try(self.nearest[tuple(beside.T)] - shift)
        far = FAR
        while far > 1:
            steps = self.rng.integers(-far, far + 1, self.targets.shape)
            self._try(self.nearest[tuple(self.targets.T)] + steps)
            far //= 2

    def vote(self) -> None:
        """Each pixel of the hole becomes a mean of the copies over it, the likelier ones first."""
        width = max(float(np.quantile(self.errors, 0.75)), 1e-12)
        weights = self.trust * np.exp(-self.errors / width)
        total, weight = np.zeros_like(self.layers), np.zeros(self.hole.shape)
        nearest = self.nearest[tuple(self.targets.T)]
        for pixel in PIXELS:
            at, source = tuple((self.targets + pixel).T), tuple((nearest + pixel).T)
            total[at] += weights[:, None] * self.layers[source]  # targets differ, so no place occurs twice
            weight[at] += weights
        self.layers[self.hole] = total[self.hole] / weight[self.hole][:, None]

    def copy(self) -> None:
        """Each pixel of the hole is copied from one patch, the likeliest over it."""
        score = np.full(self.hole.shape, -np.inf)
        source = np.zeros((*self.hole.shape, 2), np.intp)
        nearest = self.nearest[tuple(self.targets.T)]
        width = max(float(np.quantile(self.errors, 0.75)), 1e-12)
        likely = np.log(self.trust) - self.errors / width
        for pixel in PIXELS:
            at = tuple((self.targets + pixel).T)
            mine = likely - OFF_CENTRE * np.abs(pixel - SIDE // 2).sum()  # what a patch says of its middle is surest
            better = mine > score[at]
            here = tuple(axis[better] for axis in at)
            score[here] = mine[better]
            source[here] = nearest[better] + pixel
        self.layers[self.hole] = self.layers[tuple(source[self.hole].T)]

    def _try(self, places: Places) -> None:
        """Take these sources where they are better."""
        places = np.clip(places, 0, np.array(self.usable.shape) - 1)
        errors = np.where(self.usable[tuple(places.T)], self._errors(places), np.inf)
        better = errors < self.errors
        self.nearest[tuple(self.targets[better].T)] = places[better]
        self.errors[better] = errors[better]

    def _errors(self, places: Places) -> Doubles:
        total = np.zeros(len(places))
        for pixel in PIXELS:
            rest = self.layers[tuple((self.targets + pixel).T)] - self.layers[tuple((places + pixel).T)]
            total += np.einsum("ij,ij->i", rest, rest)
        return total

    def _rows(self, places: Places) -> Doubles:
        windows = np.lib.stride_tricks.sliding_window_view(self.layers, (SIDE, SIDE), axis=(0, 1))
        return np.ascontiguousarray(windows[tuple(places.T)].reshape(len(places), -1))


def _texture(image: Doubles, unknown: Flags, n_scales: int) -> Doubles:
    """Mean absolute gradients of the lightness around each pixel, across and down, where they are known."""
    light = image.mean(axis=2)
    known = ~binary_dilation(unknown)
    width = 2 ** (n_scales + 1) + 1
    share = np.maximum(uniform_filter(known.astype(np.float64), width), 1e-9)
    slopes = [uniform_filter(np.abs(np.gradient(light, axis=axis)) * known, width) / share for axis in (0, 1)]
    return TEXTURE * np.stack(slopes, axis=-1)


def _sources(barred: Flags) -> Places:
    """Where patches begin that hold no barred pixel."""
    if min(barred.shape) < SIDE:
        return np.empty((0, 2), np.intp)
    return np.argwhere(~_windows(barred).any(axis=(2, 3)))


def _windows(flags: Flags) -> Flags:
    return np.lib.stride_tricks.sliding_window_view(flags, (SIDE, SIDE))


def _halved_flags(flags: Flags) -> Flags:
    """Half the size, true where any of four is."""
    return np.asarray(_quarters(flags.astype(np.float64)) > 0)


def _halved(layers: Doubles, known: Flags) -> Doubles:
    """Half the size: means of the known ones of four pixels."""
    weights = _quarters(known.astype(np.float64))
    sums = [_quarters(np.where(known, channel, 0)) for channel in np.moveaxis(layers, -1, 0)]
    return np.stack([np.divide(each, weights, out=np.zeros_like(each), where=weights > 0) for each in sums], axis=-1)


def _quarters(plane: Doubles) -> Doubles:
    """Sums of 2 x 2 pixels; a last odd row or column is left out."""
    high, wide = (side // 2 * 2 for side in plane.shape)
    return np.asarray(plane[:high, :wide].reshape(high // 2, 2, wide // 2, 2).sum(axis=(1, 3)))
