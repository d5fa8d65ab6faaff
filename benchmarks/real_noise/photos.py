"""Real noise: photographs of real cameras whose truth is a mean over many shots, denoised blind.

`--images` names a folder with the folders `cc` and `polyu` of pairs NAME_real.* and NAME_mean.*. The first case is a
part of each picture of `cc`, with the noise estimated on the whole picture; the peers see the same part, and bm3d the
spectrum of the whole. The other cases are whole pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.options import Options
from benchmarks.real_noise import peers
from benchmarks.real_noise.measure import Measured, Task
from benchmarks.real_noise.pairs import Pair, read_pairs
from benchmarks.real_noise.summary import summarised
from epitomes import estimate_noise

CROPS, WHOLE, POLYU = "cc crops", "cc", "polyu"
CORNER, WIDTH = 100, 256  # of the crops
QUICK_WIDTH = 96
QUICK_PAIRS = 2
RECALLED = "MCWNNM 37.70, TWSC 37.81, NLH 38.49 (recalled from the literature, all 15 pictures of the set)"


def run(options: Options) -> Iterator[Measured]:
    """Yield the rows of each case, then print their means."""
    if options.images is None:
        raise SystemExit("no photographs: name a folder that holds cc or polyu with --images DIR")
    cc, polyu = (pairs_within(options.images, name, options) for name in ("cc", "polyu"))
    if not (cc or polyu):
        raise SystemExit(f"{options.images} holds no pairs in cc or polyu: name another folder with --images")
    if options.wants(CROPS):
        yield from summarised(row for pair in cc for row in crop(pair, options))
    if options.wants(WHOLE):
        yield from summarised(whole(WHOLE, pair, options) for pair in cc)
        print(f"cc, whole pictures: {RECALLED}", flush=True)
    if options.wants(POLYU):
        yield from summarised(whole(POLYU, pair, options) for pair in polyu)


def pairs_within(folder: Path, name: str, options: Options) -> list[Pair]:
    """Read the pairs of a folder within the folder; the first ones for a quick run."""
    return read_pairs(folder / name)[: QUICK_PAIRS if options.quick else None]


def crop(pair: Pair, options: Options) -> Iterator[Measured]:
    """Measure a part of a picture: ours with the noise estimated on the whole, and the peers."""
    part = slice(CORNER, CORNER + (QUICK_WIDTH if options.quick else WIDTH))
    task = Task(CROPS, pair.cropped(part, part), options.threads)
    yield task.ours(noise=partial(estimate_noise, pair.noisy, channel_axis=pair.channel_axis))
    yield from peers.of_photo(task, pair.noise, options)


def whole(case: str, pair: Pair, options: Options) -> Measured:
    """Measure a whole picture, blind; its middle for a quick run."""
    return Task(case, pair.middle(QUICK_WIDTH) if options.quick else pair, options.threads).ours()
