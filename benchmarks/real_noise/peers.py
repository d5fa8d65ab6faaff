"""Other methods on the same noisy images. Those that need a sigma get the best multiple of the true rms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.real_noise.measure import Measured, Task
from benchmarks.real_noise.pairs import Image
from benchmarks.rivals import bm3d, installed, skimage
from epitomes import denoise

MULTIPLES = (0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
PHOTO_MULTIPLES = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)  # that of photographs is coarse
BM3D = "bm3d"
WHITE = "ours white"
SPECTRUM = "bm3d, true spectrum"


def of_photo(task: Task, noise: NDArray[np.float64], options: Options) -> Iterator[Measured]:
    """Judge the peers on a part of a photograph with this noise."""
    if options.peers == "none":
        return
    pair = task.pair
    for name, run in skimage.denoisers(pair.noisy).items():
        yield task.judge(name, run)
    yield from scalar_bm3d(task, PHOTO_MULTIPLES, options)
    yield told_level(task, WHITE, partial(white, task), PHOTO_MULTIPLES, options)
    told = bm3d.told_spectrum(pair.noisy, noise, task.threads) if options.peers == "all" else None
    if told is not None:
        yield task.judge(SPECTRUM, told)


def scalar_bm3d(task: Task, multiples: tuple[float, ...], options: Options) -> Iterator[Measured]:
    """Judge BM3D with one sigma, if it is installed."""
    if options.peers != "none" and installed("bm3d", "bm3d"):
        yield told_level(task, BM3D, partial(collaborative, task), multiples, options)


def told_level(
    task: Task, name: str, run: Callable[[float], Image], multiples: tuple[float, ...], options: Options
) -> Measured:
    """Judge a method that needs one sigma; fast peers get the true rms alone."""
    if options.peers == "fast":
        return task.judge(f"{name}, true rms", partial(run, task.pair.rms))
    return task.best_multiple(f"{name}, best multiple", run, multiples)


def collaborative(task: Task, sigma: float) -> Image:
    """Run BM3D."""
    run = bm3d.denoiser(task.pair.noisy, sigma, task.threads)
    assert run is not None  # it is installed
    return run()


def white(task: Task, sigma: float) -> Image:
    """Run our method for white noise."""
    pair = task.pair
    return denoise(pair.noisy, sigma, channel_axis=pair.channel_axis, preset="balanced", threads=task.threads)
