"""The pictures of a stack: denoised one by one, or time points of volumes together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from epitomes.layout import Layout, Place
from epitomes.noise.stabilise import Stabilised
from epitomes.restoration.method import Callback, Estimate, Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.across import is_deep
from epitomes.restoration.non_local.outliers import outliers_of
from epitomes.restoration.non_local.volumes import windows


def parts_of(method: Method, layout: Layout) -> list[list[Place]]:
    """Pictures that may be denoised together: volumes that are neighbours along the first axis of the stack."""
    across = method.across if isinstance(method, NonLocal) else None
    joins = across is not None and across.joins and is_deep(layout.picture_shape[: layout.spatial])
    if not layout.stack_shape or not joins:
        return [[place] for place in layout.places()]
    times, *rest = layout.stack_shape
    taken = windows(times, math.prod(layout.picture_shape[1:]))
    return [[(t, *other) for t in window] for other in np.ndindex(*rest) for window in taken]


def planes_of(method: Method, shape: tuple[int, ...], channels: bool) -> list[Place]:
    """Places of the planes of a picture that are denoised one by one; a single empty one if it is taken whole."""
    at_once = method.prepare(shape, channels)
    return list(np.ndindex(*shape[: len(shape) - channels - at_once]))


def joined_estimates(
    method: Method,
    evens: Mapping[Place, Stabilised | None],
    channels: bool,
    seed: int,
    threads: int | None,
    callback: Callback | None,
) -> tuple[Method, dict[Place, Estimate]]:
    """Estimates of pictures with even noise that are denoised together, if they are; and the method for others.

    In this method it is decided whether time points are taken together, and how their planes are taken.
    """
    found = [even for even in evens.values() if even is not None and even.blocks is None]
    if len(found) < max(2, len(evens)) or not isinstance(method, NonLocal) or method.across is None:
        return method, {}
    images, sigmas = [even.image for even in found], [even.sigma for even in found]
    if any(outliers_of(*each) is not None for each in zip(images, sigmas, strict=True)):
        return method, {}
    if "auto" in (method.times, method.planes):
        planes, times = method.across.decided(images, sigmas, seed=seed, threads=threads)
        method = replace(method, planes=planes, times=times)
    if method.times == "single" or method.across is None:
        return method, {}
    estimates = method.across.run_series(images, sigmas, seed=seed, threads=threads, callback=callback)
    return method, dict(zip(evens, estimates, strict=True))


def told_how(method: Method, parts: Sequence[Sequence[Place]], how: str) -> str:
    """How the first picture was denoised, and whether that was by itself, if there are others."""
    alone = isinstance(method, NonLocal) and method.times == "single" and any(len(part) > 1 for part in parts)
    return f"each time point by itself, {how}" if alone else how
