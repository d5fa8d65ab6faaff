"""denoise: the door to all methods.

The paper's (section 5.4, after Elad and Aharon, 2006): learn an epitome on the noisy image, code every patch up to
the noise, average the overlaps. A patch of m pixels may keep an error of `m (C sigma)^2`, with C = 1.15; the paper
prints this bound without m and with C outside the square. Means of patches are set aside and put back. The non-local
one goes on from there: `groupwise.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.checks import Array, as_floats, one_of, positive
from epitomes.coders import OLS, Lasso
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Step, online, run
from epitomes.learn.start import natural
from epitomes.patches import Patches
from epitomes.phi import windows
from epitomes.restore import groupwise
from epitomes.restore.presets import PRESETS, passes_of
from epitomes.restore.recipe import Recipe, several
from epitomes.restore.result import Restored

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
    seed: int = 0,
    threads: int | None = None,
    watch: Callable[[Step], None] | None = None,
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
    there are as many as the patch has pixels. `watch` sees every step of the learning.
    """
    began = time.perf_counter()
    given = np.asarray(noisy)
    pixels = as_floats("noisy", noisy)
    level, bound, share = positive("sigma", sigma), positive("gain", gain), positive("blend", blend, zero=True)
    if epitome is not None and not isinstance(epitome, Epitome):
        raise TypeError(f"epitome must be an Epitome, got {type(epitome).__name__}: Epitome(pixels, phi) makes one")
    one_of("method", method, METHODS)
    one_of("preset", preset, PRESETS)
    if method == "nonlocal":
        _require_no_learning(recipe, watch, share)
        return _nonlocal(given, pixels, level, preset, epitome, bound, threads, on_pass, began)
    if pixels.dtype == np.float32 and np.ptp(pixels) > MOST_CONTRAST * level:
        pixels = pixels.astype(np.float64)
    if epitome is not None and recipe is not None:
        raise ValueError("epitome and recipe exclude each other: an epitome that is given needs no recipe to learn one")
    fit = None
    if epitome is None:
        plan = several(pixels, level) if recipe is None else recipe
        fit = _learned(_patches(pixels, plan.start), plan, seed, threads, watch)
        epitome = fit.epitome
    clean, nonzeros = _coded(pixels, level, epitome, bound, share, threads)
    return Restored(_like(given, clean), epitome, fit, nonzeros, time.perf_counter() - began)


def _require_no_learning(recipe: Recipe | None, watch: Callable[[Step], None] | None, blend: float) -> None:
    unused = {"recipe": recipe is not None, "watch": watch is not None, "blend": blend > 0}
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
    threads: int | None,
    on_pass: Callable[[int, int], None] | None,
    began: float,
) -> Restored:
    if pixels.ndim not in (2, 3):
        raise ValueError(
            f"method='nonlocal' needs an image (height, width) or (height, width, channels), got shape {pixels.shape}: "
            "give one plane at a time, or use method='paper'"
        )
    chosen = _shipped() if epitome is None else epitome
    if len(chosen.phi.patch_shape) != 2:
        raise ValueError(
            f"method='nonlocal' needs an epitome of grey patches, got patches of shape {chosen.phi.patch_shape}: "
            "leave epitome out to use a shipped one"
        )
    if np.ptp(pixels) > FAINTEST * sigma:
        return Restored(_like(given, pixels.copy()), chosen, None, 0.0, time.perf_counter() - began)
    counts: list[float] = []

    def pilot(channel: Array) -> Array:
        fine = channel.astype(np.float64) if np.ptp(channel) > MOST_CONTRAST else channel
        clean, nonzeros = _coded(fine, 1.0, chosen, gain, 0.0, threads)
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


def _shipped() -> Epitome:
    return natural(windows((20, 15, 15), (8, 8)))


def _coded(
    pixels: Array, sigma: float, epitome: Epitome, gain: float, blend: float, threads: int | None
) -> tuple[Array, float]:
    """Every patch coded up to the noise, overlaps averaged; and the atoms per patch."""
    patches = _patches(pixels, epitome)
    coder = OLS(residual=patches.patch_size * (gain * sigma) ** 2)
    return _averaged(patches, epitome, coder, blend, threads)


def _patches(pixels: Array, epitome: Epitome) -> Patches:
    patch = epitome.phi.patch_shape
    if pixels.ndim != len(patch):
        raise ValueError(
            f"noisy needs {len(patch)} axes, as the patches {patch} of the epitome, got shape {pixels.shape}: "
            "give one grey plane at a time, or an epitome of that many axes"
        )
    return Patches(pixels, patch, support=getattr(epitome.phi, "support", None))


def _learned(
    patches: Patches, recipe: Recipe, seed: int, threads: int | None, watch: Callable[[Step], None] | None
) -> Fit:
    steps = online(
        patches,
        recipe.start,
        coder=Lasso(lam=recipe.lam),
        batch=recipe.batch,
        forget=recipe.forget,
        seed=seed,
        threads=threads,
    )
    return run(steps, max_steps=recipe.n_steps, watch=watch)


def _averaged(patches: Patches, epitome: Epitome, coder: OLS, blend: float, threads: int | None) -> tuple[Array, float]:
    """Every pixel the mean of its estimates, band by band: the codes of a band are dropped before the next one."""
    dictionary = epitome.dictionary.astype(patches.image.dtype)
    image, nonzeros, first = Aggregator(patches), 0, 0
    lines = len(patches.positions[0])
    per_line = len(patches) // lines
    for low, high in blocks.split(lines, max(1, 65_536 // per_line)):
        band = patches.lines(np.arange(low, high))
        codes = coder.encode(band, dictionary, threads=threads)
        nonzeros += codes.nnz

        def estimate(piece: tuple[int, int], stop: blocks.Stop, band: Patches = band, codes: Any = codes) -> Array:
            means = band.rows(*piece)[1]
            return np.asarray(codes[slice(*piece)] @ dictionary.atoms + means[:, None], means.dtype)

        for rows in blocks.run(estimate, blocks.split(len(band)), threads=threads):
            image.add(first, rows)
            first += len(rows)
    return image.mean(patches.image, blend), nonzeros / len(patches)


def _like(given: NDArray[Any], clean: Array) -> NDArray[Any]:
    """The result in the dtype that came in; whole numbers are rounded and kept in range."""
    if given.dtype.kind in "iu":
        limits = np.iinfo(given.dtype)
        return np.clip(np.rint(clean), limits.min, limits.max).astype(given.dtype)
    return clean.astype(given.dtype, copy=False)
