"""Made noise: white, correlated, counted and striped noise on clean images, denoised blind.

BM3D is told the multiple of the true rms that is best for each image. "ours, told" knows the sigma of white noise; of
counted light it is told only that the noise is Poisson-Gaussian. Images are the middle parts of those of scikit-image,
or of those of a folder of colour PNGs. Where noise is resized or demosaicked, so is the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.noise import PICTURES
from benchmarks.options import Options
from benchmarks.pictures import add_noise
from benchmarks.real_noise import peers, simulate
from benchmarks.real_noise.measure import Measured, Task
from benchmarks.real_noise.pairs import Image, Pair
from benchmarks.real_noise.sources import Source
from benchmarks.real_noise.summary import summarised
from epitomes import Noise, estimate_noise

SIGMAS = (5, 10, 15, 25, 50)
QUICK_SIGMAS = (25,)
COLOURS = ("astronaut", "cat", "coffee", "stereo_motorcycle")
MORE_COLOURS = ("rocket", "hubble_deep_field", "retina", "immunohistochemistry")  # scikit-image ships no others
NOISY = ("hubble_deep_field",)  # its sky has noise of 4.5 grey levels, which is no fault to remove
GREYS = ("brick", "coins", "hubble_deep_field", "retina")
FOUR_GREYS = Source(names=GREYS, most=4, colour=False, width=256)
FOUR_COLOURS = Source(names=COLOURS, most=4, colour=True, width=256)
TEN = {
    "grey": Source(names=PICTURES, most=10, colour=False, width=256),
    "colour": Source(names=COLOURS + MORE_COLOURS, most=10, colour=True, width=256),
}
CLEAN = TEN | {"colour": replace(TEN["colour"], names=tuple(name for name in TEN["colour"].names if name not in NOISY))}
CLEAN_WIDTH = 512
QUICK_WIDTH = 96
TOLD = "ours, told"


@dataclass(frozen=True, eq=False)
class Case:
    """A kind of noise, and the images to which it is added."""

    name: str
    source: Source
    noisy: Callable[..., Image]  # from clean pixels and `seed`
    truth: Callable[[Image], Image] | None = None  # what becomes of the clean pixels; None: nothing
    told: Callable[[Image], Noise] | None = None  # noise model for the row "ours, told"
    peers: bool = True


def run(options: Options) -> Iterator[Measured]:
    """Yield the rows of each case, then print their means."""
    for case in cases(QUICK_SIGMAS if options.quick else SIGMAS):
        if options.wants(case.name):
            yield from summarised(measure(case, options))


def measure(case: Case, options: Options) -> Iterator[Measured]:
    """Measure every image and noise realisation of a case; a part of the first image for a quick run."""
    source = case.source.first(QUICK_WIDTH) if options.quick else case.source
    for picture in source.read(options.images):
        for seed in range(options.seeds):
            clean = picture.pixels
            noisy = case.noisy(clean, seed=seed)
            pair = Pair(picture.name, noisy, clean if case.truth is None else case.truth(clean))
            task = Task(case.name, pair, options.threads, seed)
            yield task.ours()
            if case.told is not None:
                yield task.ours(TOLD, partial(case.told, noisy))
            if case.peers:
                yield from peers.scalar_bm3d(task, peers.MULTIPLES, options)


def cases(sigmas: tuple[int, ...]) -> list[Case]:
    """Return all cases, with white noise of these levels."""
    white = [
        Case(f"white {sigma}, {kind}", source, partial(add_noise, sigma=sigma), told=partial(known, sigma=sigma))
        for sigma in sigmas
        for kind, source in TEN.items()
    ]
    clean = [
        Case(f"clean, {kind}", replace(source, width=CLEAN_WIDTH), untouched, peers=False)
        for kind, source in CLEAN.items()
    ]
    blurred = [
        Case(f"blurred {width:g}", FOUR_GREYS, partial(simulate.blurred, rms=20, width=width))
        for width in (0.6, 1.0, 2.0)
    ]
    striped = [
        Case(name, FOUR_GREYS, partial(simulate.striped, sigma=12, offsets=8, axis=axis))
        for axis, name in enumerate(("rows", "columns"))
    ]
    compressed = [
        Case(f"jpeg {quality}", FOUR_COLOURS, partial(simulate.compressed, sigma=15, quality=quality))
        for quality in (80, 50)
    ]
    resized = [
        Case(
            f"resized {factor:g}",
            FOUR_COLOURS,
            partial(simulate.resized_noise, sigma=20, factor=factor),
            truth=partial(simulate.resized, factor=factor),
        )
        for factor in (0.7, 1.5)
    ]
    return [
        *white,
        *clean,
        *blurred,
        *striped,
        Case("salt and pepper", FOUR_GREYS, partial(simulate.salt_and_pepper, sigma=15, share=0.03)),
        Case("poisson", FOUR_GREYS, partial(simulate.counted, peak=30), told=fitted),
        Case("poisson-gaussian", FOUR_GREYS, partial(simulate.counted, peak=60, sigma=5), told=fitted),
        Case("gamma", FOUR_COLOURS, partial(simulate.camera, peak=100, read_noise=1)),
        Case("bayer", FOUR_COLOURS, partial(simulate.bayer, sigma=15), truth=simulate.demosaicked),
        *compressed,
        *resized,
    ]


def untouched(pixels: Image, *, seed: int) -> Image:
    """Add no noise: the clean image as a file of 8 bits."""
    return simulate.eight_bit(pixels)


def known(noisy: Image, sigma: float) -> Noise:
    """Return the model of the white noise that was added."""
    return Noise.gaussian(sigma)


def fitted(noisy: Image) -> Noise:
    """Fit the model of counted light."""
    return estimate_noise(noisy, model="poisson-gaussian")
