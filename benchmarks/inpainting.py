"""Inpainting: random pixels missing, with and without noise, against scikit-image and published figures.

The missing pixels are drawn by the seed. PSNR counts all pixels, after rounding to 8 bits, as the published figures do.
With noise, the peers complete the image first and denoise the result, by our denoiser.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, middle, to_race
from epitomes import denoise, inpaint
from epitomes.validation import psnr

SHARES = (0.5, 0.8)  # of missing pixels
SIGMAS = (0.0, 15.0)
QUICK_WIDTH = 96

PUBLISHED = {  # without noise: deep image prior (Ulyanov and others 2018, table 1), where other images were masked
    ("house", 0.5): 39.16,
    ("barbara", 0.5): 32.22,
    ("boat", 0.5): 33.06,
    ("lena", 0.5): 36.16,
    ("peppers", 0.5): 33.05,
}
RECALLED = {  # without noise: BPFA (Zhou and others 2012), from memory and not checked against the paper
    ("house", 0.8): 30.12,
    ("barbara", 0.8): 24.80,
    ("boat", 0.8): 27.81,
    ("lena", 0.8): 31.00,
    ("peppers", 0.8): 25.92,
}

Pixels = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Inpainting:
    """One image, share of missing pixels and noise level, by one preset and one peer."""

    inpainting: str  # the preset
    peer: str
    image: str
    missing: float
    sigma: float
    seed: int
    psnr: float
    peer_psnr: float
    gain: float  # in dB
    seconds: float  # processor time
    peer_seconds: float
    pictures: str
    published: float | None = None
    recalled: float | None = None


def run(options: Options) -> Iterator[Inpainting]:
    """Yield a row for every image, share, level, preset and peer."""
    presets = ("fast",) if options.quick else options.presets
    for sigma in SIGMAS:
        for picture in to_race(options.images, options.quick):
            for missing in SHARES:
                for seed in range(options.seeds):
                    yield from measure(picture, missing, sigma, seed, presets, options)


def measure(
    picture: Picture, missing: float, sigma: float, seed: int, presets: tuple[str, ...], options: Options
) -> Iterator[Inpainting]:
    """Yield a row for every preset and peer."""
    clean = middle(picture.pixels, QUICK_WIDTH) if options.quick else picture.pixels
    mask = np.random.default_rng((seed, 1)).random(clean.shape) < missing
    given = np.where(mask, np.float32(0), add_noise(clean, sigma, seed) if sigma else clean)
    threads = options.threads
    peers: dict[str, Callable[[], Pixels]] = {"biharmonic": lambda: biharmonic(given, mask)}
    if sigma:
        peers = {
            "biharmonic then denoise": lambda: denoise(
                biharmonic(given, mask), sigma, preset="balanced", threads=threads
            ),
            "inpaint then denoise": lambda: denoise(
                inpaint(given, mask, threads=threads), sigma, preset="balanced", threads=threads
            ),
        }
    done = {name: _timed(work) for name, work in peers.items()}
    for preset in presets:
        found, seconds = _timed(partial(inpaint, given, mask, sigma=sigma, preset=preset, threads=threads))
        mine = psnr(clean, _rounded(found))
        for name, (theirs, their_seconds) in done.items():
            other = psnr(clean, _rounded(theirs))
            yield Inpainting(
                inpainting=preset,
                peer=name,
                image=picture.name,
                missing=missing,
                sigma=sigma,
                seed=seed,
                psnr=mine,
                peer_psnr=other,
                gain=mine - other,
                seconds=seconds,
                peer_seconds=their_seconds,
                pictures=picture.source,
                published=None if sigma else PUBLISHED.get((picture.name, missing)),
                recalled=None if sigma else RECALLED.get((picture.name, missing)),
            )


def biharmonic(given: Pixels, mask: Flags) -> Pixels:
    """Complete by scikit-image."""
    from skimage.restoration import inpaint_biharmonic

    return (255 * inpaint_biharmonic(given.astype(np.float64) / 255, mask)).astype(np.float32)


def _rounded(image: Pixels) -> Pixels:
    return np.clip(np.rint(image), 0, 255)


def _timed(work: Callable[[], Pixels]) -> tuple[Pixels, float]:
    began = time.process_time()
    return work(), time.process_time() - began
