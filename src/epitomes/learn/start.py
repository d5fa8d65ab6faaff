"""Initial epitomes for learning (paper, section 4.4).

The problem is not convex, so the initial epitome matters. The paper uses an epitome learned from natural images
(`natural`), which was itself learned from `smooth_noise`. `cosines` is the usual initialisation of a flat dictionary,
and `random_windows` the simplest one. Each works for any phi whose epitome is one picture, several pictures or a union
of these. The scale of the pixels does not matter, because the codes compensate for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import RNG, Array, as_floats, as_seed, positive
from epitomes.epitome import Epitome
from epitomes.phi import GatherPhi, Phi, UnionPhi

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

TRIES = 100  # windows that `random_windows` draws before it calls an image flat


def smooth_noise(phi: Phi, *, rng: RNG = 0, width: float = 1.5) -> Epitome:
    """Make an initial epitome of low-passed white noise.

    Each picture of the epitome has mean 0 and variance 1. Channels are filtered independently.

    Parameters
    ----------
    phi : Phi
        Map from the epitome to its atoms.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    width : float, optional
        Standard deviation of the Gaussian low-pass filter, in pixels. In small pictures it is at most half their
        length.

    Returns
    -------
    Epitome
        The epitome, in float64.

    See Also
    --------
    natural : Shipped epitomes of natural images.

    Examples
    --------
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> epitome = smooth_noise(windows((20, 20), (8, 8)))
    >>> epitome.pixels.shape, round(float(epitome.pixels.std()), 6)
    ((20, 20), 1.0)
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


def random_windows(phi: Phi, image: ArrayLike, *, rng: RNG = 0) -> Epitome:
    """Make an initial epitome of random windows of an image.

    The mean of each window is subtracted. Constant windows hold no information and are drawn again.

    Parameters
    ----------
    phi : Phi
        Map from the epitome to its atoms.
    image : array_like
        Image with as many axes as a patch, at least as large as each picture of the epitome.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.

    Returns
    -------
    Epitome
        The epitome, in the floating-point type of the image.

    Raises
    ------
    ValueError
        If the image is too small or constant.

    See Also
    --------
    smooth_noise : Initial epitome that needs no image.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import random_windows
    >>> from epitomes.phi import windows
    >>> image = np.random.default_rng(0).standard_normal((64, 64))
    >>> random_windows(windows((3, 20, 20), (8, 8)), image).pixels.shape
    (3, 20, 20)
    """
    pixels = as_floats("image", image)
    random = np.random.default_rng(as_seed(rng))

    def window_of(shape: Shape) -> Array:
        _require_room(pixels.shape, shape)
        for _ in range(TRIES):
            corner = [int(random.integers(have - need + 1)) for have, need in zip(pixels.shape, shape, strict=True)]
            window = pixels[tuple(slice(first, first + need) for first, need in zip(corner, shape, strict=True))]
            if window.size == 1 or window.min() < window.max():
                return _centred(window)
        raise ValueError(
            f"{TRIES} random windows of shape {shape} are constant: use an image with structure, or another initial "
            "epitome such as smooth_noise(phi)"
        )

    return _from_pictures(phi, lambda shapes: [window_of(shape) for shape in shapes])


def cosines(phi: Phi) -> Epitome:
    """Make an initial epitome of products of cosines.

    Where pictures have the size of a patch, this is the overcomplete DCT.

    Parameters
    ----------
    phi : Phi
        Map from the epitome to its atoms.

    Returns
    -------
    Epitome
        The epitome, in float64. Each picture has a mean square of 1.

    See Also
    --------
    smooth_noise : Random initial epitome.

    Notes
    -----
    With N pictures of d axes, let K be the smallest number with ``K**d >= N``. The frequencies along each axis are the
    multiples of ``pi / K``, and the N products of lowest frequency are used. In a picture larger than a patch, the
    frequency increases along each axis towards the next multiple. Windows at different places then show different
    frequencies: a single large picture has low frequencies in its first corner and high ones in its last.

    Examples
    --------
    >>> from epitomes.learn import cosines
    >>> from epitomes.phi import flat
    >>> cosines(flat(256, (8, 8))).dictionary.atoms.shape
    (256, 64)
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


def _from_pictures(phi: Phi, make: Callable[[list[Shape]], Sequence[Array]]) -> Epitome:
    """Make an epitome of the pictures that `make` returns for the shapes of all pictures of phi."""
    made = make(list(_picture_shapes(phi)))
    pixels = np.concatenate([picture.reshape(-1) for picture in made])
    return Epitome(pixels.reshape(phi.epitome_shape), phi)


def _picture_shapes(phi: Phi) -> Iterator[Shape]:
    """Yield the shapes, with the axes of a patch, of the pictures that lie end to end in the epitome of phi."""
    if isinstance(phi, UnionPhi):
        for part in phi.parts:
            yield from _picture_shapes(part)
        return
    rank = len(phi.patch_shape)
    joined = phi.part_shapes if isinstance(phi, GatherPhi) else ()
    for shape in joined or (phi.epitome_shape,):
        if len(shape) - rank not in (0, 1):
            raise ValueError(
                f"an initial epitome needs pictures of {rank} axes, like the patches, got pixels of shape {shape}: "
                "join all parts in one union, or make the Epitome yourself"
            )
        one = shape[len(shape) - rank :]
        yield from [one] * (math.prod(shape) // math.prod(one))


def _has_channels(shape: Shape, patch: Shape) -> bool:
    return len(patch) >= 3 and shape[-1] == patch[-1]


def _require_room(have: Shape, need: Shape) -> None:
    if len(have) != len(need) or any(h < n for h, n in zip(have, need, strict=True)):
        raise ValueError(
            f"the image must be at least as large as a picture of the epitome, {need} pixels, got shape {have}"
        )


def _centred(picture: Array) -> Array:
    """Subtract the mean, except from a single pixel, which would become zero."""
    if picture.size == 1:
        return picture
    return np.asarray(picture - picture.mean(dtype=np.float64), dtype=picture.dtype)


def _standard(picture: Array) -> Floats:
    return np.asarray(picture / np.sqrt(np.mean(picture**2)), dtype=np.float64)


def _lowest(count: int, rank: int) -> tuple[int, list[tuple[int, ...]]]:
    """Return the side of the smallest grid of at least `count` frequencies, and the lowest ones in row order."""
    side = 1
    while side**rank < count:
        side += 1
    grid = product(range(side), repeat=rank)
    return side, sorted(sorted(grid, key=lambda each: (sum(k * k for k in each), each))[:count])


def _wave(band: int, n_bands: int, length: int, width: int) -> Floats:
    """Return a cosine of frequency `pi band / n_bands`, which rises by up to `pi / n_bands` in large pictures."""
    x = np.arange(length)
    rise = (length - width) / length  # 0 where the picture has the size of the patch
    wave: Floats = np.cos(np.pi / n_bands * (band * x + rise * x**2 / (2 * length)))
    return wave - wave.mean() if band and length > 1 else wave
