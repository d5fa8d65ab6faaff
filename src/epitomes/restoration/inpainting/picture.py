"""One picture: its unknown pixels by a smooth start, an epitome, groups of similar patches, and copies in holes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epitomes.checks import Array
from epitomes.colours import turn_of
from epitomes.epitome import Epitome
from epitomes.groups.matching import Planar
from epitomes.restoration.inpainting.coded import coded_fill
from epitomes.restoration.inpainting.holes import fill_holes
from epitomes.restoration.inpainting.regions import holes_of
from epitomes.restoration.inpainting.rounds import CONTRAST, Rounds
from epitomes.restoration.inpainting.smooth import smooth_fill
from epitomes.restoration.method import Callback, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.colour import from_planar, to_planar

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDS = {"fast": None, "balanced": Rounds(n=8), "best": Rounds(n=16, most=64)}
ERROR = 3.0  # of coded pixels, for a contrast of 50
ABOVE = 1.15  # times sigma: what a code leaves of noisy pixels
KEPT, REST = 0.5, 0.75  # of sigma, told to groups and to the denoiser after them: together they err less
STARTING, GROUPING = 0.1, 0.9  # shares of the progress


@dataclass(frozen=True, eq=False)
class Completion:
    """How pictures are completed."""

    preset: str
    epitome: Epitome
    seed: int
    threads: int | None

    def run(self, picture: Doubles, unknown: Flags, sigma: float, callback: Callback | None) -> Doubles:
        """Complete `(height, width, channels)` with the same unknown pixels in all channels; remove its noise."""
        mean = float(picture[~unknown].mean())
        given = np.where(unknown[..., None], mean, picture)
        holes = holes_of(unknown)
        turn = turn_of(given)
        known = to_planar(given, mean, 1.0, turn)
        current = self.started(known, unknown, sigma)
        rounds = ROUNDS[self.preset]
        if rounds is not None and (sigma > 0 or (unknown & ~holes).any()):
            tell(callback, STARTING, "completing groups")
            part = within(callback, STARTING, GROUPING)
            window = window_of(unknown, rounds.margin[1:]) if sigma == 0 else (slice(None), slice(None))
            here = (slice(None), slice(None), *window)
            current[here] = rounds.run(
                np.ascontiguousarray(known[here]),
                unknown[window][None],
                np.ascontiguousarray(current[here]),
                KEPT * sigma,
                threads=self.threads,
                advance=None if part is None else lambda fraction: part(fraction, "completing groups"),
            )
        image: Array = from_planar(current, mean, 1.0, turn, picture.shape, np.float64)
        if holes.any():
            tell(callback, GROUPING, "filling holes")
            image = fill_holes(np.asarray(image, np.float64), holes, self.seed)
        if sigma > 0:
            tell(callback, GROUPING, "removing the rest of the noise")
            method = NonLocal(preset="fast" if rounds is None else self.preset, epitome=self.epitome)
            rest = sigma if rounds is None else REST * sigma
            image = method.run(image, rest, channels=True, seed=self.seed, threads=self.threads).image
        low, high = picture[~unknown].min(axis=0), picture[~unknown].max(axis=0)
        return np.where(unknown[..., None], np.clip(image, low, high), image)

    def started(self, known: Planar, unknown: Flags, sigma: float) -> Planar:
        """A smooth surface, then what the epitome makes of every patch."""
        start = np.empty_like(known)
        for channel, filled in zip(known[:, 0], start[:, 0], strict=True):
            filled[...] = smooth_fill(channel.astype(np.float64), unknown)
            if min(unknown.shape) >= max(self.epitome.phi.patch_shape):
                contrast = max(float(channel[~unknown].std()), 1e-6) / CONTRAST
                error = max(ERROR * contrast, ABOVE * sigma)
                filled[...] = coded_fill(filled, unknown, self.epitome, error, self.threads)
        return start


def window_of(unknown: Flags, margin: tuple[int, ...]) -> tuple[slice, ...]:
    """The rectangle or box around all unknown pixels, with a margin along each axis."""
    window = []
    for axis, wide in enumerate(margin):
        rest = tuple(other for other in range(unknown.ndim) if other != axis)
        found = np.flatnonzero(unknown.any(axis=rest))
        window.append(slice(max(0, int(found[0]) - wide), int(found[-1]) + wide + 1))
    return tuple(window)


def tell(callback: Callback | None, fraction: float, stage: str) -> None:
    """Report progress to whoever wants to know."""
    if callback is not None:
        callback(fraction, stage)
