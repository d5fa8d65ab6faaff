"""denoise: learn an epitome on the noisy image, code every patch up to the noise, average the overlaps (section 5.4).

After Elad and Aharon (2006). A patch of m pixels may keep an error of `m (C sigma)^2`, with C = 1.15; the paper prints
this bound without m and with C outside the square. Means of patches are set aside and put back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes import blocks
from epitomes.aggregate import Aggregator
from epitomes.checks import Array, as_floats, positive
from epitomes.coders import OLS, Lasso
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Step, online, run
from epitomes.patches import Patches
from epitomes.restore.recipe import Recipe, several
from epitomes.restore.result import Restored


def denoise(
    noisy: ArrayLike,
    sigma: float,
    *,
    epitome: Epitome | None = None,
    recipe: Recipe | None = None,
    gain: float = 1.15,
    blend: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    watch: Callable[[Step], None] | None = None,
) -> Restored:
    """Take white Gaussian noise of standard deviation `sigma`, in the image's own units, off a grey image.

    `epitome` is used as it is; without one, an epitome is learned from the noisy image by `recipe` (default: twenty
    small ones that start from natural images). `gain` is the paper's C. `blend` is the weight of a noisy pixel beside
    its estimates, of which there are as many as the patch has pixels. `watch` sees every step of the learning.
    """
    began = time.perf_counter()
    given = np.asarray(noisy)
    pixels = as_floats("noisy", noisy)
    level, bound, share = positive("sigma", sigma), positive("gain", gain), positive("blend", blend, zero=True)
    if pixels.dtype == np.float32 and np.ptp(pixels) > 300 * level:
        pixels = pixels.astype(np.float64)  # float32 cannot tell so little noise from the rounding of its sums
    if epitome is not None and not isinstance(epitome, Epitome):
        raise TypeError(f"epitome must be an Epitome, got {type(epitome).__name__}: Epitome(pixels, phi) makes one")
    if epitome is not None and recipe is not None:
        raise ValueError("epitome and recipe exclude each other: an epitome that is given needs no recipe to learn one")
    fit = None
    if epitome is None:
        plan = several(pixels, level) if recipe is None else recipe
        fit = _learned(_patches(pixels, plan.start), plan, seed, threads, watch)
        epitome = fit.epitome
    patches = _patches(pixels, epitome)
    coder = OLS(residual=patches.patch_size * (bound * level) ** 2)
    clean, nonzeros = _averaged(patches, epitome, coder, share, threads)
    image = _like(given, clean)
    return Restored(image, epitome, fit, nonzeros, time.perf_counter() - began)


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
