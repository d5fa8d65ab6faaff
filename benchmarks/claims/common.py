"""What the claims share: a picture, a price, and a folder for the drawings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options
from benchmarks.pictures import Picture, middle, named
from epitomes.formats import write

PATCH = (8, 8)
LAM = 60.0  # grey levels; the paper gives none for its pictures of epitomes


def chosen(pictures: list[Picture], name: str, options: Options, *, crop: int) -> tuple[str, NDArray[np.float32]]:
    """The picture of the paper, or the largest one; quick runs look at its middle."""
    picture = named(pictures, name)
    return picture.name, middle(picture.pixels, crop) if options.quick else picture.pixels


def drawn(options: Options, name: str, pixels: NDArray[np.uint8]) -> str:
    """Write a drawing into the folder of the benchmarks; its name."""
    folder = options.output or Path("bench")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / f"{name}.png", pixels, overwrite=True)
    return f"{name}.png"
