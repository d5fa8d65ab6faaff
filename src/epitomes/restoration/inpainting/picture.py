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
from epitomes.restoration.inpainting.rounds import CONTRAST, PATCH, Rounds
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
        current = self._started(known, unknown, sigma)
        rounds = ROUNDS[self.preset]
        if rounds is not None and (sigma > 0 or (unknown & ~holes).any()):
            _tell(callback, STARTING, "completing groups")
            part = within(callback, STARTING, GROUPING)
            window = _window(unknown, rounds.search_radius + PATCH) if sigma == 0 else (slice(None), slice(None))
            current[(..., *window)] = rounds.run(
                np.ascontiguousarray(known[(..., *window)]),
                unknown[window],
                np.ascontiguousarray(current[(..., *window)]),
                KEPT * sigma,
                threads=self.threads,
                advance=None if part is None else lambda fraction: part(fraction, "completing groups"),
            )
        image: Array = from_planar(current, mean, 1.0, turn, picture.shape, np.float64)
        if holes.any():
            _tell(callback, GROUPING, "filling holes")
            image = fill_holes(np.asarray(image, np.float64), holes, self.seed)
        if sigma > 0:
            _tell(callback, GROUPING, "removing the rest of the noise")
            method = NonLocal(preset="fast" if rounds is None else self.preset, epitome=self.epitome)
            rest = sigma if rounds is None else REST * sigma
            image = method.run(image, rest, channels=True, seed=self.seed, threads=self.threads).image
        low, high = picture[~unknown].min(axis=0), picture[~unknown].max(axis=0)
        return np.where(unknown[..., None], np.clip(image, low, high), image)

    def _started(self, known: Planar, unknown: Flags, sigma: float) -> Planar:
        """A smooth surface, then what the epitome makes of every patch."""
        start = np.empty_like(known)
        for channel, filled in zip(known[:, 0], start[:, 0], strict=True):
            filled[...] = smooth_fill(channel.astype(np.float64), unknown)
            if min(unknown.shape) >= max(self.epitome.phi.patch_shape):
                contrast = max(float(channel[~unknown].std()), 1e-6) / CONTRAST
                error = max(ERROR * contrast, ABOVE * sigma)
                filled[...] = coded_fill(filled, unknown, self.epitome, error, self.threads)
        return start


def _window(unknown: Flags, margin: int) -> tuple[slice, slice]:
    """The rectangle around all unknown pixels, with a margin."""
    rows, columns = np.flatnonzero(unknown.any(axis=1)), np.flatnonzero(unknown.any(axis=0))
    return (
        slice(max(0, int(rows[0]) - margin), int(rows[-1]) + margin + 1),
        slice(max(0, int(columns[0]) - margin), int(columns[-1]) + margin + 1),
    )


def _tell(callback: Callback | None, fraction: float, stage: str) -> None:
    if callback is not None:
        callback(fraction, stage)
