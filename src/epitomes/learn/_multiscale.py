"""multiscale: learn a small epitome on a reduced image, enlarge it, and go on a scale finer (paper, section 4.2).

The paper's listing enlarges the random start too, before its first scale; here `start` has the size of the first scale
itself. Patches shrink with the image, so their energy does, and so must lam: `scales` multiplies it by the width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from epitomes.checks import RNG, Array, Shape, as_floats, as_seed, positive, whole
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.learn._alternate import alternate
from epitomes.learn.steps import Step, in_full
from epitomes.learn.update import Update
from epitomes.patches import Patches
from epitomes.phi import windows


@dataclass(frozen=True, kw_only=True)
class Scale:
    """One scale; the image is reduced as the patch is, compared with the patch of the last scale."""

    epitome_shape: tuple[int, ...]
    patch_shape: tuple[int, ...]
    lam: float
    n_steps: int


def scales(
    epitome_shape: Shape,
    patch_shape: Shape,
    *,
    lam: float,
    n_steps: Sequence[int] = (20, 15, 15),
    ratio: float = math.sqrt(2.0),
) -> tuple[Scale, ...]:
    """As many scales as `n_steps` has numbers, coarsest first, each `ratio` times finer than the one before.

    Axes of the epitome beyond those of the patch count epitomes and keep their length; so do axes, such as colour,
    along which the epitome is not longer than the patch.
    """
    whole_size = windows(epitome_shape, patch_shape)  # refuses shapes that do not fit
    epitome, patch = whole_size.epitome_shape, whole_size.patch_shape
    price = positive("lam", lam)
    if not positive("ratio", ratio) > 1:
        raise ValueError(f"ratio must be above 1, got {ratio}: each scale is that many times finer")
    lead = len(epitome) - len(patch)
    slides = [e > p for e, p in zip(epitome[lead:], patch, strict=True)]
    made = []
    for number, count in enumerate(n_steps):
        factor = ratio ** (number - len(n_steps) + 1)
        small = tuple(max(2, round(p * factor)) if moves else p for p, moves in zip(patch, slides, strict=True))
        wide = tuple(
            max(s, round(e * s / p)) if moves else e
            for e, p, s, moves in zip(epitome[lead:], patch, small, slides, strict=True)
        )
        share = math.sqrt(math.prod(small) / math.prod(patch))
        made.append(
            Scale(
                epitome_shape=epitome[:lead] + wide,
                patch_shape=small,
                lam=price * share,
                n_steps=whole("n_steps", count, least=1),
            )
        )
    return tuple(made)


def multiscale(
    image: ArrayLike,
    start: Epitome,
    *,
    scales: Sequence[Scale],
    update: Update | None = None,
    sample: int | None = None,
    rng: RNG = 0,
    after: Step | None = None,
    threads: int | None = None,
) -> Iterator[Step]:
    """The steps of `alternate` at each scale in turn; ends after the last. `start` is an epitome of any size.

    The objectives of different scales belong to different patches and cannot be compared.
    """
    pixels = as_floats("image", image)
    seed = as_seed(rng)
    if not scales:
        raise ValueError("scales is empty: give at least one Scale")
    return _steps(pixels, start, tuple(scales), update, sample, seed, after, threads)


def _steps(
    image: Array,
    start: Epitome,
    scales: tuple[Scale, ...],
    update: Update | None,
    sample: int | None,
    seed: int,
    after: Step | None,
    threads: int | None,
) -> Iterator[Step]:
    full = scales[-1].patch_shape
    epitome = in_full(start if after is None else after.epitome)
    done = 0
    for number, scale in enumerate(scales):
        first, done = done, done + scale.n_steps
        if after is not None and after.progress.index >= done:
            continue
        begun = None
        if after is not None and after.progress.index > first:
            begun = replace(after, progress=replace(after.progress, index=after.progress.index - first))
        if begun is None:
            epitome = enlarged(epitome, scale.epitome_shape, scale.patch_shape)
        patches = Patches(
            reduced(image, tuple(s / f for s, f in zip(scale.patch_shape, full, strict=True))), scale.patch_shape
        )
        learner = alternate(
            patches,
            epitome,
            coder=Lasso(lam=scale.lam),
            update=update,
            sample=sample,
            rng=seed + number,
            after=begun,
            threads=threads,
        )
        for step in learner:
            numbers = replace(step.progress, index=first + step.progress.index, scale=number)
            epitome = step.epitome
            yield replace(step, progress=numbers)
            if step.progress.index >= scale.n_steps:
                break


def enlarged(epitome: Epitome, epitome_shape: tuple[int, ...], patch_shape: tuple[int, ...]) -> Epitome:
    """The epitome resampled to another size by cubic splines, its patches with it; itself if nothing changes."""
    phi = windows(epitome_shape, patch_shape)
    have = epitome.pixels.shape
    if have == phi.epitome_shape and epitome.phi.patch_shape == phi.patch_shape:
        return epitome
    if len(have) != len(phi.epitome_shape):
        raise ValueError(f"an epitome of shape {have} cannot become one of shape {phi.epitome_shape}: the axes differ")
    pixels = epitome.pixels
    if have != phi.epitome_shape:
        factors = [goal / length for goal, length in zip(phi.epitome_shape, have, strict=True)]
        pixels = ndimage.zoom(pixels, factors, order=3, mode="nearest", grid_mode=True)
    return Epitome(np.ascontiguousarray(pixels, np.float64), phi)


def reduced(image: Array, factors: tuple[float, ...]) -> Array:
    """The image at a fraction of its size along each axis, low-passed first so that nothing folds over."""
    if all(factor == 1.0 for factor in factors):
        return image
    blur = [0.5 * math.sqrt(max(factor**-2 - 1.0, 0.0)) for factor in factors]
    soft = ndimage.gaussian_filter(image.astype(np.float64), blur, mode="nearest")
    small = ndimage.zoom(soft, factors, order=1, mode="nearest", grid_mode=True)
    return np.ascontiguousarray(small, image.dtype)
