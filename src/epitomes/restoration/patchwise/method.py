"""Patchwise: the paper's denoising (section 5.4, after Elad and Aharon, 2006)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from epitomes.checks import Array, as_floats, positive
from epitomes.epitome import RESIDUAL_FACTOR, Epitome
from epitomes.learn import Fit, Step, smooth_noise
from epitomes.noise import BlockSpectrum
from epitomes.phi import windows
from epitomes.restoration.method import Callback, Estimate, within
from epitomes.restoration.patchwise.coding import coded, patches_of
from epitomes.restoration.patchwise.recipe import PATCH, Recipe, stacked_patches
from epitomes.restoration.patchwise.strong_noise import (
    CLOSE,
    MULTISCALE,
    blended,
    is_strong,
    learning_image,
    multiscale_estimate,
    residual_feedback,
)
from epitomes.restoration.whole_image import Support, WholeImage

CORRELATED = 2.0  # levels of white noise that correlated noise of level 1 is taken for
MOST_CONTRAST = 300  # range over sigma; beyond it float32 cannot tell the noise from the rounding of a pursuit's sums
BEFORE, LEARNING = 0.1, 0.7  # of the progress: when an estimate to learn from, and learning, are done
StepCallback = Callable[[Step], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Patchwise:
    """The paper's method: code every patch by itself over an epitome learned from the noisy image.

    Parameters
    ----------
    epitome : Epitome, optional
        Epitome to use as it is. Default: one is learned from the noisy image.
    recipe : Recipe, optional
        How to learn it. Excludes `epitome`.
    residual_factor : float, default: 1.15
        The paper's C, see Notes.
    blend : float, default: 0.0
        Weight of the noisy pixel beside its estimates, of which there are as many as a patch has pixels.
    multiscale : bool, optional
        Whether to use patches of three scales, each coded twice: a step for strong noise that the paper does not have.
        Default: where the noise is stronger than in the paper's Table 1, relative to the contrast of the image, unless
        an epitome or a recipe is given.
    whole : WholeImage, optional
        What parts of an image must know of the whole; `for_parts` makes it. None: images are denoised as a whole.

    See Also
    --------
    NonLocal : Groups of similar patches; better, and for images only.

    Notes
    -----
    A patch x of m pixels, its mean set aside, is coded by the fewest atoms such that
    ``|x - a D|**2 <= m * (residual_factor * sigma)**2``. Every pixel becomes the mean of its estimates [1]_. The paper
    prints this bound without m and with C outside the square.

    An epitome whose patches have an axis for channels codes them jointly. With any other, each channel is denoised by
    itself, and each plane of a volume.

    References
    ----------
    .. [1] M. Elad, M. Aharon, "Image denoising via sparse and redundant representations over learned dictionaries",
       IEEE Transactions on Image Processing 15(12), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import denoise
    >>> from epitomes.restoration import Patchwise, Recipe
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> estimate = denoise(noisy, 5.0, method=Patchwise(recipe=Recipe(n_steps=2)))
    >>> bool(np.std(estimate - clean) < 4)
    True
    """

    epitome: Epitome | None = None
    recipe: Recipe | None = None
    residual_factor: float = RESIDUAL_FACTOR
    blend: float = 0.0
    multiscale: bool | None = None
    whole: WholeImage | None = None

    def __post_init__(self) -> None:
        require_epitome(self.epitome)
        if self.recipe is not None and not isinstance(self.recipe, Recipe):
            raise TypeError(f"recipe must be a Recipe, got {type(self.recipe).__name__}")
        if self.epitome is not None and self.recipe is not None:
            raise ValueError("epitome and recipe exclude each other: a given epitome needs no recipe to learn one")
        positive("residual_factor", self.residual_factor)
        positive("blend", self.blend, zero=True)
        require_flag("multiscale", self.multiscale)

    @property
    def label(self) -> str:
        """Name of the method."""
        if self.recipe is not None and self.recipe.lam is None and self.recipe != Recipe():
            return f"paper, lambda {self.recipe.lam_per_sigma:g} sigma"
        return "paper"

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        """Return how many spatial axes are worked on at once; refuse what does not fit.

        Parameters
        ----------
        shape : tuple of int
            Shape of a picture, channels last if there are any.
        channels : bool
            Whether the last axis holds channels.

        Returns
        -------
        int
            Number of spatial axes.

        Raises
        ------
        ValueError
            If the patches of the epitome do not fit in the picture.
        """
        spatial = shape[: len(shape) - channels]
        patch = self._patch_shape(spatial)
        if len(patch) == len(shape) and channels:
            fits, at_once = all(p <= n for p, n in zip(patch, shape, strict=True)), len(spatial)
        else:
            at_once = len(patch)
            fits = at_once <= len(spatial) and all(p <= n for p, n in zip(patch, spatial[-at_once:], strict=True))
        if not fits:
            raise ValueError(
                f"patches of shape {patch} do not fit in a picture of shape {shape}"
                f"{', channels last' if channels else ''}: use an epitome with smaller patches or of as many axes"
            )
        return at_once

    def run(
        self,
        image: Array,
        sigma: float,
        *,
        blocks: BlockSpectrum | None = None,
        channels: bool = False,
        seed: int = 0,
        threads: int | None = None,
        callback: Callback | None = None,
    ) -> Estimate:
        """Denoise one picture.

        Parameters
        ----------
        image : ndarray
            Image of any real dtype, channels last if there are any.
        sigma : float
            Standard deviation of its noise.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated: each channel is then denoised as if it held white noise of twice its
            level, because correlated noise is stronger than its level at the frequencies where it is strong.
        channels : bool, default: False
            Whether the last axis holds channels.
        seed : int, default: 0
            Decides the order of the patches while learning.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Estimate
            Image, epitome, how it was learned, and the mean number of atoms per patch.
        """
        image = as_floats("image", image)
        if not channels or len(self._patch_shape(image.shape[:-1])) == image.ndim:
            return self._one(image, _levels(sigma, blocks, 1)[0], 0, seed, threads, callback)
        n = image.shape[-1]
        levels = _levels(sigma, blocks, n)
        parts = [
            self._one(picture, level, c, seed, threads, within(callback, c / n, (c + 1) / n))
            for c, (picture, level) in enumerate(zip(np.moveaxis(image, -1, 0), levels, strict=True))
        ]
        atoms = sum(part.atoms_per_patch for part in parts) / n
        return Estimate(np.stack([part.image for part in parts], axis=-1), parts[0].epitome, parts[0].fit, atoms)

    def can_share(self, stack: Array, sigma: float) -> bool:
        """Return whether one epitome, learned from several pictures, can stand for one learned from each.

        It cannot where channels or planes are denoised one by one, nor where patches of three scales are used, whose
        epitome depends on a first estimate of each picture.

        Parameters
        ----------
        stack : ndarray
            Pictures along the first axis, channels last if there are any.
        sigma : float
            Standard deviation of their noise.

        Returns
        -------
        bool
            Whether `learn` can be used.
        """
        n_axes = len(self._patch_shape(stack.shape[1:]))
        return self.epitome is None and n_axes == stack.ndim - 1 and not self._uses_scales(stack, sigma)

    def learn(
        self, stack: Array, sigma: float, *, seed: int = 0, threads: int | None = None, callback: Callback | None = None
    ) -> Fit:
        """Learn an epitome from several noisy images of one shape.

        Parameters
        ----------
        stack : ndarray
            Images along the first axis, of the axes of the patches.
        sigma : float
            Standard deviation of their noise.
        seed : int, default: 0
            Decides the order of the patches.
        threads : int, optional
            Number of threads.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Fit
            The epitome and how it was learned.
        """
        pixels = precise(stack, sigma, MOST_CONTRAST)
        schedule = self._recipe(stack.shape[1:]).settle(pixels, sigma)
        watch = _watch(schedule.n_steps, callback)
        return schedule.learn(stacked_patches(pixels, schedule.start), seed=seed, threads=threads, callback=watch)

    def for_parts(
        self, sample: Array, sigma: float, *, channels: bool, blocks: BlockSpectrum | None = None
    ) -> Patchwise:
        """Return the method for parts of an image, which get the bits that they have in the whole.

        Parameters
        ----------
        sample : ndarray
            The image, or a sample of it, channels last if there are any.
        sigma : float
            Standard deviation of its noise.
        channels : bool
            Whether the last axis holds channels.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated. None: it is white.

        Returns
        -------
        Patchwise
            The same method with what depends on the whole settled.

        Raises
        ------
        ValueError
            If a pixel depends on all others: where an epitome is learned, and with `multiscale`.
        """
        if self.epitome is None:
            raise ValueError(
                "the paper's method learns an epitome from the whole image, which does not work part by part: learn "
                "one first, and give it as epitome"
            )
        if self.multiscale:
            raise ValueError("patches of three scales reach across the whole image: leave out multiscale")
        image = as_floats("sample", sample)
        joint = not channels or len(self.epitome.phi.patch_shape) == image.ndim
        pictures = [image] if joint else [np.ascontiguousarray(image[..., c]) for c in range(image.shape[-1])]
        noise = _levels(sigma, blocks, len(pictures))
        fine = [precise(picture, level, MOST_CONTRAST) for picture, level in zip(pictures, noise, strict=True)]
        levels = tuple(float(each.mean(dtype=np.float64)) for each in fine)
        double = tuple(each.dtype == np.float64 for each in fine)
        return replace(self, whole=WholeImage(levels=levels, double=double))

    def support(self) -> Support:
        """Return which pixels around a part reach into it, once the method is settled.

        Returns
        -------
        Support
            Pixels along each axis, and the grid on which parts with these pixels must begin.
        """
        assert self.epitome is not None  # `for_parts` has seen to that
        patch = self.epitome.phi.patch_shape
        return Support(tuple(patch), (1,) * len(patch))

    def _one(
        self, image: Array, sigma: float, number: int, seed: int, threads: int | None, callback: Callback | None
    ) -> Estimate:
        """Denoise the picture of this number, of those that are coded by themselves."""
        image = np.ascontiguousarray(image)
        factor, epitome, twice = self.residual_factor, self.epitome, self._uses_scales(image, sigma)
        pixels, level = precise(image, sigma, MOST_CONTRAST * (CLOSE / factor if twice else 1.0)), None
        if self.whole is not None:
            pixels, level = self.whole.precise(image, number), self.whole.levels[number]
        fit, first, source = None, None, pixels
        if epitome is None:
            schedule = self._recipe(pixels.shape).settle(pixels, sigma)
            if twice:
                part = within(callback, 0.0, BEFORE)
                first = multiscale_estimate(pixels, sigma, schedule.start, factor, threads, part)
                source, share = learning_image(pixels, first, sigma)
                schedule = replace(schedule, lam=share * schedule.lam)
            watch = _watch(schedule.n_steps, within(callback, BEFORE if twice else 0.0, LEARNING))
            fit = schedule.learn(patches_of(source, schedule.start), seed=seed, threads=threads, callback=watch)
            epitome = fit.epitome
        rest = within(callback, 0.0 if fit is None else LEARNING, 1.0)
        if twice:
            part, rest = within(rest, 0.0, MULTISCALE), within(rest, MULTISCALE, 1.0)
            clean = multiscale_estimate(pixels, sigma, epitome, factor, threads, part)
            clean = clean if first is None else blended(pixels, first, clean, sigma)
            clean, nonzeros = residual_feedback(pixels, clean, sigma, epitome, factor, self.blend, threads, rest)
        else:
            clean, nonzeros = coded(pixels, sigma, epitome, factor, self.blend, threads, rest, level=level)
        return Estimate(clean, epitome, fit, nonzeros)

    def _uses_scales(self, image: Array, sigma: float) -> bool:
        """Whether patches of three scales are used."""
        if self.multiscale is not None:
            return self.multiscale
        return self.epitome is None and self.recipe is None and is_strong(image, sigma)

    def _recipe(self, shape: tuple[int, ...]) -> Recipe:
        """The recipe given, or one for pictures of this shape: small images and signals have no shipped epitome."""
        if self.recipe is not None:
            return self.recipe
        if len(shape) == 2 and min(shape) >= PATCH:
            return Recipe()
        patch = tuple(min(PATCH, n) for n in shape)
        return Recipe(start=smooth_noise(windows((20, *(2 * side - 1 for side in patch)), patch)))

    def _patch_shape(self, spatial: tuple[int, ...]) -> tuple[int, ...]:
        if self.epitome is not None:
            return self.epitome.phi.patch_shape
        if self.recipe is not None:
            return self.recipe.initial.phi.patch_shape
        return tuple(min(PATCH, n) for n in spatial[-2:])


def precise(image: Array, sigma: float, most: float) -> Array:
    """The image, in float64 where its range is more than `most` sigma."""
    if image.dtype == np.float32 and np.ptp(image) > most * sigma:
        return image.astype(np.float64)
    return image


def require_epitome(epitome: Epitome | None) -> None:
    """Refuse anything but an Epitome."""
    if epitome is not None and not isinstance(epitome, Epitome):
        raise TypeError(f"epitome must be an Epitome, got {type(epitome).__name__}: Epitome(pixels, phi) makes one")


def require_flag(name: str, value: bool | None) -> None:
    """Refuse anything but True, False and None."""
    if not (value is None or isinstance(value, (bool, np.bool_))):
        raise TypeError(f"{name} must be True, False or None (decided by the noise), got {value!r}")


def _watch(n_steps: int, callback: Callback | None) -> StepCallback | None:
    if callback is None:
        return None
    return lambda step: callback(step.progress.index / n_steps, f"learning, step {step.progress.index} of {n_steps}")


def _levels(sigma: float, blocks: BlockSpectrum | None, n: int) -> list[float]:
    """The noise level of each of `n` pictures that are coded by themselves; correlated noise counts as stronger."""
    if blocks is None:
        return [sigma] * n
    return [CORRELATED * sigma] if n == 1 else [CORRELATED * float(each) for each in blocks.sigma]
