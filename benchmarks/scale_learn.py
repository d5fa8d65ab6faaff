"""Learning over a collection: 400 pictures on one and on two processes, and an estimate for a million.

The pictures are crops of at most 256 x 256 pixels of the images of `--images` or of scikit-image, as PNG files. Both
runs include the start of their processes. Times per patch and per pixel are processor seconds of one process; the
estimate is computed from them. `--quick` takes 40 pictures and fewer patches.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.options import Options
from benchmarks.pictures import read_pictures
from benchmarks.record import Claim, CollectionRun, Estimate
from epitomes.formats import write
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.scale import Collection, Learned, code_shard, collection, learn_from, process_pool

SIDE = 256  # pixels of a crop, if the image has as many
LAM = 60.0
BAR = 1.8  # how much faster two processes must be
MANY, PATCHES, WIDTH, SHARD = 1_000_000, 1000, 512, 1000  # of the estimate: pictures, patches, pixels, pictures a shard
EPITOME, PATCH = (42, 42), (8, 8)


def run(options: Options) -> Iterator[CollectionRun | Claim | Estimate]:
    """Measure one and two processes, then the rates of one."""
    count, sample, epochs = (40, 200, 2) if options.quick else (400, 4000, 3)
    with tempfile.TemporaryDirectory() as folder:
        source = crops(options.images, count, Path(folder))
        pictures = collection(folder, n_axes=2, shard_size=max(1, count // 16))
        found: list[tuple[CollectionRun, Learned]] = []
        for workers in (1, 2):
            found.append(timed(pictures, workers, sample, epochs, source))
            yield found[-1][0]
        (one, first), (two, second) = found
        same = first.epitome.pixels.tobytes() == second.epitome.pixels.tobytes()
        yield Claim(
            claim="two processes give the bits of one",
            image=f"{count} pictures",
            value=float(same),
            against=1.0,
            holds=same,
            note="whether the epitomes are equal",
        )
        ratio = one.seconds / two.seconds
        yield Claim(
            claim="two processes are faster than one",
            image=f"{count} pictures",
            value=ratio,
            against=BAR,
            holds=ratio >= BAR,
            note="seconds of one process over those of two, and the bar",
        )
        yield estimate(pictures, sample)


def crops(images: Path | None, count: int, folder: Path) -> str:
    """Write crops at random places, and return where they come from."""
    pictures = read_pictures(images)
    random = np.random.default_rng(0)
    for number in range(count):
        pixels = pictures[number % len(pictures)].pixels
        top, left = (int(random.integers(0, max(length - SIDE, 0) + 1)) for length in pixels.shape)
        crop = pixels[top : top + SIDE, left : left + SIDE]
        write(folder / f"{number:04}.png", np.rint(crop).astype(np.uint8))
    return pictures[0].source


def timed(pictures: Collection, workers: int, sample: int, epochs: int, source: str) -> tuple[CollectionRun, Learned]:
    """Learn once and measure."""
    start = natural(windows(EPITOME, PATCH))
    began = time.perf_counter()
    learned = learn_from(
        pictures, start, lam=LAM, sample=sample, epochs=epochs, executor=process_pool(workers), threads=1
    )
    seconds = time.perf_counter() - began
    n_patches = epochs * len(pictures.spans) * sample
    row = CollectionRun(
        collection="learn",
        workers=workers,
        n_pictures=len(pictures.spans),
        n_shards=len(pictures),
        n_patches=n_patches,
        epochs=epochs,
        seconds=seconds,
        patches_per_second=n_patches / seconds,
        objective=learned.history[-1].objective,
        atoms_per_patch=learned.history[-1].sparsity,
        pictures=source,
    )
    return row, learned


def estimate(pictures: Collection, sample: int) -> Estimate:
    """Predict a pass over a million pictures from the processor time of one shard."""
    start, shard = natural(windows(EPITOME, PATCH)), pictures.shard(0)
    statistics = code_shard(start, shard, lam=LAM, sample=sample)  # once before, to fill the caches
    reading = processor_seconds(lambda: [list(member.pictures(2)) for member in shard.members])
    both = processor_seconds(lambda: code_shard(start, shard, lam=LAM, sample=sample))
    n_pixels = sum(pixels.size for member in shard.members for _, pixels, _ in member.pictures(2))
    per_patch = max(both - reading, 0.0) / statistics.count
    n_bytes = sum(Path(str(member.source)).stat().st_size for member in shard.members)
    sums = statistics.gram.nbytes + statistics.cross.nbytes + statistics.mass.nbytes
    return Estimate(
        estimate=f"{MANY} pictures of {WIDTH} x {WIDTH}, {PATCHES} patches each, one pass",
        microseconds_per_patch=1e6 * per_patch,
        nanoseconds_per_pixel=1e9 * reading / n_pixels,
        core_hours_coding=MANY * PATCHES * per_patch / 3600,
        core_hours_reading=MANY * WIDTH**2 * reading / n_pixels / 3600,
        network_gb=MANY / SHARD * sums / 1e9,
        disk_gb=MANY * WIDTH**2 * n_bytes / n_pixels / 1e9,
        statistics_mb=sums / 1e6,
        shard=SHARD,
    )


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the smallest of three measurements."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)
