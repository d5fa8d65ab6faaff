"""EpitomeDenoiser: `restore` behind scikit-learn's interface."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from epitomes.checks import Shape, as_floats, as_shape
from epitomes.epitome import Epitome
from epitomes.estimators.shapes import FLOATS, seed_of, shape_of, threads_of
from epitomes.layout import Layout
from epitomes.noise import Noise, estimate_noise
from epitomes.restoration import Method, Patchwise, Restored, plan
from epitomes.validation import sure


class EpitomeDenoiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Denoise images as a scikit-learn transformer.

    `fit` estimates the noise and decides how to denoise; `transform` denoises, each image by itself. For a single image
    ``EpitomeDenoiser().fit_transform(image)`` is ``epitomes.denoise(image)``, and so with the parameters of the same
    name.

    X is one image ``(height, width)`` or several ``(n_images, height, width)``; with `channel_axis` each has one axis
    more. With `image_shape`, X has the shape ``(n_samples, n_features)``, and every row is a flattened image.

    Parameters
    ----------
    sigma : float, default=None
        Standard deviation of white Gaussian noise, in the units of the images. If None, `fit` estimates it: the median
        over the images of X.
    noise : Noise, default=None
        Noise model of one image. It excludes `sigma`.
    image_shape : tuple of int or "auto", default=None
        Shape of the image in a row of X. "auto" stands for a square image if the number of features is a square, and
        for a signal otherwise. If None, X holds images instead of rows.
    channel_axis : int, default=None
        Axis of one image that holds its channels. If None, images are grey.
    method : {"nonlocal", "paper"}, NonLocal or Patchwise, default=None
        Denoising method. If None, it is chosen by trials on tiles of the image of X with the largest variance.
    preset : {"auto", "fast", "balanced", "best"}, default="auto"
        Speed and quality of the non-local method.
    epitome : Epitome, default=None
        Epitome to use as it is. If None, a shipped one is used, or the paper's method learns one.
    time : float, default=None
        Time budget in seconds for one image. Only with ``preset="auto"``.
    random_state : int, RandomState instance or None, default=0
        Seed for trials and learning. An int is the `rng` of `epitomes.denoise`.
    n_jobs : int, default=None
        Number of threads: None for 1, -1 for all processors. It changes no result.

    Attributes
    ----------
    plan_ : Plan
        The method and why it was chosen. ``print(plan_)`` explains it.
    noise_ : Noise
        Noise model, given or estimated.
    sigma_ : float
        Noise level: the standard deviation of the noise as one number.
    epitome_ : Epitome
        The epitome that the paper's method learned from all images of X. It is missing with other methods, and where
        one epitome cannot stand for all: `transform` then learns one from each channel, plane or very noisy image.
    fit_ : Fit
        How `epitome_` was learned.
    n_features_in_ : int
        Number of pixels of an image, if X has rows.

    See Also
    --------
    epitomes.denoise : The same as a function.
    EpitomeLearning : Learn an epitome from rows of patches.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.estimators import EpitomeDenoiser
    >>> clean = np.add.outer(np.arange(48.0), np.arange(64.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 10, clean.shape)
    >>> denoiser = EpitomeDenoiser(sigma=10).fit(noisy)
    >>> denoiser.plan_.method.label
    'balanced'
    >>> bool(denoiser.score(noisy, clean) > -0.1 * 10**2)  # minus the mean squared error
    True
    """

    def __init__(
        self,
        *,
        sigma: float | None = None,
        noise: Noise | None = None,
        image_shape: Shape | Literal["auto"] | None = None,
        channel_axis: int | None = None,
        method: str | Method | None = None,
        preset: str = "auto",
        epitome: Epitome | None = None,
        time: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.noise = noise
        self.image_shape = image_shape
        self.channel_axis = channel_axis
        self.method = method
        self.preset = preset
        self.epitome = epitome
        self.time = time
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> EpitomeDenoiser:
        """Estimate the noise of the images of X and decide how to denoise them.

        Parameters
        ----------
        X : array_like
            Images or rows.
        y : object, default=None
            Not used.

        Returns
        -------
        EpitomeDenoiser
            The estimator itself.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.

        Warns
        -----
        UserWarning
            If the estimate of the noise has low confidence.
        """
        images = self._images(self._array(X, reset=True))
        noise = self._estimated(images) if self.sigma is None and self.noise is None else self.noise
        self._seed = seed_of(self.random_state)
        self.plan_ = plan(
            max(images, key=np.var),
            self.sigma,
            noise=noise,
            channel_axis=self.channel_axis,
            method=self.method,
            preset=self.preset,
            epitome=self.epitome,
            time=self.time,
            rng=self._seed,
            threads=threads_of(self.n_jobs),
        )
        self.noise_ = self.plan_.noise
        self.sigma_ = self.noise_.level
        self._learn(images)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Denoise the images of X.

        Parameters
        ----------
        X : array_like
            Images or rows. Images may differ in size from those that `fit` saw.

        Returns
        -------
        ndarray
            The denoised images, with the shape and dtype of X.

        Warns
        -----
        UserWarning
            If images are returned unchanged, because there is no noise to remove.
        """
        check_is_fitted(self)
        given = self._array(X, reset=False)
        done = [self._restored(image) for image in self._images(given)]
        for note in dict.fromkeys(note for one in done if one.unchanged for note in one.notes):
            warnings.warn(f"{note}: pass sigma if there is noise to remove", stacklevel=2)
        return np.stack([one.image for one in done]).reshape(given.shape)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return minus the mean squared error over the images of X.

        Without clean images the error is estimated from the noisy ones alone, which takes two more runs for each. For
        images that `fit` has seen, a learned epitome makes the estimate somewhat optimistic.

        Parameters
        ----------
        X : array_like
            Noisy images or rows.
        y : array_like, default=None
            The clean images, of the shape of X. None, or labels along one axis, which are ignored.

        Returns
        -------
        float
            Score in squared units of the images; higher is better.

        Raises
        ------
        ValueError
            If `y` has another shape than X, or the error cannot be estimated because the noise is not white and
            Gaussian.

        See Also
        --------
        epitomes.validation.sure : The estimate of the error.
        """
        check_is_fitted(self)
        given = self._array(X, reset=False)
        if y is not None and np.ndim(y) > 1:
            clean = as_floats("y", y, dtype=np.float64)
            if clean.shape != given.shape:
                raise ValueError(f"y needs the clean images of X, of shape {given.shape}, got {clean.shape}")
            return -float(np.mean((np.asarray(self.transform(X), np.float64) - clean) ** 2))
        if self.noise_.gain.any() or not self.noise_.is_white:
            raise ValueError(
                f"the error can be estimated for white Gaussian noise only, got {self.noise_.describe()}: pass the "
                "clean images as y"
            )
        images = as_floats("X", self._images(given))  # whole numbers would round away what the estimate measures
        levels = [self.noise_.std(image, Layout.of(image.shape, self.channel_axis)) for image in images]
        errors = [
            sure(lambda noisy: self._restored(noisy).image, image, level, rng=self._seed).mse
            for image, level in zip(images, levels, strict=True)
        ]
        return -float(np.mean(errors))

    def _array(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        """X as it is, checked; rows by scikit-learn's own rules."""
        if self.image_shape is not None:
            rows: NDArray[Any] = validate_data(self, X, dtype=FLOATS, reset=reset)
            return rows
        as_floats("X", X)
        images = np.asarray(X)
        axes = 2 if self.channel_axis is None else 3
        if images.ndim not in (axes, axes + 1):
            raise ValueError(
                f"X needs {axes} axes for one image or {axes + 1} for several, got shape {images.shape}: pass "
                "image_shape if its rows are flattened images, channel_axis if images have channels"
            )
        return images

    def _images(self, X: NDArray[Any]) -> NDArray[Any]:
        """Images along the first axis."""
        if self.image_shape is None:
            return X[None] if X.ndim == (2 if self.channel_axis is None else 3) else X
        named = self.image_shape
        shape = shape_of(X.shape[1]) if isinstance(named, str) else as_shape("image_shape", named)
        if math.prod(shape) != X.shape[1]:
            raise ValueError(f"image_shape {shape} has {math.prod(shape)} pixels, the rows of X have {X.shape[1]}")
        return X.reshape(len(X), *shape)

    def _estimated(self, images: NDArray[Any]) -> Noise:
        """The noise of all images: the median of their levels, or where it is not white, that of the typical image."""
        found = [estimate_noise(image, channel_axis=self.channel_axis) for image in images]
        noise = found[0]
        if len(found) > 1:
            doubts = tuple(dict.fromkeys(doubt for one in found for doubt in one.doubts))
            if all(one.is_constant or one.level == 0 for one in found):
                noise = Noise(sigma=np.median([one.level for one in found]), doubts=doubts, estimated=True)
            else:
                typical = sorted(found, key=lambda one: one.level)[len(found) // 2]
                noise = replace(typical, doubts=doubts, doubt_kinds=())
        if noise.doubts:
            warnings.warn(
                f"the noise was estimated with low confidence ({noise.describe()}): {noise.doubts[0]} "
                "Pass sigma if you know it.",
                stacklevel=3,
            )
        return noise

    def _learn(self, images: NDArray[Any]) -> None:
        """Learn one epitome from all images, where the method is the paper's and one can stand for all."""
        for name in ("epitome_", "fit_"):
            self.__dict__.pop(name, None)  # of an earlier call
        method, noise, layout = self.plan_.method, self.noise_, self.plan_.layout
        if not isinstance(method, Patchwise) or noise.level == 0:
            return
        even = [noise.at((), layout).stabilise(layout.canonical(image)) for image in images]
        stack, sigma = as_floats("X", np.stack([one.image for one in even])), even[0].sigma
        if method.can_share(stack, sigma):
            self.fit_ = method.learn(stack, sigma, seed=self._seed, threads=threads_of(self.n_jobs))
            self.epitome_ = self.fit_.epitome
            self.plan_ = replace(self.plan_, method=replace(method, epitome=self.epitome_, recipe=None))

    def _restored(self, image: NDArray[Any]) -> Restored:
        return self.plan_.run(image, rng=self._seed, threads=threads_of(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.three_d_array = self.image_shape is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
