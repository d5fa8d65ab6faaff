"""The noise estimate against that of scikit-image, on ten pictures that ship with it.

Truth is the noise that we add, neither rounded nor clipped. Pictures hold noise of their own, which both estimators
see: the clock's is near one grey level, so that at sigma 2 an honest estimate must be a tenth too high. The ten were
chosen before the method was: all grey photographs of at least 300 x 300 pixels but the cell, and three colour ones,
made grey. Grass and gravel have hardly a flat spot.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, read_pictures
from benchmarks.record import Claim
from benchmarks.rivals import installed
from epitomes.noise import estimate_noise

PICTURES = ("camera", "coins", "brick", "grass", "gravel", "moon", "clock", "astronaut", "cat", "coffee")
SIGMAS = (2, 5, 10, 25)
QUICK_SIGMAS = (5, 25)
GREY = (0.299, 0.587, 0.114)
BARS = {2: 0.12, 5: 0.05, 10: 0.03, 25: 0.02}  # mean relative error that must not be passed


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """One picture, one noise level. Errors are relative."""

    noise: str
    image: str
    sigma: float
    seed: int
    estimate: float
    low: float
    high: float
    reliable: bool
    error: float
    seconds: float
    pictures: str
    peer: str | None = None
    peer_estimate: float | None = None
    peer_error: float | None = None


def run(options: Options) -> Iterator[Estimated | Claim]:
    pictures = ten() if options.images is None else read_pictures(options.images)
    for sigma in QUICK_SIGMAS if options.quick else SIGMAS:
        rows = []
        for picture in pictures:
            for seed in range(options.seeds):
                rows.append(measure(picture, sigma, seed))
                yield rows[-1]
        yield from claims(sigma, rows)


def ten() -> list[Picture]:
    from skimage import data

    found = []
    for name in PICTURES:
        pixels = np.asarray(getattr(data, name)(), np.float64)
        grey = np.rint(pixels[..., :3] @ GREY) if pixels.ndim == 3 else pixels
        found.append(Picture(name, grey.astype(np.float32), "scikit-image"))
    return found


def measure(picture: Picture, sigma: float, seed: int) -> Estimated:
    noisy = add_noise(picture.pixels, sigma, seed)
    began = time.process_time()
    found = estimate_noise(noisy)
    seconds = time.process_time() - began
    peer = None
    if installed("skimage", "scikit-image"):
        from skimage.restoration import estimate_sigma

        peer = float(estimate_sigma(noisy))
    return Estimated(
        noise="sigma",
        image=picture.name,
        sigma=sigma,
        seed=seed,
        estimate=found.level,
        low=found.interval[0],
        high=found.interval[1],
        reliable=found.reliable,
        error=abs(found.level / sigma - 1),
        seconds=seconds,
        pictures=picture.source,
        peer=None if peer is None else "skimage.restoration.estimate_sigma",
        peer_estimate=peer,
        peer_error=None if peer is None else abs(peer / sigma - 1),
    )


def claims(sigma: float, rows: list[Estimated]) -> Iterator[Claim]:
    ours = statistics.fmean(row.error for row in rows)
    name = f"noise level at sigma {sigma}"
    note = "mean relative error, and the bar"
    yield Claim(
        claim=name, image="mean", value=ours, against=BARS[int(sigma)], holds=ours <= BARS[int(sigma)], note=note
    )
    peers = [row.peer_error for row in rows if row.peer_error is not None]
    if peers:
        theirs = statistics.fmean(peers)
        note = "mean relative error, ours and scikit-image's"
        yield Claim(claim=name, image="mean", value=ours, against=theirs, holds=ours < theirs, note=note)
