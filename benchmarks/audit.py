"""Validation without truth, judged with the truth: estimated PSNR, intervals of the error map, verdicts of the audit.

Sixty cases of picture, noise and method for SURE and the error map: the presets "balanced" and "fast", and
two filters of scikit-image. Sixty results for the audit: good ones, oversmoothed and undersmoothed ones, twenty each.
The limits of the audit and the constants of the error map were fixed before, on photographs of the Berkeley set.
Every case has noise of its own, neither rounded nor clipped.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, from_folder, middle
from benchmarks.rivals import bm3d
from epitomes.restoration import denoise
from epitomes.validation import audit, error_map, psnr

Image = NDArray[np.floating]
Filter = Callable[[Image, float], Image]

PICTURES = ("camera", "coins", "brick", "astronaut", "coffee")  # inside scikit-image; colour ones in grey
SIGMAS = (5.0, 10.0, 25.0)
AUDIT_SIGMAS = (10.0, 25.0)
TOLERANCE = 0.15  # dB
PEAK = 255.0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What was estimated of one result, beside what it is."""

    estimate: str  # the method
    image: str
    sigma: float
    seed: int
    psnr: float  # true, in dB
    sure: float  # estimated
    off: float  # estimated - true
    within: bool  # off by at most 0.15 dB
    low: float  # end of the 90 % interval of the PSNR
    high: float | None  # None: no upper end
    covered: bool  # the true PSNR lies in it
    coverage: float  # share of the pixels whose truth lies in the 90 % interval of the error map
    least_coverage: float  # the same over tenths of the pixels, from the surest to the least sure: the worst tenth
    most_coverage: float
    sharpness: float  # mean log of the error map against one number for all pixels, in nats; more is sharper
    pictures: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the audit said of a result of which we know what to think."""

    audit: str  # "good", "oversmoothed" or "undersmoothed"
    image: str
    method: str
    sigma: float
    seed: int
    verdict: str
    right: bool
    leak: float
    taken: float
    taken_fine: float
    edges: float
    variance: float
    psnr: float
    pictures: str


@dataclass(frozen=True, kw_only=True)
class Share:
    """How many cases came out as they should."""

    share: str  # what was counted
    cases: int
    value: float  # of the cases
    bar: float
    holds: bool


Row = Estimate | Verdict | Share


def run(options: Options) -> Iterator[Row]:
    pictures = photographs(options)
    estimates, verdicts = [], []
    for seed in range(options.seeds):
        for picture in pictures:
            for estimate in estimated(picture, seed, options):
                estimates.append(estimate)
                yield estimate
        for picture in pictures:
            for verdict in judged(picture, seed, options):
                verdicts.append(verdict)
                yield verdict
    yield share(f"SURE within {TOLERANCE} dB", [row.within for row in estimates], 0.9)
    yield share("PSNR in its 90 % interval", [row.covered for row in estimates], 0.8)
    yield share("pixels in the 90 % intervals: 85 to 95 %", [0.85 <= row.coverage <= 0.95 for row in estimates], 1.0)
    for kind in ("good", "oversmoothed", "undersmoothed"):
        yield share(f"audit: {kind}", [row.right for row in verdicts if row.audit == kind], 1.0)


def share(what: str, right: list[bool], bar: float) -> Share:
    value = sum(right) / max(1, len(right))
    return Share(share=what, cases=len(right), value=value, bar=bar, holds=value >= bar)


def photographs(options: Options) -> list[Picture]:
    """All pictures of the folder that was named, or those of the list; for a quick look the middle of the first."""
    found = from_skimage() if options.images is None else from_folder(options.images)
    return [replace(found[0], pixels=middle(found[0].pixels, 256))] if options.quick else found


def from_skimage(names: Sequence[str] = PICTURES) -> list[Picture]:
    try:
        from skimage import data
    except ImportError:
        raise SystemExit("no pictures: name a folder with --images DIR, or install scikit-image") from None
    pictures = []
    for name in names:
        pixels = np.asarray(getattr(data, name)(), np.float32)
        pictures.append(Picture(name, pixels if pixels.ndim == 2 else pixels.mean(axis=-1), "scikit-image"))
    return pictures


def estimated(picture: Picture, seed: int, options: Options) -> Iterator[Estimate]:
    methods = {
        "epitomes": lambda image, sigma: denoise(image, sigma, preset="balanced", threads=options.threads),
        "epitomes-fast": lambda image, sigma: denoise(image, sigma, preset="fast", threads=options.threads),
        **filters(),
    }
    for sigma in (10.0,) if options.quick else SIGMAS:
        for name, method in methods.items():
            yield estimate(picture, name, method, sigma, seed)


def filters() -> dict[str, Filter]:
    """Two filters of scikit-image as people use them; none where it is not installed."""
    try:
        from skimage.restoration import denoise_nl_means, denoise_wavelet
    except ImportError:
        print("# scikit-image is not installed: its filters are skipped", file=sys.stderr)
        return {}
    return {
        "nl-means": lambda image, sigma: denoise_nl_means(
            image, patch_size=5, patch_distance=6, h=0.8 * sigma, sigma=sigma
        ),
        "wavelet": lambda image, sigma: denoise_wavelet(image, sigma=sigma, method="BayesShrink", wavelet="sym4"),
    }


def estimate(picture: Picture, name: str, method: Filter, sigma: float, seed: int) -> Estimate:
    noisy = add_noise(picture.pixels, sigma, own_seed(picture.name, name, sigma, seed))
    restored = method(noisy, sigma)
    found = error_map(noisy, restored, sigma, lambda image: method(image, sigma), rng=seed, peak=PEAK)
    true = psnr(picture.pixels, restored, peak=PEAK)
    low, high = found.sure.interval
    inside = (found.low <= picture.pixels) & (picture.pixels <= found.high)
    tenths = [part.mean() for part in np.array_split(inside.ravel()[np.argsort(found.std, axis=None)], 10)]
    squares = (restored - picture.pixels) ** 2
    return Estimate(
        estimate=name,
        image=picture.name,
        sigma=sigma,
        seed=seed,
        psnr=true,
        sure=found.sure.psnr if np.isfinite(found.sure.psnr) else low,
        off=(found.sure.psnr if np.isfinite(found.sure.psnr) else low) - true,
        within=abs(found.sure.psnr - true) <= TOLERANCE,
        low=low,
        high=high if np.isfinite(high) else None,
        covered=low <= true <= high,
        coverage=float(inside.mean()),
        least_coverage=float(min(tenths)),
        most_coverage=float(max(tenths)),
        sharpness=surprise(squares, np.full(squares.shape, squares.mean())) - surprise(squares, found.std**2),
        pictures=picture.source,
    )


def surprise(squares: Image, variance: Image) -> float:
    """Minus the mean log likelihood of errors that are normal with these variances, up to a constant."""
    return float(np.mean(np.log(variance) + squares / variance) / 2)


def judged(picture: Picture, seed: int, options: Options) -> Iterator[Verdict]:
    for sigma in (25.0,) if options.quick else AUDIT_SIGMAS:
        noisy = add_noise(picture.pixels, sigma, own_seed(picture.name, "audit", sigma, seed))
        for kind, name, restored in results(noisy, sigma, options):
            found = audit(noisy, restored, sigma)
            yield Verdict(
                audit=kind,
                image=picture.name,
                method=name,
                sigma=sigma,
                seed=seed,
                verdict=found.verdict,
                right=(found.verdict == "pass") == (kind == "good"),
                leak=found.leak,
                taken=found.taken,
                taken_fine=found.taken_fine,
                edges=found.edges,
                variance=found.variance,
                psnr=psnr(picture.pixels, restored, peak=PEAK),
                pictures=picture.source,
            )


def results(noisy: NDArray[np.float32], sigma: float, options: Options) -> Iterator[tuple[str, str, Image]]:
    """Two results of each kind for one noisy picture: ours, and one that is made in another way."""
    from scipy.ndimage import gaussian_filter

    fast = {"preset": "fast", "threads": options.threads}
    ours = denoise(noisy, sigma, preset="balanced", threads=options.threads)
    peer = bm3d.denoiser(noisy, sigma, options.threads)
    yield "good", "epitomes", ours
    if peer is None or options.quick:
        yield "good", "epitomes-fast", denoise(noisy, sigma, **fast)
    else:
        yield "good", "bm3d", peer()
    yield "oversmoothed", "epitomes, twice sigma", denoise(noisy, 2 * sigma, **fast)
    yield "oversmoothed", "gaussian, 3 pixels", gaussian_filter(noisy, 3.0)
    yield "undersmoothed", "epitomes, half sigma", denoise(noisy, sigma / 2, **fast)
    yield "undersmoothed", "halfway to the result", (noisy + ours) / 2


def own_seed(*case: object) -> int:
    """Noise of its own for every case: results that share noise err together."""
    return zlib.crc32(repr(case).encode())
