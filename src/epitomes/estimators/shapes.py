"""What the estimators share: shapes for rows of numbers, an epitome to begin with, seeds and threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from epitomes.checks import Shape, as_shape
from epitomes.epitome import Epitome
from epitomes.learn import natural, smooth_noise
from epitomes.phi import windows

Lengths = tuple[int, ...]

FLOATS = [np.float64, np.float32]  # dtypes that `transform` preserves
WIDEST_COLOUR = 4  # values along a third axis of a patch that are taken for colours


def shape_of(n_features: int) -> Lengths:
    """The shape of a row of so many values: a square image if the number is a square, a signal otherwise."""
    side = math.isqrt(n_features)
    return (side, side) if side > 1 and side * side == n_features else (n_features,)


def one_epitome(patch: Lengths) -> Lengths:
    """The shape of one epitome for such patches: five times as wide plus two pixels; for 8 x 8, the paper's 42 x 42."""
    n_spatial = len(patch) - (len(patch) == 3 and patch[2] <= WIDEST_COLOUR)
    return (*(5 * width + 2 for width in patch[:n_spatial]), *patch[n_spatial:])


def first_epitome(
    start: Epitome | None, epitome_shape: Shape | None, patch_shape: Shape | None, *, n_features: int, seed: int
) -> Epitome:
    """`start`, or an epitome of the shapes given: of natural images if one is shipped, otherwise of smoothed noise."""
    if start is None:
        patch = shape_of(n_features) if patch_shape is None else as_shape("patch_shape", patch_shape)
        phi = windows(one_epitome(patch) if epitome_shape is None else epitome_shape, patch)
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
    """The seed for the functions of the library: an int is the seed itself, generators are drawn from."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def threads_of(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` stands for in scikit-learn."""
    return int(effective_n_jobs(n_jobs))
