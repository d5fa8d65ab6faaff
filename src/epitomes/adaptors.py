"""Adaptors: a denoiser as the prior of other libraries' solvers, plug-and-play. None of these libraries is imported.

A solver for an inverse problem alternates between the data and a prior; where the prior's step is a proximal operator,
a denoiser may stand in for it (Venkatakrishnan, Bouman and Wohlberg 2013). `Prior` is called with an image and sigma,
`Proximal` has the manners of a proximal operator. Arrays come back as what they came: NumPy, PyTorch, JAX, or whatever
names its own array namespace. Nothing is differentiated through.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import positive
from epitomes.epitome import Epitome
from epitomes.learn.start import natural
from epitomes.phi import windows
from epitomes.restoration import denoise

Denoiser = Callable[[NDArray[Any], float], ArrayLike]  # image, sigma -> image


@dataclass(frozen=True, eq=False)
class Prior:
    """`prior(x, sigma)`: the images of x without noise of standard deviation sigma, in x's own units and library.

    The last two axes of x are an image, and the axes before them count images: `(height, width)` for scikit-image,
    `(batch, channels, height, width)` for deepinv, each channel by itself. With `channel_axis`, colours are denoised
    jointly. Sigma is one number, or one for each entry of the first axis; at 0 nothing is done.

    Solvers call a prior many times, so an epitome is used as the paper does, which is quick; `Prior(denoise)` looks for
    similar patches in every iterate, which is better and takes longer.

        calibrate_denoiser(noisy, Prior(), {"sigma": np.linspace(5, 50, 10)})      # scikit-image
        deepinv.optim.PnP(denoiser=Prior())                                        # deepinv, or RED, ScorePrior
    """

    denoiser: Denoiser | Epitome | None = None  # None: the shipped epitomes of natural images
    channel_axis: int | None = None  # the axis of x that holds colours

    def __post_init__(self) -> None:
        if not (self.denoiser is None or isinstance(self.denoiser, Epitome) or callable(self.denoiser)):
            raise TypeError(
                f"denoiser must be an Epitome or a function (image, sigma) -> image, got {type(self.denoiser).__name__}"
            )

    def __call__(self, x: Any, sigma: Any) -> Any:
        """Denoise the images of x."""
        return _through(self._denoised, x, sigma)

    @cached_property
    def _denoise(self) -> Denoiser:
        if callable(self.denoiser):
            return self.denoiser
        if self.denoiser is not None:
            return partial(denoise, method="paper", epitome=self.denoiser)
        colour = () if self.channel_axis is None else (3,)
        return partial(denoise, method="paper", epitome=natural(windows((20, 15, 15, *colour), (8, 8, *colour))))

    def _denoised(self, x: NDArray[Any], sigma: NDArray[Any]) -> NDArray[Any]:
        n_axes = 2 if self.channel_axis is None else 3
        if x.ndim < n_axes:
            raise ValueError(f"x needs at least {n_axes} axes, those of an image, got shape {x.shape}")
        moved = x if self.channel_axis is None else np.moveaxis(x, self.channel_axis, -1)
        counts = moved.shape[: moved.ndim - n_axes]
        levels = _levels(sigma, counts)
        clean = np.empty(moved.shape, x.dtype)
        for number in np.ndindex(*counts):
            level = positive("sigma", float(levels[number]), zero=True)
            clean[number] = self._denoise(moved[number], level) if level > 0 else moved[number]
        return clean if self.channel_axis is None else np.moveaxis(clean, -1, self.channel_axis)


@dataclass(frozen=True, eq=False)
class Proximal:
    """The proximal operator `argmin_z 1/2 |z - x|^2 + tau weight g(z)` of a function g that only a denoiser knows.

    It is the most probable image before noise of variance `tau weight`, if g is minus the logarithm of the probability
    of images: so the prior is asked to take noise of that variance away. For scico, whose functionals are called with
    an image, and for pyproximal, whose vectors are flat and need `shape`:

        scico.optimize.ADMM(f=f, g_list=[Proximal(weight=0.01)], ...)
        pyproximal.optimization.primal.ADMM(f, Proximal(shape=(256, 256)), ...)
    """

    prior: Prior = field(default_factory=Prior)
    shape: tuple[int, ...] | None = None  # of the images behind a flat vector; None: x has its own
    weight: float = 1.0

    has_eval: ClassVar[bool] = False  # for scico: there is no value of g to report
    has_prox: ClassVar[bool] = True
    hasgrad: ClassVar[bool] = False  # for pyproximal

    def __post_init__(self) -> None:
        positive("weight", self.weight)

    def __call__(self, x: Any) -> float:
        """0: nobody knows the value of g, and logs of objectives leave it out."""
        return 0.0

    def prox(self, x: Any, tau: Any = 1.0, v0: Any = None) -> Any:
        """Denoise x with `sigma = sqrt(tau weight)`. `v0`, a guess of the result, is not needed."""
        sigma = (tau * self.weight) ** 0.5
        if self.shape is None:
            return self.prior(x, sigma)
        return self.prior(x.reshape(self.shape), sigma).reshape(x.shape)

    def proxdual(self, x: Any, tau: Any = 1.0, v0: Any = None) -> Any:
        """The proximal operator of the conjugate of g, by Moreau: `x - tau prox(x / tau, 1 / tau)`."""
        return x - tau * self.prox(x / tau, 1.0 / tau)

    conj_prox = proxdual  # the same, as scico calls it


def _levels(sigma: NDArray[Any], counts: tuple[int, ...]) -> NDArray[Any]:
    """Sigma for each image: one for all, or one for each entry of the first axis."""
    values = np.asarray(sigma).reshape(-1)
    if values.size == 1:
        return np.broadcast_to(values[0], counts)
    if not counts or values.size != counts[0]:
        raise ValueError(
            f"sigma needs one value, or one for each entry of the first axis of x, got {values.size} for images of "
            f"shape {counts}"
        )
    return np.broadcast_to(values.reshape(-1, *(1 for _ in counts[1:])), counts)


def _through(work: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]], x: Any, sigma: Any) -> Any:
    """`work` on NumPy arrays, its result in the library of x."""
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        jax = sys.modules["jax"]  # x is of it; a callback, because scico's solvers compile what they call
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x, sigma: work(np.asarray(x), np.asarray(sigma)), like, x, sigma)
    result = work(_as_numpy(x), _as_numpy(sigma))
    if hasattr(x, "new_tensor"):  # PyTorch: the dtype and the device of x
        return x.new_tensor(result)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().asarray(result)
    return result


def _as_numpy(x: Any) -> NDArray[Any]:
    for verb in ("detach", "cpu"):  # PyTorch gives its values away only when nothing else depends on them
        if hasattr(x, verb):
            x = getattr(x, verb)()
    return np.asarray(x)
