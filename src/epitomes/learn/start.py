"""Starts: the epitomes that learning begins from (paper, section 4.4).

The problem is not convex, so the start matters. The paper's choice is `natural`, an epitome learned from natural
images, itself begun from `smooth_noise`. `cosines` is the usual start of a flat dictionary, `pieces` the simplest of
all. Each gives pixels for any phi whose epitome is one picture, several, or a union of such. The scale of the pixels
is free: the codes make up for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import as_file, files
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import RNG, Array, as_floats, as_seed, positive
from epitomes.epitome import Epitome
from epitomes.model_file import ModelInfo, inspect, load
from epitomes.phi import GatherPhi, Phi, UnionPhi

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

TRIES = 100  # windows that `pieces` looks at before it calls an image flat


def smooth_noise(phi: Phi, *, rng: RNG = 0, width: float = 1.5) -> Epitome:
    """White noise behind a Gaussian low-pass of standard deviation `width`: mean 0 and variance 1 in each picture.

    Channels are filtered apart. On tiny pictures the filter is narrowed to half of their side.
    """
    random = np.random.default_rng(as_seed(rng))
    blur = positive("width", width, zero=True)

    def picture(shape: Shape) -> Floats:
        n_filtered = len(shape) - _has_channels(shape, phi.patch_shape)
        widths = [min(blur, length / 2) for length in shape[:n_filtered]] + [0.0] * (len(shape) - n_filtered)
        # A periodic filter gives every pixel the same variance; any other raises that of the borders.
        soft: Floats = gaussian_filter(random.standard_normal(shape), widths, mode="wrap")
        return _standard(_centred(soft))

    return _from_pictures(phi, lambda shapes: [picture(shape) for shape in shapes])


def pieces(phi: Phi, image: ArrayLike, *, rng: RNG = 0) -> Epitome:
    """Windows of an image at random places, without their means, in the dtype of the image.

    The image needs as many axes as a patch. Windows that are constant have nothing to teach and are drawn again.
    """
    pixels = as_floats("image", image)
    random = np.random.default_rng(as_seed(rng))

    def piece(shape: Shape) -> Array:
        _require_room(pixels.shape, shape)
        for _ in range(TRIES):
            corner = [int(random.integers(have - need + 1)) for have, need in zip(pixels.shape, shape, strict=True)]
            window = pixels[tuple(slice(first, first + need) for first, need in zip(corner, shape, strict=True))]
            if window.size == 1 or window.min() < window.max():
                return _centred(window)
        raise ValueError(
            f"{TRIES} random windows of shape {shape} of the image are constant: use an image with structure, or "
            "another start"
        )

    return _from_pictures(phi, lambda shapes: [piece(shape) for shape in shapes])


def cosines(phi: Phi) -> Epitome:
    """Products of cosines, mean square 1: the overcomplete DCT where pictures have the size of a patch.

    With N pictures and K the least number such that K^axes >= N, the frequencies along each axis are the multiples of
    pi / K, and the N lowest products are taken. Where a picture is larger than a patch, its frequency rises along it,
    towards the next multiple: windows at different places then show different frequencies, so that a single large
    picture holds low ones at its first corner and high ones at its last.
    """

    def pictures(shapes: list[Shape]) -> list[Floats]:
        n_bands, frequencies = _lowest(len(shapes), len(phi.patch_shape))
        made = []
        for shape, each in zip(shapes, frequencies, strict=True):
            waves = [
                _wave(k, n_bands, length, width) for k, length, width in zip(each, shape, phi.patch_shape, strict=True)
            ]
            grids = np.ix_(*waves)
            made.append(_standard(math.prod(grids[1:], start=grids[0])))
        return made

    return _from_pictures(phi, pictures)


def natural(phi: Phi) -> Epitome:
    """The epitome of natural images that the library ships for pixels of this shape.

    An epitome serves patches of every size, so only the shape of the pixels and the axes of the patch must fit.
    """
    shipped: list[str] = []
    for entry in sorted((files("epitomes") / "data").iterdir(), key=lambda entry: entry.name):
        if not (entry.name.startswith("natural-") and entry.name.endswith(".epitome")):
            continue
        with as_file(entry) as path:
            info = inspect(path)
            if _serves(info, phi):
                return Epitome(load(path).pixels.reshape(phi.epitome_shape), phi)
        shipped.append(f"{info.epitome_shape} for patches of {len(info.patch_shape)} axes")
    raise ValueError(
        f"no natural epitome of shape {phi.epitome_shape} for patches of {len(phi.patch_shape)} axes is shipped; "
        f"there are: {'; '.join(shipped)}. Choose one of these shapes, or start from smooth_noise(phi)"
    )


def _serves(info: ModelInfo, phi: Phi) -> bool:
    """The same pictures: one picture may be given as such or as the only one of several."""
    rank = len(phi.patch_shape)
    needed = phi.epitome_shape[1:] if phi.epitome_shape[:-rank] == (1,) else phi.epitome_shape
    return rank == len(info.patch_shape) and needed == info.epitome_shape


def _from_pictures(phi: Phi, make: Callable[[list[Shape]], Sequence[Array]]) -> Epitome:
    """An epitome of the pictures that `make` gives for the shapes of all pictures of phi."""
    made = make(list(_picture_shapes(phi)))
    pixels = np.concatenate([picture.reshape(-1) for picture in made])
    return Epitome(pixels.reshape(phi.epitome_shape), phi)


def _picture_shapes(phi: Phi) -> Iterator[Shape]:
    """The shapes, each of the axes of a patch, of the pictures that lie end to end in the epitome of phi."""
    if isinstance(phi, UnionPhi):
        for part in phi.parts:
            yield from _picture_shapes(part)
        return
    rank = len(phi.patch_shape)
    joined = phi.part_shapes if isinstance(phi, GatherPhi) else ()
    for shape in joined or (phi.epitome_shape,):
        if len(shape) - rank not in (0, 1):
            raise ValueError(
                f"a start needs pictures of {rank} axes as the patches have, got pixels of shape {shape}: "
                "join all parts in one union, or make the Epitome yourself"
            )
        one = shape[len(shape) - rank :]
        yield from [one] * (math.prod(shape) // math.prod(one))


def _has_channels(shape: Shape, patch: Shape) -> bool:
    return len(patch) >= 3 and shape[-1] == patch[-1]


def _require_room(have: Shape, need: Shape) -> None:
    if len(have) != len(need) or any(h < n for h, n in zip(have, need, strict=True)):
        raise ValueError(
            f"image needs at least the {need} pixels of a picture of the epitome, axis by axis, got shape {have}"
        )


def _centred(picture: Array) -> Array:
    """Without its mean; a single pixel would vanish and stays."""
    if picture.size == 1:
        return picture
    return np.asarray(picture - picture.mean(dtype=np.float64), dtype=picture.dtype)


def _standard(picture: Array) -> Floats:
    return np.asarray(picture / np.sqrt(np.mean(picture**2)), dtype=np.float64)


def _lowest(count: int, rank: int) -> tuple[int, list[tuple[int, ...]]]:
    """The side of the least grid of frequencies that has `count`, and the lowest ones in row order."""
    side = 1
    while side**rank < count:
        side += 1
    grid = product(range(side), repeat=rank)
    return side, sorted(sorted(grid, key=lambda each: (sum(k * k for k in each), each))[:count])


def _wave(band: int, n_bands: int, length: int, width: int) -> Floats:
    """A cosine of frequency `pi band / n_bands`, rising by up to `pi / n_bands` where there is room for windows."""
    x = np.arange(length)
    rise = (length - width) / length  # 0 where the picture has the size of the patch
    wave: Floats = np.cos(np.pi / n_bands * (band * x + rise * x**2 / (2 * length)))
    return wave - wave.mean() if band and length > 1 else wave
