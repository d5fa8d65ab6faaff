"""multiscale: learn a small epitome on a reduced image, enlarge it, and continue at a finer scale (paper, section 4.2).

The paper's listing also enlarges the random initial epitome before its first scale; here `start` is resampled to the
size of the first scale. Smaller patches have less energy, so lam must be smaller too: `scales` multiplies it by the
square root of the fraction of the pixels that a patch keeps.
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
from epitomes.learn.steps import Step, in_full, require_start
from epitomes.learn.update import Update
from epitomes.patches import Patches
from epitomes.phi import windows


@dataclass(frozen=True, kw_only=True)
class Scale:
    """One scale of `multiscale`.

    The image is reduced by the ratio of this patch to the patch of the last scale.

    Parameters
    ----------
    epitome_shape : tuple of int
        Shape of the epitome at this scale.
    patch_shape : tuple of int
        Shape of a patch at this scale.
    lam : float
        Regularisation parameter lambda at this scale.
    n_steps : int
        Number of steps at this scale.

    See Also
    --------
    scales : Make scales from coarse to fine.

    Examples
    --------
    >>> from epitomes.learn import Scale
    >>> Scale(epitome_shape=(21, 21), patch_shape=(4, 4), lam=30.0, n_steps=20).n_steps
    20
    """

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
    """Make the scales of a multiscale run, from coarse to fine.

    Parameters
    ----------
    epitome_shape : int or tuple of int
        Shape of the epitome at the last scale. A leading axis counts epitomes and keeps its length, and so do axes
        along which the epitome is not longer than the patch, such as colour.
    patch_shape : int or tuple of int
        Shape of a patch at the last scale.
    lam : float
        Regularisation parameter lambda at the last scale.
    n_steps : sequence of int, optional
        Number of steps at each scale, one number per scale.
    ratio : float, optional
        Each scale is this many times finer than the one before.

    Returns
    -------
    tuple of Scale
        The scales, coarsest first.

    Raises
    ------
    ValueError
        If a patch does not fit in the epitome, or a parameter is out of range.

    See Also
    --------
    multiscale : Learn through these scales.

    Notes
    -----
    At a scale whose patches have ``m'`` of the ``m`` pixels of the last scale, ``lam' = lam sqrt(m' / m)``.

    Examples
    --------
    >>> from epitomes.learn import scales
    >>> [(scale.epitome_shape, scale.patch_shape) for scale in scales((42, 42), (8, 8), lam=60.0)]
    [((21, 21), (4, 4)), ((32, 32), (6, 6)), ((42, 42), (8, 8))]
    """
    whole_size = windows(epitome_shape, patch_shape)  # refuses shapes that do not fit
    epitome, patch = whole_size.epitome_shape, whole_size.patch_shape
    finest = positive("lam", lam)
    if not positive("ratio", ratio) > 1:
        raise ValueError(f"ratio must be above 1, got {ratio}: each scale is that many times finer than the one before")
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
                lam=finest * share,
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
    """Learn an epitome from coarse to fine.

    The learner yields the steps of `alternate` at each scale in turn and ends after the last scale. Between scales the
    epitome is enlarged. The phi of each scale is ``windows(scale.epitome_shape, scale.patch_shape)``.

    Parameters
    ----------
    image : array_like
        Image with as many axes as a patch.
    start : Epitome
        Initial epitome of any size. It is resampled to the first scale.
    scales : sequence of Scale
        Scales, coarsest first.
    update : Update, optional
        Dictionary step. Default: ``PreconditionedFista()``.
    sample : int, optional
        Draw about this many patches at random in each step. Default: use all patches in every step.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed for `sample`.
    after : Step, optional
        Continue from this step of an earlier run. `start` is not used then.
    threads : int, optional
        Number of threads. Default: one per processor. It does not change the result.

    Returns
    -------
    iterator of Step
        Epitome, progress and codes after each step. Objectives of different scales cannot be compared, because they
        belong to different patches.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If `scales` is empty, or the axes of the epitome, the patches and the image do not agree.

    See Also
    --------
    scales : Make scales from coarse to fine.
    alternate : Learn at one scale.

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.learn import multiscale, run, scales, smooth_noise
    >>> from epitomes.phi import windows
    >>> image = np.random.default_rng(0).standard_normal((32, 32)).cumsum(axis=0)
    >>> plan = scales((12, 12), (4, 4), lam=1.0, n_steps=(2, 2))
    >>> fit = run(multiscale(image, smooth_noise(windows((12, 12), (4, 4))), scales=plan))
    >>> [progress.scale for progress in fit.history]
    [0, 0, 1, 1]
    """
    require_start(start, after)
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
    """Resample the epitome and its patches to another size by cubic splines; return it as it is if nothing changes."""
    phi = windows(epitome_shape, patch_shape)
    have = epitome.pixels.shape
    if have == phi.epitome_shape and epitome.phi.patch_shape == phi.patch_shape:
        return epitome
    if len(have) != len(phi.epitome_shape):
        raise ValueError(f"start of shape {have} cannot be resampled to shape {phi.epitome_shape}: the axes differ")
    pixels = epitome.pixels
    if have != phi.epitome_shape:
        factors = [goal / length for goal, length in zip(phi.epitome_shape, have, strict=True)]
        pixels = ndimage.zoom(pixels, factors, order=3, mode="nearest", grid_mode=True)
    return Epitome(np.ascontiguousarray(pixels, np.float64), phi)


def reduced(image: Array, factors: tuple[float, ...]) -> Array:
    """Reduce the image by a factor along each axis, low-passed first to avoid aliasing."""
    if all(factor == 1.0 for factor in factors):
        return image
    blur = [0.5 * math.sqrt(max(factor**-2 - 1.0, 0.0)) for factor in factors]
    soft = ndimage.gaussian_filter(image.astype(np.float64), blur, mode="nearest")
    small = ndimage.zoom(soft, factors, order=1, mode="nearest", grid_mode=True)
    return np.ascontiguousarray(small, image.dtype)
