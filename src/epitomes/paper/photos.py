"""The six images of the paper (its figure 4), found in a folder by name, or other images in their place.

The library does not ship them, because their licences are unclear. Names may be spelled in many ways
(`Cameraman256.png`, `c.man.tif`, `lena_gray_512.png`). An image that differs in size from the paper's is not compared
with printed numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from epitomes.formats import read
from epitomes.paper.printed import PICTURES

SIDE = {"house": 256, "peppers": 256, "cameraman": 256, "barbara": 512, "lena": 512, "boat": 512}
OTHER_NAMES = {
    "cameraman": ("cman",),
    "peppers": ("pepper",),
    "barbara": ("barb",),
    "lena": ("lenna",),
    "boat": ("boats", "fishingboat"),
}
ADDED_WORDS = ("gray", "grey", "grayscale", "greyscale", "std", "original", "clean", "bw")  # lena_gray_512, lena_std
ENDINGS = (".png", ".tif", ".tiff", ".npy", ".jpg", ".jpeg")  # in order of preference
STAND_INS = {  # grey images inside scikit-image that need no download, each in place of one of the paper's
    "house": "coins",
    "peppers": "clock",
    "cameraman": "gravel",
    "barbara": "brick",
    "lena": "moon",
    "boat": "camera",
}
WHERE = (
    "The paper uses house, peppers and cameraman (256 x 256), barbara, lena and boat (512 x 512), in grey. Some are in "
    "the USC-SIPI image database; all six are in the Set12 collection, whose files are numbered and must be renamed. "
    "Put them in a folder and pass it with --images."
)


@dataclass(frozen=True, eq=False)
class Photo:
    """A clean grey image to measure on."""

    name: str
    pixels: NDArray[np.float32]  # (H, W), 0 to 255
    source: str  # "given", "scikit-image" or "shipped"
    faithful: bool  # name and size are those of the paper: printed numbers can be compared


@dataclass(frozen=True, eq=False)
class Photos:
    """The images of a run, in the order of the paper's columns, with notes for the reader."""

    all: tuple[Photo, ...]
    notes: tuple[str, ...] = ()

    def like(self, name: str) -> Photo:
        """Return the image of that name, or the one in its place, or the first."""
        for wanted in (name, STAND_INS.get(name)):
            for photo in self.all:
                if photo.name == wanted:
                    return photo
        return self.all[0]

    def only(self, names: Sequence[str]) -> Photos:
        """Select images by name; an unknown name raises an error that lists the known ones."""
        wanted = [canonical(name) or name for name in names]
        have = [photo.name for photo in self.all]
        if unknown := [name for name in wanted if name not in have]:
            raise ValueError(f"no picture named {', '.join(unknown)}: there are {', '.join(have)}")
        return Photos(tuple(photo for photo in self.all if photo.name in wanted), self.notes)


def find_photos(folder: Path | None) -> Photos:
    """Find the paper's images in a folder, or take others in their place and say so in a note."""
    if folder is None:
        return _stand_ins("No folder of images was given.")
    if not folder.is_dir():
        raise NotADirectoryError(f"--images {folder} is not a folder: pass the one that holds the images")
    found = {name: _best(files_of) for name, files_of in _by_name(folder).items()}
    if not found:
        return _stand_ins(f"{folder} holds none of the paper's images.")
    photos, notes = [], []
    for name in PICTURES:
        if name in found:
            photo, note = _read(name, found[name])
            photos.append(photo)
            notes.extend(note)
    if missing := [name for name in PICTURES if name not in found]:
        notes.append(f"{folder} lacks {', '.join(missing)}: means are over the others. {WHERE}")
    return Photos(tuple(photos), tuple(notes))


def canonical(name: str) -> str | None:
    """Return the paper's name of an image, however the file spells it; None if it is none of the six.

    >>> canonical("Cameraman256"), canonical("c.man"), canonical("lena_gray_512"), canonical("camera")
    ('cameraman', 'cameraman', 'lena', None)
    """
    words = re.findall("[a-z]+", name.lower())
    bare = "".join(word for word in words if word not in (*ADDED_WORDS, "x"))
    for picture in PICTURES:
        if bare in (picture, *OTHER_NAMES.get(picture, ())):
            return picture
    return None


def _by_name(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in ENDINGS and file.is_file() and (name := canonical(file.stem)):
            found.setdefault(name, []).append(file)
    return found


def _best(candidates: list[Path]) -> Path:
    """Lossless formats first, then the shorter name."""
    return min(candidates, key=lambda file: (ENDINGS.index(file.suffix.lower()), len(file.name), file.name))


def _read(name: str, file: Path) -> tuple[Photo, list[str]]:
    picture = read(file)
    if picture.axes not in ("YX", "YXC"):
        raise ValueError(f"{file} holds several images ({picture.axes}): save one of them as a file of its own")
    stored = picture.pixels
    grey = as_grey(stored)
    notes = []
    if stored.ndim == 3:
        notes.append(f"{file.name} is in colour: its luminance is used, which may differ from the paper's grey image.")
    faithful = grey.shape == (SIDE[name], SIDE[name])
    if not faithful:
        size = " x ".join(map(str, grey.shape))
        notes.append(
            f"{file.name} is {size}, the paper's is {SIDE[name]} x {SIDE[name]}: it is not compared with the paper."
        )
    return Photo(name, grey, "given", faithful), notes


def as_grey(pixels: NDArray[np.generic]) -> NDArray[np.float32]:
    """Convert to grey levels from 0 to 255: colour to luminance (Rec. 601), 16 bits divided by 257."""
    levels = np.asarray(pixels, np.float64)
    if levels.ndim == 3:
        levels = levels[..., 0] if levels.shape[-1] < 3 else levels[..., :3] @ (0.299, 0.587, 0.114)
    if pixels.dtype == np.uint16:
        levels = levels / 257.0
    elif pixels.dtype == np.bool_ or (pixels.dtype.kind == "f" and levels.max() <= 1.0):
        levels = levels * 255.0
    return levels.astype(np.float32)


def _stand_ins(why: str) -> Photos:
    try:
        from skimage import data
    except ImportError:
        words = "This run uses the image that ships with the library."
        return Photos((shipped_photo(),), (f"{why} {WHERE} {words}",))
    photos = tuple(
        Photo(STAND_INS[name], as_grey(getattr(data, STAND_INS[name])()), "scikit-image", False) for name in PICTURES
    )
    words = "This run uses images of scikit-image, which cannot be compared with the printed numbers."
    return Photos(photos, (f"{why} {WHERE} {words}",))


def shipped_photo() -> Photo:
    """Load the grey photograph of 256 x 256 pixels that ships with the library; it is not one of the paper's."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path:
        return Photo("camera", as_grey(read(path).pixels), "shipped", False)
