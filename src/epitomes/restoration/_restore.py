"""The road from a picture to a picture: estimate the noise, plan, run."""

from __future__ import annotations

import math
import time as clock
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import RNG, as_floats, as_seed
from epitomes.epitome import Epitome
from epitomes.formats import Picture
from epitomes.layout import Layout
from epitomes.noise import Noise, estimate_noise
from epitomes.restoration._arguments import Request, as_method, noise_of, require_sigma
from epitomes.restoration._plan import Plan, require_run
from epitomes.restoration.contrast import variance
from epitomes.restoration.method import Callback, Method, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.patchwise import Patchwise
from epitomes.restoration.planning import TINY, Decision, Task, by_time, search, seconds_of
from epitomes.restoration.restored import Restored

DOUBTFUL = {"texture", "correlated", "quantised", "jpeg", "demosaicked"}  # kinds of doubt about faint noise
ROUNDING = "The noise is fainter than the steps between whole numbers, and may be texture."
ESTIMATING, PLANNING = 0.04, 0.15  # shares of the progress shown
MOST_PLANNING = 0.45  # the same, once it is known how long the rest takes


def denoise(
    image: ArrayLike | Picture,
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    channel_axis: int | None = None,
    spatial: int | None = None,
    mask: ArrayLike | None = None,
    fill: bool = False,
    method: str | Method | None = None,
    preset: str = "auto",
    epitome: Epitome | None = None,
    time: float | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> NDArray[Any]:
    """Denoise an image, volume or stack by groups of similar patches and an epitome.

    The noise is estimated from the image unless `sigma` or `noise` is given: white, growing with brightness, or
    correlated as in photographs; salt and pepper, hot pixels and stripes are then removed, too. The method is chosen by
    trials on tiles of the image unless `method`, `preset` or `epitome` is given, or the noise is correlated.

    Parameters
    ----------
    image : array_like or Picture
        Image ``(H, W)``, volume ``(D, H, W)`` or, with `channel_axis`, an array with channels. Any real dtype. The axes
        of a `Picture` say what `channel_axis` and `spatial` say of an array.
    sigma : float, optional
        Standard deviation of white Gaussian noise, in the units of `image`. Short for ``noise=Noise.gaussian(sigma)``.
    noise : Noise, optional
        Noise model, for example from `estimate_noise`.
    channel_axis : int, optional
        Axis of the channels or colours. If None, all axes are spatial or count pictures; an array whose last axis has
        at most four values is then refused, unless `spatial` says that it is a volume.
    spatial : int, optional
        Number of spatial axes: 2 for images, 3 for volumes. Axes before them count independent pictures. If None, all
        axes but `channel_axis` are spatial.
    mask : array_like, optional
        Non-zero at bad pixels, which are not used. It has the shape of `image`, with or without channels, or that of
        one picture or plane of it. NaN is bad wherever it is.
    fill : bool, default: False
        Whether bad pixels are estimated. Otherwise they are returned as they are.
    method : {"nonlocal", "paper"}, NonLocal or Patchwise, optional
        "nonlocal" codes groups of similar patches; "paper" codes every patch by itself with an epitome learned from the
        image. Objects hold more settings. Default: chosen automatically.
    preset : {"auto", "fast", "balanced", "best"}, default: "auto"
        Speed and quality of the non-local method. With "auto", candidates are tried on tiles of the image unless
        `method` or `epitome` is given; "balanced" otherwise.
    epitome : Epitome, optional
        Epitome to use as it is. Default: a shipped one, or for the paper's method one learned from the image.
    time : float, optional
        Time limit in seconds for everything. Only with ``preset="auto"``. Methods are then chosen by their time, too.
    rng : Generator, int or None, default: 0
        Random number generator or seed, for trials and learning.
    threads : int, optional
        Number of threads, by default one per core. It changes no bit of the result.
    callback : callable, optional
        Called as ``callback(fraction, stage)`` with the fraction of the work that is done and a few words.

    Returns
    -------
    ndarray
        The denoised image, with the shape and dtype of `image`.

    Raises
    ------
    ValueError
        If arguments exclude each other, or the method cannot handle the image or the epitome.
    TimeLimitError
        If no method denoises the image within `time`; it is a ValueError, and says what would fit. Nothing was done.

    Warns
    -----
    UserWarning
        If no noise was found, or it is too faint to be removed: the image is returned unchanged.

    See Also
    --------
    restore : The same, with the noise model, the plan and diagnostics.
    estimate_noise : Estimate the noise model only.

    Notes
    -----
    Groups of similar patches are coded jointly over the atoms of an epitome [1]_ and shrunk to low rank, in passes that
    refine one another. Groups reach across the planes of volumes and clips, along their motion where that pays;
    `Restored.how` says how planes were taken, and `NonLocal` can set it.

    References
    ----------
    .. [1] L. Benoît, J. Mairal, F. Bach, J. Ponce, "Sparse image representation with epitomes", CVPR 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> clean = np.add.outer(np.arange(64.0), np.arange(64.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 10, clean.shape)
    >>> estimate = denoise(noisy, preset="fast")
    >>> bool(np.std(estimate - clean) < 0.3 * np.std(noisy - clean))
    True
    """
    restored = restore(
        image,
        sigma,
        noise=noise,
        channel_axis=channel_axis,
        spatial=spatial,
        mask=mask,
        fill=fill,
        method=method,
        preset=preset,
        epitome=epitome,
        time=time,
        rng=rng,
        threads=threads,
        callback=callback,
    )
    if restored.notes and restored.unchanged:
        warnings.warn("; ".join(restored.notes), stacklevel=2)
    return restored.image


def restore(
    image: ArrayLike | Picture,
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    channel_axis: int | None = None,
    spatial: int | None = None,
    mask: ArrayLike | None = None,
    fill: bool = False,
    method: str | Method | None = None,
    preset: str = "auto",
    epitome: Epitome | None = None,
    time: float | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Restored:
    """Denoise an image and return the result with its noise model, plan and diagnostics.

    Parameters
    ----------
    image, sigma, noise, channel_axis, spatial, mask, fill : see `denoise`
        The image, its noise, the meaning of its axes, and its bad pixels.
    method, preset, epitome, time : see `denoise`
        How to denoise it, and how long that may take.
    rng, threads, callback : see `denoise`
        Random numbers, number of threads, and progress.

    Returns
    -------
    Restored
        Image, noise, plan, epitome and times; ``restored.audit()`` judges the result, ``restored.report(path)`` writes
        a page about it.

    See Also
    --------
    denoise : The same, returning the image alone.
    plan : Make the plan without running it.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import restore
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> restored = restore(noisy, sigma=10)
    >>> print(restored.plan.explain())
    balanced: an image of 48 x 48 pixels is too small to compare methods on
    """
    request = Request.of(image, channel_axis, spatial, mask)
    require_run(threads, callback)
    known, how = noise_of(sigma, noise), as_method(method, preset, epitome, time)
    require_sigma(sigma, request.pixels)
    began = clock.perf_counter()
    request, notes = request.without_defects(time) if known is None else (request, ())
    planned = PLANNING if how is None else ESTIMATING if known is None else 0.0
    chosen = _plan(
        request,
        known,
        how,
        time=time,
        began=began,
        seed=as_seed(rng),
        threads=threads,
        callback=within(callback, 0.0, planned),
    )
    if chosen.seconds:  # from here on, the progress shown is that of the clock
        planned = max(planned, min(MOST_PLANNING, chosen.spent / (chosen.spent + chosen.seconds)))
    restored = chosen.run(
        request.given,
        mask=request.mask,
        fill=fill,
        rng=rng,
        threads=threads,
        callback=within(callback, planned, 1.0),
    )
    return replace(restored, image=request.back(restored.image), notes=(*notes, *restored.notes))


def plan(
    image: ArrayLike | Picture,
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    channel_axis: int | None = None,
    spatial: int | None = None,
    mask: ArrayLike | None = None,
    method: str | Method | None = None,
    preset: str = "auto",
    epitome: Epitome | None = None,
    time: float | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Plan:
    """Decide how to denoise an image, without doing it.

    Parameters
    ----------
    image, sigma, noise, channel_axis, spatial, mask : see `denoise`
        The image, its noise, the meaning of its axes, and its bad pixels.
    method, preset, epitome, time : see `denoise`
        How to denoise it, and how long that may take.
    rng, threads, callback : see `denoise`
        Random numbers, number of threads, and progress.

    Returns
    -------
    Plan
        Method, noise, predicted time and memory, and reasons. ``plan.run(image)`` does it.

    See Also
    --------
    restore : Plan and run at once.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import plan
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> print(plan(noisy, sigma=10, preset="best").explain())
    best: as requested
    """
    request = Request.of(image, channel_axis, spatial, mask)
    require_run(threads, callback)
    known, how = noise_of(sigma, noise), as_method(method, preset, epitome, time)
    require_sigma(sigma, request.pixels)
    began = clock.perf_counter()
    found = _plan(
        request.without_defects(time)[0] if known is None else request,
        known,
        how,
        time=time,
        began=began,
        seed=as_seed(rng),
        threads=threads,
        callback=callback,
    )
    if found.seconds is not None:
        return found
    task = _task(request, found.noise, None, as_seed(rng), threads, began)
    return replace(found, seconds=0.0 if task is None else seconds_of(found.method, task))


def _plan(
    request: Request,
    noise: Noise | None,
    method: Method | None,
    *,
    time: float | None,
    began: float,
    seed: int,
    threads: int | None,
    callback: Callback | None,
) -> Plan:
    layout, pixels = request.layout, request.pixels
    if method is not None:
        method.prepare(layout.picture_shape, layout.channel_axis is not None)  # refused here, before any work
    if callback is not None:
        callback(0.0, "planning")
    if noise is None:
        tell = within(callback, 0.0, ESTIMATING / PLANNING if method is None else 1.0)
        noise = estimate_noise(
            request.sample(time),
            model="auto" if request.black is None else "sensor",
            offset=request.black,
            channel_axis=layout.channel_axis,
            spatial=layout.spatial,
            callback=None if tell is None else lambda done, total: tell(done / total, "estimating the noise"),
        )
        if _is_rounding(noise, pixels.dtype):
            noise = Noise(
                doubts=(ROUNDING, *noise.doubts), doubt_kinds=("quantised", *noise.doubt_kinds), estimated=True
            )
    if method is not None:
        return Plan(method=request.spaced(method), noise=noise, layout=layout, spent=clock.perf_counter() - began)
    task = _task(request, noise, time, seed, threads, began)
    found = _choose(layout, task, within(callback, ESTIMATING / PLANNING, 1.0))
    where = (f"chosen on the plane with the most structure, of {task.n_planes}",) if task and task.n_planes > 1 else ()
    return Plan(
        method=request.spaced(found.method),
        noise=noise,
        layout=layout,
        trials=found.trials,
        reasons=(*found.reasons, *where),
        seconds=found.seconds,
        time=time,
        spent=clock.perf_counter() - began,
    )


def _choose(layout: Layout, task: Task | None, callback: Callback | None) -> Decision:
    """The method: by trials where the noise is white, by time where it is not."""
    has_room = layout.spatial > 1 and min(layout.picture_shape[: layout.spatial][-2:]) >= TINY
    if task is None:
        return Decision(NonLocal() if has_room else Patchwise(), (), ("no noise was found",))
    if layout.spatial == 1:
        return Decision(Patchwise(), (), ("signals are denoised by the paper's method",))
    if layout.spatial == 3 and layout.picture_shape[0] > 1 and task.blocks is None and has_room:
        return by_time(task, ("volumes are denoised across planes, and presets are compared on images only",))
    if task.blocks is not None and has_room:
        return by_time(task, ("the noise is correlated, and presets are compared on white noise only",))
    return search(
        task.image,
        task.sigma,
        n_planes=task.n_planes,
        larger=task.larger,
        seconds=task.limit,
        began=task.began,
        seed=task.seed,
        threads=task.threads,
        callback=callback,
    )


def _is_rounding(noise: Noise, dtype: np.dtype[Any]) -> bool:
    """Whether estimated noise of whole numbers is fainter than their steps, and doubtful: texture, or rounding."""
    return dtype.kind in "iu" and 0 < noise.level < 1 and not noise.gain.any() and bool(DOUBTFUL & {*noise.doubt_kinds})


def _task(
    request: Request, noise: Noise, time: float | None, seed: int, threads: int | None, began: float
) -> Task | None:
    """The plane with the most structure, with even noise, and how many there are like it; None if none holds noise."""
    sample = request.sample(time)
    layout, canonical = request.layout, request.layout.canonical(sample)
    best, most, n_planes = None, -math.inf, 0
    for place in layout.places():
        mine = noise.at(place, layout)
        if mine.level == 0:
            continue
        even = mine.stabilise(canonical[place], spatial=layout.spatial)
        lead = even.image.shape[: max(0, layout.spatial - 2)]
        for at in np.ndindex(*lead):
            n_planes += 1
            structure = variance(even.image[at]) / even.sigma**2 if lead or place else 0.0
            if structure > most:
                best, most = (even.image[at], even), structure
    if best is None:
        return None
    plane, even = best
    return Task(
        as_floats("image", plane),
        even.sigma,
        time,
        seed,
        threads,
        began,
        n_planes,
        larger=request.given.size / sample.size,
        blocks=even.blocks,
        channels=layout.channel_axis is not None,
        volume=even.image if layout.spatial == 3 and layout.picture_shape[0] > 1 else None,
    )
