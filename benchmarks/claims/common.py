"""What the claims share: an image, lambda, and a folder for the plots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, middle, named
from epitomes.formats import write

PATCH = (8, 8)
LAM = 60.0  # grey levels; the paper gives no lambda for its figures


def chosen(pictures: list[Picture], name: str, options: Options, *, crop: int) -> tuple[str, NDArray[np.float32]]:
    """Select the image of the paper, or the largest one; quick runs use its middle."""
    picture = named(pictures, name)
    return picture.name, middle(picture.pixels, crop) if options.quick else picture.pixels


def drawn(options: Options, name: str, pixels: NDArray[np.uint8]) -> str:
    """Write a plot and return its file name."""
    folder = options.output or Path("bench")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / f"{name}.png", pixels, overwrite=True)
    return f"{name}.png"
