"""What a noise level costs that is told too small or too large: presets and BM3D on the same noise, sigma 25.

Rows are named by what was told. With `--held-out DIR`, four of the natural images are measured beside those of table 1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from benchmarks.options import Options
from benchmarks.pictures import Picture, add_noise, apart, from_files
from benchmarks.record import Table
from benchmarks.tables import setting
from benchmarks.tables.best import PEER, averaged, line, methods, numbers, small
from epitomes.validation import psnr

NAME = "wrong-sigma"
SIGMA = 25
TOLD = (20, 25, 30)
PICTURES = ("house", "peppers", "barbara")
HELD_OUT_EVERY = 4  # of the twenty, from the first on, and no more than four


def run(options: Options) -> Iterator[Table]:
    photos = [photo for photo in setting(options).photos.all if photo.name in PICTURES]
    pictures = [Picture(photo.name, photo.pixels, photo.source) for photo in photos]
    if options.held_out is not None:
        pictures += from_files(apart(options.held_out)[0][::HELD_OUT_EVERY][:4])
    found = []
    for picture in small(pictures, options):
        for seed in range(options.seeds):
            for row in measured(picture, seed, options):
                found.append(row)
                yield row
    print(summary(found), flush=True)


def measured(picture: Picture, seed: int, options: Options) -> Iterator[Table]:
    """Every method with every level, on the same noise."""
    noisy = add_noise(picture.pixels, SIGMA, seed)
    for told in TOLD:
        for name, method in methods(noisy, told, options).items():
            began = time.perf_counter()
            value = psnr(picture.pixels, method())
            yield Table(
                table=NAME,
                row=row_name(name, told),
                image=picture.name,
                sigma=SIGMA,
                seed=seed,
                psnr=value,
                seconds=time.perf_counter() - began,
            )


def row_name(method: str, told: float) -> str:
    return f"{method}, told {told:g}"


def summary(found: Sequence[Table]) -> str:
    """What each method loses by each wrong level, and how much less that is than what BM3D loses."""
    cells = averaged(found)
    images = list(dict.fromkeys(image for _, image, _ in cells))
    names = list(dict.fromkeys(name.split(",")[0] for name, _, _ in cells))
    lines = [f"change in PSNR at sigma {SIGMA} by what was told, in dB", line("", [*images, "mean"])]
    for told in (level for level in TOLD if level != SIGMA):
        changes = {
            name: [cells[row_name(name, told), i, SIGMA] - cells[row_name(name, SIGMA), i, SIGMA] for i in images]
            for name in names
        }
        lines += [line(row_name(name, told), numbers(values, "+.2f")) for name, values in changes.items()]
        if PEER in changes:
            for name in (each for each in names if each != PEER):
                pairs = zip(changes[name], changes[PEER], strict=True)
                worst, image = min((mine - theirs, image) for (mine, theirs), image in zip(pairs, images, strict=True))
                lines.append(f"{row_name(name, told)}: worst beside {PEER} {worst:+.3f} ({image})")
    return "\n".join(lines)
