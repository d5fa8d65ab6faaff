"""What estimators choose when nothing is said: shapes for rows of numbers, and an epitome to begin with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from epitomes.checks import Shape, as_shape
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Step
from epitomes.learn.start import natural, smooth_noise
from epitomes.phi import windows

Lengths = tuple[int, ...]


def shape_of(n_features: int) -> Lengths:
    """What a row of so many values shows: a square picture if the number is a square, a signal otherwise."""
    side = math.isqrt(n_features)
    return (side, side) if side > 1 and side * side == n_features else (n_features,)


def one_epitome(patch: Lengths) -> Lengths:
    """The shape of one epitome for such patches: five times as wide and two pixels; for 8 x 8, the paper's 42 x 42.

    A third axis of at most four values is taken for colours.
    """
    return _enlarged(patch, 5, 2, colour=len(patch) == 3 and patch[2] <= 4)


def twenty_epitomes(patch: Lengths, *, colour: bool) -> Lengths:
    """The shape of twenty epitomes nearly twice as wide as a patch; for 8 x 8, the paper's twenty of 15 x 15."""
    return (20, *_enlarged(patch, 2, -1, colour=colour))


def _enlarged(patch: Lengths, times: int, more: int, *, colour: bool) -> Lengths:
    n_spatial = len(patch) - colour
    return (*(times * width + more for width in patch[:n_spatial]), *patch[n_spatial:])


def first_epitome(
    start: Epitome | None,
    epitome_shape: Shape | None,
    patch_shape: Shape | None,
    *,
    patch: Lengths,
    around: Callable[[Lengths], Lengths],
    seed: int,
) -> Epitome:
    """`start`, or one of the shapes asked for: of natural images where that is shipped, otherwise of smoothed noise.

    `patch` and `around(patch)` stand in for shapes that are None.
    """
    if start is None:
        size = patch if patch_shape is None else as_shape("patch_shape", patch_shape)
        phi = windows(around(size) if epitome_shape is None else epitome_shape, size)
        try:
            return natural(phi)
        except ValueError:  # none of that shape is shipped
            return smooth_noise(phi, rng=seed)
    if not isinstance(start, Epitome):
        raise TypeError(f"start must be an Epitome, got {type(start).__name__}: Epitome(pixels, phi) makes one")
    own = {"epitome_shape": start.phi.epitome_shape, "patch_shape": start.phi.patch_shape}
    for name, given in (("epitome_shape", epitome_shape), ("patch_shape", patch_shape)):
        if given is not None and as_shape(name, given) != own[name]:
            raise ValueError(f"start has the {name} {own[name]}, but {name} is {given}: leave one of them out")
    return start


def seed_of(random_state: Any) -> int:
    """A whole number is the seed itself, so that functions of the library give the same; generators are drawn from."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def without_caches(state: dict[str, Any]) -> dict[str, Any]:
    """The state of an estimator for pickling: prepared dictionaries cannot be pickled, and are made again when used."""

    def bare(epitome: Epitome) -> Epitome:
        return Epitome(epitome.pixels, epitome.phi)

    kept = dict(state)
    for name, value in state.items():
        if isinstance(value, Epitome):
            kept[name] = bare(value)
        elif isinstance(value, (Fit, Step)):
            kept[name] = replace(value, epitome=bare(value.epitome))
    return kept
