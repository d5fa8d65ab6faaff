"""Clean images to add noise to: those of scikit-image, or a folder of colour PNGs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.noise import GREY
from benchmarks.pictures import Picture, middle
from benchmarks.real_noise.pairs import read_image


@dataclass(frozen=True, kw_only=True)
class Source:
    """Which clean images, and how much of them."""

    names: tuple[str, ...]  # of scikit-image
    most: int  # of a folder, the first ones by name
    colour: bool  # otherwise grey
    width: int  # of the square in the middle

    def first(self, width: int) -> Source:
        """Return the first image alone, of this width."""
        return replace(self, names=self.names[:1], most=1, width=width)

    def read(self, folder: Path | None) -> list[Picture]:
        """Read the images of the folder, or those of scikit-image without one."""
        if folder is None:
            found = {name: of_skimage(name) for name in self.names}
        else:
            found = {file.stem: read_image(file) for file in sorted(folder.glob("*.png"))[: self.most]}
        if not found:
            raise SystemExit(f"{folder} holds no PNG images: name another folder with --images")
        origin = "scikit-image" if folder is None else "given"
        return [
            Picture(name, middle(as_kind(pixels, self.colour), self.width), origin) for name, pixels in found.items()
        ]


def of_skimage(name: str) -> NDArray[np.uint8]:
    """Return an image that ships with scikit-image; of a pair of views, the left one."""
    from skimage import data

    pixels = getattr(data, name)()
    return pixels[0] if isinstance(pixels, tuple) else pixels


def as_kind(pixels: NDArray[np.uint8], colour: bool) -> NDArray[np.float32]:
    """Convert to whole float32 numbers, grey or RGB."""
    if pixels.ndim == 2:
        return (np.stack([pixels] * 3, axis=-1) if colour else pixels).astype(np.float32)
    return (pixels[..., :3] if colour else np.rint(pixels[..., :3] @ GREY)).astype(np.float32)
