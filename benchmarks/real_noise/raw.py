"""Camera RAW: the frame of a sensor is denoised before it is demosaicked, or after it.

The frame is written as DNG and read again, as a user's file would be, and denoised blind. The truth is the frame
without noise, developed in the same way. Denoised after it was demosaicked, the image is linear, or has the gamma of
displays and 8 bits; the better of both counts.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import timing
from benchmarks.options import Options
from benchmarks.real_noise.made import COLOURS, QUICK_WIDTH
from benchmarks.real_noise.sensor import Camera
from benchmarks.real_noise.simulate import eight_bit
from benchmarks.real_noise.sources import Source
from benchmarks.record import Claim
from epitomes import Picture, Restored, read, restore, write
from epitomes.formats import RawInfo, bayer_planes, mosaic
from epitomes.validation import psnr

PHOTONS = (100, 1000)  # of white
SOURCE = Source(names=COLOURS, most=4, colour=True, width=384)
BAR = 1.0  # dB that denoising first must gain
FIRST, LINEAR, DISPLAYED = "denoised, then demosaicked", "demosaicked, then denoised", "developed, then denoised"

Image = NDArray[np.floating]


@dataclass(frozen=True, kw_only=True)
class Developed:
    """One order of work on one frame."""

    noise: str
    image: str
    method: str
    seed: int
    noisy_psnr: float
    psnr: float
    seconds: float
    decided: str = ""  # the noise model that was used, in words


def run(options: Options) -> Iterator[Developed | Claim]:
    """Yield the rows of each frame, then whether denoising first is better."""
    source = SOURCE.first(2 * QUICK_WIDTH) if options.quick else SOURCE
    for photons in PHOTONS[1:] if options.quick else PHOTONS:
        rows = []
        for picture in source.read(options.images):
            for seed in range(options.seeds):
                for row in measure(picture.name, even(picture.pixels), Camera(photons=photons), seed, options.threads):
                    rows.append(row)
                    yield row
        yield claim(photons, rows)


def claim(photons: int, rows: list[Developed]) -> Claim:
    """Compare the mean PSNR of both orders."""
    means = {
        method: statistics.fmean(row.psnr for row in rows if row.method == method)
        for method in (FIRST, LINEAR, DISPLAYED)
    }
    bar = max(means[LINEAR], means[DISPLAYED]) + BAR
    return Claim(
        claim=f"RAW is denoised before it is demosaicked, {photons} photons",
        image="mean",
        value=means[FIRST],
        against=bar,
        holds=means[FIRST] >= bar,
        note=f"mean PSNR in dB, and that of the other order plus {BAR}",
    )


def measure(name: str, image: Image, camera: Camera, seed: int, threads: int) -> Iterator[Developed]:
    """Denoise a frame before and after it is demosaicked, and each time blind."""
    frame, linear, developed = camera.frame(image, seed), camera.linear, camera.developed
    truth = developed(linear(camera.clean(image)))
    noisy = developed(linear(frame))

    def judged(method: str, work: Callable[[], Restored], develop: Callable[[Image], Image]) -> Developed:
        restored, seconds = timing.once(work, timing.clock_name(threads))
        return Developed(
            noise=f"{camera.photons:g} photons",
            image=name,
            method=method,
            seed=seed,
            noisy_psnr=psnr(truth, noisy),
            psnr=psnr(truth, develop(restored.image.astype(np.float64))),
            seconds=seconds,
            decided=restored.noise.describe(),
        )

    colours = partial(restore, channel_axis=-1, threads=threads)
    planes = partial(restore, as_file(frame, camera), threads=threads)
    yield judged(FIRST, planes, lambda found: developed(linear(mosaic(found))))
    yield judged(LINEAR, partial(colours, linear(frame).astype(np.float32)), developed)
    yield judged(DISPLAYED, partial(colours, eight_bit(noisy)), np.asarray)


def as_file(frame: NDArray[np.uint16], camera: Camera) -> Picture:
    """Write the frame as DNG, and read it again."""
    balance = tuple(1 / share for share in camera.filters)
    info = RawInfo("RGGB", (camera.black,) * 4, white=65535.0, white_balance=balance)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "frame.dng")
        write(file, Picture(bayer_planes(frame), "YXC", metadata=info))
        return read(file)


def even(image: Image) -> Image:
    """Leave out a last row or column that has no whole cell."""
    height, width = (side - side % 2 for side in image.shape[:2])
    return image[:height, :width]
