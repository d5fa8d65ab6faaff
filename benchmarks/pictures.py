"""Pictures to race on, and the noise that is added to them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FIRST = ("house", "boat", "camera")  # quick runs take pictures in this order, then by name
SHIPPED = ("camera", "coins", "brick", "moon", "gravel", "clock")  # grey pictures inside scikit-image, no download
HELD_OUT = 20  # of a folder of natural pictures, every 20th by name is for measuring only
COLOURED = ("astronaut", "coffee", "chelsea")  # colour pictures inside scikit-image
SUFFIXES = (".png", ".jpg", ".jpeg")  # of the folders that `apart` splits


@dataclass(frozen=True, eq=False)
class Picture:
    name: str
    pixels: NDArray[np.float32]  # (H, W), or (H, W, 3) if colours were asked for, 0 to 255
    source: str  # "given" or "scikit-image"


def read_pictures(folder: Path | None) -> list[Picture]:
    """All PNG pictures of a folder in grey, or those inside scikit-image when no folder is named."""
    found = from_skimage() if folder is None else from_folder(folder)
    return sorted(found, key=lambda picture: (rank(picture.name), picture.name))


def read_colours(folder: Path | None) -> list[Picture]:
    """The RGB pictures among the PNG files of a folder, or those inside scikit-image when no folder is named."""
    from PIL import Image

    if folder is None:
        return from_skimage(COLOURED)
    pictures = []
    for file in sorted(folder.glob("*.png")):
        with Image.open(file, formats=["PNG"]) as image:
            if image.mode == "RGB":
                pictures.append(Picture(file.stem, np.asarray(image, np.float32), "given"))
    return pictures


def from_folder(folder: Path) -> list[Picture]:
    files = sorted(folder.glob("*.png"))
    if not files:
        raise SystemExit(f"{folder} holds no PNG pictures: give --images another folder")
    return from_files(files)


def apart(folder: Path) -> tuple[list[Path], list[Path]]:
    """The PNG and JPEG files of a folder by name: every 20th, from which nothing may be learned, and the others."""
    files = sorted(file for file in folder.glob("*") if file.suffix.lower() in SUFFIXES)
    kept = files[HELD_OUT - 1 :: HELD_OUT]
    if not kept:
        raise SystemExit(
            f"{folder} holds {len(files)} PNG or JPEG pictures, at least {HELD_OUT} are needed: name another folder"
        )
    return kept, [file for number, file in enumerate(files, 1) if number % HELD_OUT]


def from_files(files: list[Path]) -> list[Picture]:
    """Pictures in grey, 0 to 255."""
    from PIL import Image

    pictures = []
    for file in files:
        with Image.open(file, formats=["PNG", "JPEG"]) as image:
            if image.mode not in {"1", "L", "LA", "P", "RGB", "RGBA"}:  # deeper ones would be clipped to 8 bits
                print(f"# {file.name}: mode {image.mode} is not 8-bit grey or colour, skipped", file=sys.stderr)
                continue
            pictures.append(Picture(file.stem, np.asarray(image.convert("L"), np.float32), "given"))
    return pictures


def from_skimage(names: tuple[str, ...] = SHIPPED) -> list[Picture]:
    try:
        from skimage import data
    except ImportError:
        raise SystemExit("no pictures: name a folder with --images DIR, or install scikit-image") from None
    return [Picture(name, np.asarray(getattr(data, name)(), np.float32), "scikit-image") for name in names]


def rank(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def named(pictures: list[Picture], name: str) -> Picture:
    """The picture of that name, else the largest one."""
    same = [picture for picture in pictures if picture.name == name]
    return same[0] if same else max(pictures, key=lambda picture: picture.pixels.size)


def to_race(folder: Path | None, quick: bool) -> list[Picture]:
    """All pictures; for a quick look the middle of the first one, 256 x 256 at most."""
    pictures = read_pictures(folder)
    if not quick:
        return pictures
    return [replace(pictures[0], pixels=middle(pictures[0].pixels, 256))]


def middle(pixels: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """The square of that width in the middle, with all its channels: borders are often sky and lawn."""
    parts = tuple(slice(max(0, (side - width) // 2), (side - width) // 2 + width) for side in pixels.shape[:2])
    return np.ascontiguousarray(pixels[parts])


def add_noise(pixels: NDArray[np.float32], sigma: float, seed: int) -> NDArray[np.float32]:
    """White Gaussian noise, neither rounded nor clipped. The seed alone decides it, not what ran before."""
    noise = np.random.default_rng(seed).standard_normal(pixels.shape)
    return (pixels + sigma * noise).astype(np.float32)
