"""The epitome to start from: its channels are those of the pictures of a collection."""

from __future__ import annotations

from typing import Any

from epitomes.checks import RNG, Shape, as_seed, as_shape, one_of, whole
from epitomes.epitome import Epitome
from epitomes.learn import cosines, natural, smooth_noise
from epitomes.phi import windows
from epitomes.scale._collection import collection

STARTS = ("natural", "noise", "dct")


def start_for(
    source: Any,
    *,
    epitome_shape: Shape = (42, 42),
    patch_shape: Shape = (8, 8),
    count: int = 1,
    start: str = "natural",
    rng: RNG = 0,
) -> Epitome:
    """Return an initial epitome for the pictures of a collection.

    Parameters
    ----------
    source : str, path-like, array, iterable of these or Collection
        Pictures, as `collection` takes them. The first one that can be read decides the number of channels.
    epitome_shape : int or tuple of int, optional
        Shape of an epitome along the spatial axes. Three lengths are for volumes.
    patch_shape : int or tuple of int, optional
        Shape of a patch along the spatial axes.
    count : int, default: 1
        Number of epitomes.
    start : {"natural", "noise", "dct"}, optional
        Shipped epitome of natural images, low-passed noise, or cosines.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.

    Returns
    -------
    Epitome
        The initial epitome.

    Raises
    ------
    ImageFileError
        If none of the first pictures can be read.
    ValueError
        If no natural epitome of that shape is shipped, or the shapes do not agree.

    See Also
    --------
    learn_from : Learn an epitome from a collection.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.scale import start_for
    >>> start_for([np.zeros((50, 60, 3), np.uint8)], epitome_shape=20, start="noise").pixels.shape
    (20, 20, 3)
    """
    patch = as_shape("patch_shape", patch_shape, ndim=2 if isinstance(patch_shape, int) else None)
    epitome = as_shape("epitome_shape", epitome_shape, ndim=len(patch))
    seed, kind = as_seed(rng), one_of("start", start, STARTS)
    n_channels = collection(source, n_axes=len(patch)).n_channels()
    channels = (n_channels,) if n_channels > 1 else ()
    several = (whole("count", count, least=1),) if count != 1 else ()
    phi = windows((*several, *epitome, *channels), (*patch, *channels))
    if kind == "natural":
        return natural(phi)
    return smooth_noise(phi, rng=seed) if kind == "noise" else cosines(phi)
