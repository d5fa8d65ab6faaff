"""Recipes: how an epitome is learned from the noisy image itself.

The paper fixes one lambda per noise level for all images; here it is a multiple of sigma. `docs/denoising.md` says how
the other numbers were chosen and what else was tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from epitomes.checks import Array, as_shape, positive, whole
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.learn import Fit, Step, natural, online, run
from epitomes.patches import Patches
from epitomes.phi import support_of, windows
from epitomes.restoration.contrast import contrast

LAM_PER_SIGMA = 4.5
SEVERAL = (20, 15, 15)  # the paper's IE: twenty epitomes, 1280 atoms of 8 x 8
SINGLE = (42, 42)  # the paper's E: one epitome, 1225 atoms of 8 x 8
PATCH = 8  # pixels along each axis of a patch
BATCH = 4096  # patches per step
ENOUGH = 300 * 300  # pixels; more steps than these need did not help on larger images


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A recipe settled for one image: where learning starts, with which lambda, for how many steps."""

    start: Epitome
    lam: float
    n_steps: int
    batch: int
    forget: float

    def learn(
        self, patches: Patches, *, seed: int = 0, threads: int | None = None, callback: Callable[[Step], None] | None
    ) -> Fit:
        """Learn online from the patches."""
        steps = online(
            patches,
            self.start,
            coder=Lasso(lam=self.lam),
            batch=self.batch,
            forget=self.forget,
            rng=seed,
            threads=threads,
        )
        return run(steps, max_steps=self.n_steps, callback=callback)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to learn an epitome from a noisy image.

    Parameters
    ----------
    epitome_shape : tuple of int, default: (20, 15, 15)
        Shape of the epitome that learning starts from, one of the shipped epitomes of natural images:
        ``(20, 15, 15)`` is the paper's IE, ``(42, 42)`` its E.
    start : Epitome, optional
        Epitome that learning starts from, instead of a shipped one.
    lam : float, optional
        Regularisation parameter lambda, in the units of the image. Default: `lam_per_sigma` times sigma.
    lam_per_sigma : float, default: 4.5
        Lambda over the standard deviation of the noise.
    n_passes : float, default: 3.0
        Passes over the patches of the image, at most.
    n_steps : int, optional
        Number of steps. Default: by the size of the image and its noise, see Notes.
    batch : int, default: 4096
        Patches per step.
    forget : float, optional
        How fast old patches are forgotten: at step t, about t / forget steps count.

    See Also
    --------
    epitomes.restoration.Patchwise : The method that uses a recipe.

    Notes
    -----
    With s the noise relative to the contrast of the image, learning takes ``1 / s**3`` passes over all patches, at
    least 1 and at most `n_passes`: an epitome that learns long from strong noise learns the noise. Images above
    300 x 300 pixels take the steps of one of that size; more did not help.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.restoration import Recipe
    >>> noisy = np.random.default_rng(0).normal(100, 20, (64, 64))
    >>> schedule = Recipe(lam_per_sigma=4.0).settle(noisy, sigma=20.0)
    >>> schedule.lam, schedule.n_steps
    (80.0, 1)
    """

    epitome_shape: tuple[int, ...] = SEVERAL
    start: Epitome | None = None
    lam: float | None = None
    lam_per_sigma: float = LAM_PER_SIGMA
    n_passes: float = 3.0
    n_steps: int | None = None
    batch: int = BATCH
    forget: float | None = None

    def __post_init__(self) -> None:
        if self.start is not None and not isinstance(self.start, Epitome):
            raise TypeError(
                f"start must be an Epitome, got {type(self.start).__name__}: Epitome(pixels, phi) makes one"
            )
        as_shape("epitome_shape", self.epitome_shape)
        if self.lam is not None:
            positive("lam", self.lam)
        positive("lam_per_sigma", self.lam_per_sigma)
        positive("n_passes", self.n_passes)
        if self.n_steps is not None:
            whole("n_steps", self.n_steps, least=1)
        whole("batch", self.batch, least=1)
        if self.forget is not None:
            positive("forget", self.forget, zero=True)

    @property
    def initial(self) -> Epitome:
        """Epitome that learning starts from: `start`, or the shipped one of shape `epitome_shape`."""
        return natural(windows(self.epitome_shape, (PATCH, PATCH))) if self.start is None else self.start

    def settle(self, image: Array, sigma: float) -> Schedule:
        """Settle the recipe for one image.

        Parameters
        ----------
        image : ndarray
            The noisy image.
        sigma : float
            Standard deviation of its noise.

        Returns
        -------
        Schedule
            Start, lambda, number of steps, batch size and forgetting.
        """
        level = positive("sigma", sigma)
        usual = usual_steps(image, level, self.n_passes)
        return Schedule(
            start=self.initial,
            lam=self.lam_per_sigma * level if self.lam is None else self.lam,
            n_steps=usual if self.n_steps is None else self.n_steps,
            batch=self.batch,
            # Long runs remember about ten batches, short ones all they can.
            forget=min(16.0, max(4.0, usual / 10)) if self.forget is None else self.forget,
        )


def usual_steps(image: Array, sigma: float, n_passes: float) -> int:
    """The number of steps for an image, as `Recipe` explains it."""
    times = max(1.0, min(n_passes, (contrast(image, sigma) / sigma) ** 3))
    return max(1, round(min(times * image.size, n_passes * ENOUGH) / BATCH))


def stacked_patches(stack: Array, epitome: Epitome) -> Patches:
    """Patches of images `(n, ...)` of one shape, as those of one tall image; none crosses a seam."""
    n, height = stack.shape[:2]
    patch = epitome.phi.patch_shape
    tops = np.arange(n)[:, None] * height + np.arange(height - patch[0] + 1)
    return Patches(
        stack.reshape(n * height, *stack.shape[2:]), patch, support=support_of(epitome.phi), chosen=tops.reshape(-1)
    )
