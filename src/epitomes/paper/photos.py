"""The six pictures of the paper (its figure 4), found in a folder by name; other pictures in their place if need be.

The library ships none of them, because their licences are unclear. A folder may spell the names as it likes
(`Cameraman256.png`, `c.man.tif`, `lena_gray_512.png`). Where a picture differs in size from the paper's, no printed
number belongs beside it.
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
ENDINGS = (".png", ".tif", ".tiff", ".npy", ".jpg", ".jpeg")  # the earlier, the better
STAND_INS = {  # grey pictures inside scikit-image that need no download, each for one of the paper's
    "house": "coins",
    "peppers": "clock",
    "cameraman": "gravel",
    "barbara": "brick",
    "lena": "moon",
    "boat": "camera",
}
WHERE = (
    "The paper's pictures are house, peppers and cameraman (256 x 256), barbara, lena and boat (512 x 512), in grey. "
    "Some are in the USC-SIPI image database; all six are in the Set12 collection on which denoising papers measure "
    "(there the files are numbered: name them). Put them in a folder and name it with --images."
)


@dataclass(frozen=True, eq=False)
class Photo:
    """A clean grey picture to measure on."""

    name: str
    pixels: NDArray[np.float32]  # (H, W), 0 to 255
    source: str  # "given", "scikit-image" or "shipped"
    faithful: bool  # it is, by name and size, the picture of the paper: printed numbers belong beside it


@dataclass(frozen=True, eq=False)
class Photos:
    """The pictures of a run, in the order of the paper's columns, and what is to be said about them."""

    all: tuple[Photo, ...]
    notes: tuple[str, ...] = ()

    def like(self, name: str) -> Photo:
        """The picture of that name, or the one that stands in for it, or the first."""
        for wanted in (name, STAND_INS.get(name)):
            for photo in self.all:
                if photo.name == wanted:
                    return photo
        return self.all[0]

    def only(self, names: Sequence[str]) -> Photos:
        """The pictures of these names; an unknown name is an error that lists the known ones."""
        wanted = [canonical(name) or name for name in names]
        have = [photo.name for photo in self.all]
        if unknown := [name for name in wanted if name not in have]:
            raise ValueError(f"no picture named {', '.join(unknown)}: there are {', '.join(have)}")
        return Photos(tuple(photo for photo in self.all if photo.name in wanted), self.notes)


def find_photos(folder: Path | None) -> Photos:
    """The paper's pictures in a folder, or what ships with scikit-image or with us, with notes that say so."""
    if folder is None:
        return _stand_ins("No folder of pictures was named.")
    if not folder.is_dir():
        raise NotADirectoryError(f"--images {folder} is not a folder: name the one that holds the pictures")
    found = {name: _best(files_of) for name, files_of in _by_name(folder).items()}
    if not found:
        return _stand_ins(f"{folder} holds none of the paper's pictures.")
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
    """The paper's name of a picture, however a file spells it; None if it is none of the six.

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
        raise ValueError(f"{file} holds several pictures ({picture.axes}): save the one that you mean alone")
    stored = picture.pixels
    grey = as_grey(stored)
    notes = []
    if stored.ndim == 3:
        notes.append(
            f"{file.name} is in colour: its luminance is used, which may differ from the paper's grey picture."
        )
    faithful = grey.shape == (SIDE[name], SIDE[name])
    if not faithful:
        size = " x ".join(map(str, grey.shape))
        notes.append(
            f"{file.name} is {size}, the paper's is {SIDE[name]} x {SIDE[name]}: no printed numbers beside it."
        )
    return Photo(name, grey, "given", faithful), notes


def as_grey(pixels: NDArray[np.generic]) -> NDArray[np.float32]:
    """Grey levels from 0 to 255: colour becomes luminance (Rec. 601), 16 bits are divided by 257."""
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
        words = "Until then this runs on the picture that ships with the library."
        return Photos((shipped_photo(),), (f"{why} {WHERE} {words}",))
    photos = tuple(
        Photo(STAND_INS[name], as_grey(getattr(data, STAND_INS[name])()), "scikit-image", False) for name in PICTURES
    )
    words = "Until then this runs on pictures that ship with scikit-image, with no printed numbers beside them."
    return Photos(photos, (f"{why} {WHERE} {words}",))


def shipped_photo() -> Photo:
    """A grey photograph of 256 x 256 that comes with the library; none of the paper's."""
    with as_file(files("epitomes") / "data" / "camera-256.png") as path:
        return Photo("camera", as_grey(read(path).pixels), "shipped", False)
