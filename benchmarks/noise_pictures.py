"""Pictures of real noise for the documentation: small crops of the photographs in `--images`, before and after.

The whole photograph is denoised blind, by the default. The sheet is written to `--output`, default
`docs/noise-photographs.png`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from epitomes import denoise, read, write

HEIGHT, WIDTH = 88, 120  # of the crop in the middle
COLUMNS, TWICE, GAP = 5, 2, 6

Pixels = NDArray[np.uint8]


def run(options: Options) -> None:
    """Write one PNG file: a row of noisy crops above each row of denoised ones."""
    if options.images is None:
        raise SystemExit("noise-pictures needs photographs: pass their folder with --images")
    pairs = [*_pairs(sorted(options.images.glob("*.png")), options.threads)]
    rows = [pairs[first : first + COLUMNS] for first in range(0, len(pairs), COLUMNS)]
    sheet = np.concatenate([_row([pair[side] for pair in row]) for row in rows for side in (0, 1)])
    write(options.output or Path("docs/noise-photographs.png"), sheet, overwrite=True)


def _pairs(files: list[Path], threads: int) -> Iterator[tuple[Pixels, Pixels]]:
    for file in files:
        image = read(file).pixels
        done = denoise(image, channel_axis=-1 if image.ndim == 3 else None, threads=threads)
        yield _crop(image), _crop(done)


def _crop(image: NDArray[Any]) -> Pixels:
    top, left = (image.shape[0] - HEIGHT) // 2, (image.shape[1] - WIDTH) // 2
    part = image[top : top + HEIGHT, left : left + WIDTH].astype(np.uint8)
    grown = part.repeat(TWICE, axis=0).repeat(TWICE, axis=1)
    coloured = grown if grown.ndim == 3 else np.repeat(grown[..., None], 3, axis=-1)
    return np.pad(coloured, ((GAP // 2, GAP // 2), (GAP // 2, GAP // 2), (0, 0)), constant_values=255)


def _row(crops: list[Pixels]) -> Pixels:
    empty = [np.full_like(crops[0], 255)] * (COLUMNS - len(crops))
    return np.concatenate([*crops, *empty], axis=1)
