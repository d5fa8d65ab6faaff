"""natural: epitomes learned from natural images, which ship with the library (paper, section 4.4).

They are in one NumPy archive, `data/natural.npz`, written by `python -m benchmarks make-epitomes`: an array of pixels
for each, and a JSON text "about" with the patch shape and the provenance of each. The archive is read once per process,
and an epitome is prepared once for each phi.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from epitomes.checks import Array
from epitomes.epitome import Epitome
from epitomes.learn._identity import identity
from epitomes.phi import GatherPhi, Phi

ARCHIVE = "natural.npz"


class NotShippedError(ValueError):
    """No natural epitome of the shape asked for is shipped."""


@dataclass(frozen=True, eq=False)
class Shipped:
    """An epitome of the archive."""

    pixels: Array
    patch_shape: tuple[int, ...]  # used for learning
    provenance: Mapping[str, Any]  # the fields of a `Provenance`


def natural(phi: Phi) -> Epitome:
    """Return the shipped epitome of natural images for this phi.

    An epitome can be cut into patches of any size, so only the shape of its pixels and the number of axes of a patch
    have to match. The same phi gives the same object, so its dictionary is prepared once per process.

    Parameters
    ----------
    phi : Phi
        Map from the epitome to its atoms. Shipped for grey images: one epitome of 42 x 42 pixels, 2 of 32 x 32, 2 of
        46 x 46, 4 of 25 x 25 and 20 of 15 x 15. Shipped for colour images: one of 42 x 42 and 20 of 15 x 15.

    Returns
    -------
    Epitome
        The epitome, in float32.

    Raises
    ------
    ValueError
        If no epitome of that shape is shipped. The message lists those that are.

    See Also
    --------
    smooth_noise : Random initial epitome of any shape.

    Examples
    --------
    >>> from epitomes.learn import natural
    >>> from epitomes.phi import windows
    >>> natural(windows((42, 42), (8, 8)))
    Epitome((42, 42) float32, GatherPhi((42, 42) -> 1225 atoms of (8, 8)))
    """
    return _prepared(_Key(phi, str(identity(phi)) if isinstance(phi, GatherPhi) else str(id(phi))))


@dataclass(frozen=True)
class _Key:
    """A phi that equals every phi with the same index table; a phi without one equals itself alone."""

    phi: Phi = field(compare=False)
    name: str


@lru_cache(maxsize=16)
def _prepared(key: _Key) -> Epitome:
    phi = key.phi
    for one in shipped().values():
        if _fits(one, phi):
            return Epitome(one.pixels.reshape(phi.epitome_shape), phi)
    available = "; ".join(
        f"{one.pixels.shape} for patches of {len(one.patch_shape)} axes" for one in shipped().values()
    )
    raise NotShippedError(
        f"no natural epitome of shape {phi.epitome_shape} for patches of {len(phi.patch_shape)} axes is shipped; "
        f"there are: {available}. Use one of these shapes, or start from smooth_noise(phi)"
    )


@cache
def shipped() -> Mapping[str, Shipped]:
    """Read all epitomes of the archive, by name."""
    with (files("epitomes") / "data" / ARCHIVE).open("rb") as file, np.load(file, allow_pickle=False) as archive:
        about = json.loads(str(archive["about"]))
        return {
            name: Shipped(archive[name], tuple(known["patch_shape"]), known["provenance"])
            for name, known in about.items()
        }


def _fits(one: Shipped, phi: Phi) -> bool:
    """Whether the pictures are the same; one picture may also be given as the only one of several."""
    rank = len(phi.patch_shape)
    needed = phi.epitome_shape[1:] if phi.epitome_shape[:-rank] == (1,) else phi.epitome_shape
    return rank == len(one.patch_shape) and needed == one.pixels.shape
