"""EpitomeDenoiser: noisy images in, images out, by an epitome learned from those given to `fit` (section 5.4)."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from epitomes.checks import Shape, as_floats, as_shape, one_of, positive
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.estimators.shapes import first_epitome, seed_of, shape_of, twenty_epitomes, without_caches
from epitomes.learn import online, run
from epitomes.noise import estimate_noise
from epitomes.patches import Patches
from epitomes.phi import support_of
from epitomes.restoration import denoise, several
from epitomes.validation import sure

SIDE = 8  # of a patch, where images are that large


class EpitomeDenoiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Takes white Gaussian noise off images: `fit` learns an epitome from noisy images, `transform` denoises images.

    X is one image `(height, width)` or several `(n_images, height, width)`; with `channel_axis` each has one axis more.
    With `image_shape`, X is what scikit-learn calls data: `(n_samples, n_features)`, every row a flattened image. Each
    image is denoised by itself, so the others in X make no difference.

    Parameters
    ----------
    sigma : float or "auto", default="auto"
        Standard deviation of the noise, in the units of the images. "auto": estimated by `fit`, the median over its
        images; `transform` uses the same.
    image_shape : tuple of int or "auto", default=None
        The image that a row of X shows. "auto": a square one if the number of features is a square, a signal otherwise.
        None: X holds images, not rows.
    channel_axis : int, default=None
        The axis of one image that holds its colours; None: images are grey. Colours are denoised jointly.
    epitome_shape, patch_shape : tuple of int, default=None
        As `EpitomeLearning` has them. None: patches of 8 x 8, or less for smaller images, in twenty epitomes of about
        twice that width.
    start : Epitome, default=None
        Where learning begins; its shapes are used. None: natural images, where such an epitome is shipped.
    price : float, default=4.5
        The price of codes while learning, over sigma.
    passes : float, default=3.0
        How often learning looks at every patch, at most.
    method : "paper" or "nonlocal", default="paper"
        "paper" codes every patch by itself with the learned epitome, images of any number of axes. "nonlocal" codes
        groups of similar patches, grey or in three colours: often better by some tenths of a decibel, and slower.
    gain : float, default=1.15
        A patch may keep `gain * sigma` as its error: the paper's C.
    random_state : int, RandomState instance or None, default=0
        Decides the order of the patches. An int is the seed of `epitomes.denoise`, too.
    n_jobs : int, default=None
        Number of threads; None is 1 and -1 all processors, as everywhere in scikit-learn. It changes no result.

    Attributes
    ----------
    epitome_ : Epitome
        What was learned.
    fit_ : Fit
        How it came about.
    sigma_ : float
        The noise level, given or estimated.
    n_features_in_ : int
        Pixels of an image, where X has rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skimage.data import camera
    >>> clean = camera()[100:164, 200:264].astype(float)
    >>> noisy = clean + 20 * np.random.default_rng(0).standard_normal(clean.shape)
    >>> denoiser = EpitomeDenoiser(sigma=20).fit(noisy)
    >>> bool(denoiser.score(noisy, clean) > -0.4 * 20**2)  # minus the mean squared error
    True
    """

    def __init__(
        self,
        *,
        sigma: float | Literal["auto"] = "auto",
        image_shape: Shape | Literal["auto"] | None = None,
        channel_axis: int | None = None,
        epitome_shape: Shape | None = None,
        patch_shape: Shape | None = None,
        start: Epitome | None = None,
        price: float = 4.5,
        passes: float = 3.0,
        method: Literal["paper", "nonlocal"] = "paper",
        gain: float = 1.15,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.image_shape = image_shape
        self.channel_axis = channel_axis
        self.epitome_shape = epitome_shape
        self.patch_shape = patch_shape
        self.start = start
        self.price = price
        self.passes = passes
        self.method = method
        self.gain = gain
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> EpitomeDenoiser:
        """Learn an epitome from the patches of all images of X. `y` is not looked at."""
        one_of("method", self.method, ("paper", "nonlocal"))
        stack = self._stack(self._array(X, reset=True))
        self.sigma_ = self._level(stack)
        seed = seed_of(self.random_state)
        colour = self.channel_axis is not None
        if colour and self.method == "nonlocal":  # it codes with grey patches: each colour teaches as an image
            stack, colour = np.moveaxis(stack, -1, 1).reshape(-1, *stack.shape[1:-1]), False
        first = first_epitome(
            self.start,
            self.epitome_shape,
            self.patch_shape,
            patch=_patch(stack.shape[1:], colour),
            around=lambda patch: twenty_epitomes(patch, colour=colour),
            seed=seed,
        )
        recipe = replace(several(stack, self.sigma_, price=self.price, passes=self.passes), start=first)
        steps = online(
            _patches(stack, first, self.sigma_),
            first,
            coder=Lasso(lam=recipe.lam),
            batch=recipe.batch,
            forget=recipe.forget,
            rng=seed,
            threads=self._threads(),
        )
        self.fit_ = run(steps, max_steps=recipe.n_steps)
        self.epitome_ = self.fit_.epitome
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The images of X without their noise, in the shape and dtype of X."""
        check_is_fitted(self)
        given = self._array(X, reset=False)
        clean = np.stack([self._denoised(image) for image in self._stack(given)])
        if self.channel_axis is not None:
            clean = np.moveaxis(clean, -1, self._channels_of_stack(clean.ndim))
        return clean.reshape(given.shape)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Minus the mean squared error over the images of X: higher is better.

        `y` holds the clean images. Without them, or with labels along one axis in their place, the error is estimated
        from the noisy images alone (`epitomes.validation.sure`), with two more denoisings. For images that `fit`
        has seen it looks somewhat better than it is, as every training score does.
        """
        check_is_fitted(self)
        given = self._array(X, reset=False)
        if y is not None and np.ndim(y) > 1:
            clean = as_floats("y", y, dtype=np.float64)
            if clean.shape != given.shape:
                raise ValueError(f"y needs the clean images of X, of shape {given.shape}, got {clean.shape}")
            return -float(np.mean((np.asarray(self.transform(X), np.float64) - clean) ** 2))
        seed = seed_of(self.random_state)
        images = as_floats("X", self._stack(given))  # whole numbers would round what the estimate listens for
        errors = [sure(self._denoised, image, self.sigma_, probes=1, rng=seed).mse for image in images]
        return -float(np.mean(errors))

    def _array(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        """X as it came, checked; rows by scikit-learn's own rules."""
        if self.image_shape is not None:
            rows: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
            return rows
        as_floats("X", X)
        images = np.asarray(X)
        axes = 2 if self.channel_axis is None else 3
        if images.ndim not in (axes, axes + 1):
            raise ValueError(
                f"X needs {axes} axes for one image or {axes + 1} for several, got shape {images.shape}: give "
                "image_shape if its rows are flattened images, channel_axis if images are in colour"
            )
        return images

    def _stack(self, X: NDArray[Any]) -> NDArray[Any]:
        """Images along the first axis, colours along the last one."""
        if self.image_shape is not None:
            named = self.image_shape
            shape = shape_of(X.shape[1]) if isinstance(named, str) else as_shape("image_shape", named)
            if math.prod(shape) != X.shape[1]:
                raise ValueError(f"image_shape {shape} has {math.prod(shape)} pixels, the rows of X have {X.shape[1]}")
            X = X.reshape(len(X), *shape)
        elif X.ndim == (2 if self.channel_axis is None else 3):
            X = X[None]
        if self.channel_axis is not None:
            X = np.moveaxis(X, self._channels_of_stack(X.ndim), -1)
        return np.ascontiguousarray(X)

    def _channels_of_stack(self, ndim: int) -> int:
        """`channel_axis` counts the axes of one image; from the front, a stack has one more."""
        axis = int(self.channel_axis or 0)
        if not -ndim < axis < ndim - 1:
            raise ValueError(f"channel_axis is {axis}, an image has {ndim - 1} axes")
        return axis + 1 if axis >= 0 else axis

    def _level(self, stack: NDArray[Any]) -> float:
        if self.sigma != "auto":
            return positive("sigma", self.sigma)
        channels = None if self.channel_axis is None else -1
        found = [estimate_noise(image, channel_axis=channels) for image in stack]
        level = float(np.median([one.sigma for one in found]))
        doubts = [one.reason for one in found if not one.reliable]
        if level == 0:
            raise ValueError(f"no noise was found in X ({'; '.join(doubts[:1])}): give sigma, if there is any")
        if doubts:
            warnings.warn(f"sigma was estimated as {level:.4g}, with a doubt: {doubts[0]}; or give sigma", stacklevel=3)
        return level

    def _denoised(self, image: NDArray[Any]) -> NDArray[Any]:
        level, epitome, threads = self.sigma_, self.epitome_, self._threads()
        return denoise(image, level, method=self.method, epitome=epitome, gain=self.gain, threads=threads).image

    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(super().__getstate__())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.three_d_array = self.image_shape is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _patch(image: tuple[int, ...], colour: bool) -> tuple[int, ...]:
    n_spatial = len(image) - colour
    return (*(min(SIDE, length) for length in image[:n_spatial]), *image[n_spatial:])


def _patches(stack: NDArray[Any], epitome: Epitome, sigma: float) -> Patches:
    """The patches of all images, as those of one tall image whose seams no patch crosses."""
    tall = as_floats("X", stack.reshape(-1, *stack.shape[2:]))
    if tall.dtype == np.float32 and np.ptp(tall) > 300 * sigma:
        tall = tall.astype(np.float64)  # as `denoise` does: float32 cannot tell so little noise from its own rounding
    n_images, height = stack.shape[:2]
    patch = epitome.phi.patch_shape
    if len(patch) != tall.ndim or patch[0] > height:
        raise ValueError(f"patches of shape {patch} do not fit in images of shape {stack.shape[1:]}")
    tops = np.arange(n_images)[:, None] * height + np.arange(height - patch[0] + 1)
    return Patches(tall, patch, support=support_of(epitome.phi), chosen=tops.reshape(-1))
