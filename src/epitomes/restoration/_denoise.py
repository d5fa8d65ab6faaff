"""denoise: the door to all methods.

The paper's (section 5.4, after Elad and Aharon, 2006): learn an epitome on the noisy image, code every patch up to
the noise, average the overlaps. A patch of m pixels may keep an error of `m (C sigma)^2`, with C = 1.15; the paper
prints this bound without m and with C outside the square. Means of patches are set aside and put back. The non-local
one goes on from there: `groupwise.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array, as_floats, one_of, positive
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Step, online, run
from epitomes.learn.start import natural
from epitomes.patches import Patches
from epitomes.phi import windows
from epitomes.restoration import groupwise
from epitomes.restoration.coded import coded, patches_of
from epitomes.restoration.presets import PRESETS, passes_of
from epitomes.restoration.recipe import Recipe, several
from epitomes.restoration.result import Restored
from epitomes.restoration.second_look import CLOSE, both, given_back, is_strong, looked, material

METHODS = ("nonlocal", "paper")
FAINTEST = 1e5  # times sigma: groups are in float32, and noise fainter than that in an image is not there to be seen
MOST_CONTRAST = 300  # times sigma: beyond, float32 cannot tell the noise from the rounding of a pursuit's sums


def denoise(
    noisy: ArrayLike,
    sigma: float,
    *,
    method: str = "nonlocal",
    preset: str = "balanced",
    epitome: Epitome | None = None,
    recipe: Recipe | None = None,
    gain: float = 1.15,
    blend: float = 0.0,
    second_look: bool | None = None,
    seed: int = 0,
    threads: int | None = None,
    callback: Callable[[Step], None] | None = None,
    on_pass: Callable[[int, int], None] | None = None,
) -> Restored:
    """Take white Gaussian noise of standard deviation `sigma`, in the image's own units, off an image.

    `method="nonlocal"` codes groups of similar patches over an epitome (default: a shipped one) and takes grey images
    `(height, width)` or colour ones `(height, width, 3)`. `preset` says how long: "balanced" or "best"; "fast" is the
    paper's method with the shipped epitome. `on_pass(done, total)` is called after each pass. Noise below a
    hundred-thousandth of the image's range is left as it is.

    `method="paper"` is that of section 5.4, for images of any number of axes: every patch by itself. `epitome` is used
    as it is; without one, an epitome is learned from the noisy image by `recipe` (default: twenty small ones that start
    from natural images). `gain` is the paper's C. `blend` is the weight of a noisy pixel beside its estimates, of which
    there are as many as the patch has pixels. `callback` sees every step of the learning.

    `second_look` is a step that the paper does not have: patches of three scales, each coded once more with what is
    known from the first time. None takes it where the noise is stronger than in the paper's Table 1, relative to the
    contrast of the image, unless an epitome or a recipe is given. In the non-local method it is part of the pilot.
    """
    began = time.perf_counter()
    given = np.asarray(noisy)
    pixels = as_floats("noisy", noisy)
    level, bound, share = positive("sigma", sigma), positive("gain", gain), positive("blend", blend, zero=True)
    if epitome is not None and not isinstance(epitome, Epitome):
        raise TypeError(f"epitome must be an Epitome, got {type(epitome).__name__}: Epitome(pixels, phi) makes one")
    if not (second_look is None or isinstance(second_look, (bool, np.bool_))):
        raise TypeError(f"second_look must be True, False or None (by the noise), got {second_look!r}")
    one_of("method", method, METHODS)
    one_of("preset", preset, PRESETS)
    if method == "nonlocal":
        _require_no_learning(recipe, callback, share)
        return _nonlocal(given, pixels, level, preset, epitome, bound, second_look, threads, on_pass, began)
    if epitome is not None and recipe is not None:
        raise ValueError("epitome and recipe exclude each other: an epitome that is given needs no recipe to learn one")
    by_default = epitome is None and recipe is None and is_strong(pixels, level)
    twice = by_default if second_look is None else second_look
    most = MOST_CONTRAST * (CLOSE / bound if twice else 1.0)
    if pixels.dtype == np.float32 and np.ptp(pixels) > most * level:
        pixels = pixels.astype(np.float64)
    fit, first, source = None, None, pixels
    if epitome is None:
        plan = several(pixels, level) if recipe is None else recipe
        if twice:
            first = looked(pixels, level, plan.start, bound, threads)
            source, part = material(pixels, first, level)
            plan = replace(plan, lam=part * plan.lam)
        fit = _learned(patches_of(source, plan.start), plan, seed, threads, callback)
        epitome = fit.epitome
    if twice:
        clean = looked(pixels, level, epitome, bound, threads)
        clean = clean if first is None else both(pixels, first, clean, level)
        clean, nonzeros = given_back(pixels, clean, level, epitome, bound, share, threads)
    else:
        clean, nonzeros = coded(pixels, level, epitome, bound, share, threads)
    return Restored(_like(given, clean), epitome, fit, nonzeros, time.perf_counter() - began)


def _require_no_learning(recipe: Recipe | None, callback: Callable[[Step], None] | None, blend: float) -> None:
    unused = {"recipe": recipe is not None, "callback": callback is not None, "blend": blend > 0}
    for name, is_given in unused.items():
        if is_given:
            raise ValueError(f"{name} belongs to the paper's method: give method='paper' with it, or leave it out")


def _nonlocal(
    given: NDArray[Any],
    pixels: Array,
    sigma: float,
    preset: str,
    epitome: Epitome | None,
    gain: float,
    second_look: bool | None,
    threads: int | None,
    on_pass: Callable[[int, int], None] | None,
    began: float,
) -> Restored:
    if pixels.ndim not in (2, 3):
        raise ValueError(
            f"method='nonlocal' needs an image (height, width) or (height, width, channels), got shape {pixels.shape}: "
            "give one plane at a time, or use method='paper'"
        )
    chosen = shipped() if epitome is None else epitome
    if len(chosen.phi.patch_shape) != 2:
        raise ValueError(
            f"method='nonlocal' needs an epitome of grey patches, got patches of shape {chosen.phi.patch_shape}: "
            "leave epitome out to use a shipped one"
        )
    if np.ptp(pixels) > FAINTEST * sigma:
        return Restored(_like(given, pixels.copy()), chosen, None, 0.0, time.perf_counter() - began)
    twice = is_strong(pixels, sigma) if second_look is None else second_look
    most = MOST_CONTRAST * (CLOSE / gain if twice else 1.0)
    counts: list[float] = []

    def pilot(channel: Array) -> Array:
        fine = channel.astype(np.float64) if np.ptp(channel) > most else channel
        if twice:
            clean, nonzeros = given_back(
                fine, looked(fine, 1.0, chosen, gain, threads), 1.0, chosen, gain, 0.0, threads
            )
        else:
            clean, nonzeros = coded(fine, 1.0, chosen, gain, 0.0, threads)
        counts.append(nonzeros)
        return clean

    clean, last = groupwise.restore(
        pixels,
        sigma,
        pilot=pilot,
        epitome=chosen,
        passes=passes_of(preset),
        threads=threads,
        on_pass=on_pass,
    )
    return Restored(_like(given, clean), last, None, sum(counts) / len(counts), time.perf_counter() - began)


def shipped() -> Epitome:
    """The epitome that serves where none is given: twenty of 15 x 15, learned from natural pictures."""
    return natural(windows((20, 15, 15), (8, 8)))


def _learned(
    patches: Patches, recipe: Recipe, seed: int, threads: int | None, callback: Callable[[Step], None] | None
) -> Fit:
    steps = online(
        patches,
        recipe.start,
        coder=Lasso(lam=recipe.lam),
        batch=recipe.batch,
        forget=recipe.forget,
        rng=seed,
        threads=threads,
    )
    return run(steps, max_steps=recipe.n_steps, callback=callback)


def _like(given: NDArray[Any], clean: Array) -> NDArray[Any]:
    """The result in the dtype that came in; whole numbers are rounded and kept in range."""
    if given.dtype.kind in "iu":
        limits = np.iinfo(given.dtype)
        return np.clip(np.rint(clean), limits.min, limits.max).astype(given.dtype)
    return clean.astype(given.dtype, copy=False)
