"""Adaptors: a denoiser as the prior of other libraries' solvers (plug-and-play). None of these libraries is imported.

A solver for an inverse problem alternates between the data and a prior. Where the step of the prior is a proximal
operator, a denoiser can replace it (Venkatakrishnan, Bouman and Wohlberg, 2013). `Prior` is called with an image and
sigma; `Proximal` has the interface of a proximal operator. Results are arrays of the library that the input came from:
NumPy, PyTorch, JAX, or any with an array namespace. Gradients are not propagated. `denoise_lazy` takes Dask arrays.
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
from epitomes.layout import Layout
from epitomes.learn import natural
from epitomes.phi import windows
from epitomes.restoration import Method, Patchwise, denoise
from epitomes.scale.lazy import denoise_lazy

__all__ = ["Prior", "Proximal", "denoise_lazy"]

Denoiser = Callable[[NDArray[Any], float], ArrayLike]  # image, sigma -> image


@dataclass(frozen=True, eq=False)
class Prior:
    """Denoise arrays of any library: ``prior(x, sigma)``.

    The last two axes of x are an image, and the axes before them count images: ``(height, width)`` for scikit-image,
    ``(batch, channels, height, width)`` for deepinv, whose channels are denoised one by one unless `channel_axis` is
    given.

    Parameters
    ----------
    denoiser : Epitome, Method or callable, optional
        Epitome for the paper's method, a method such as ``NonLocal()``, or a function ``(image, sigma) -> image``,
        which gets channels last. Default: the paper's method with the shipped epitomes of natural images.
    channel_axis : int, optional
        Axis of x that holds colours, which are then denoised jointly.

    See Also
    --------
    Proximal : The same as a proximal operator.

    Notes
    -----
    Solvers call a prior many times. The default takes the least time. ``Prior(NonLocal())`` searches for similar
    patches in every iterate, which is better and slower. The prior can be used as it is with scikit-image,
    ``calibrate_denoiser(noisy, Prior(), {"sigma": [5, 10, 20]})``, and with deepinv, ``PnP(denoiser=Prior())``.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.adaptors import Prior
    >>> clean = np.add.outer(np.arange(32.0), np.arange(32.0))
    >>> batch = clean + np.random.default_rng(0).normal(0, 5, (2, 1, 32, 32))
    >>> estimate = Prior()(batch, 5.0)
    >>> bool(np.std(estimate - clean) < 2)
    True
    """

    denoiser: Denoiser | Epitome | Method | None = None
    channel_axis: int | None = None

    def __post_init__(self) -> None:
        if not (self.denoiser is None or isinstance(self.denoiser, (Epitome, Method)) or callable(self.denoiser)):
            raise TypeError(
                "denoiser must be an Epitome, a method or a function (image, sigma) -> image, "
                f"got {type(self.denoiser).__name__}"
            )

    def __call__(self, x: Any, sigma: Any) -> Any:
        """Denoise the images of x.

        Parameters
        ----------
        x : array_like
            Images of any array library.
        sigma : float or array_like
            Standard deviation of the noise, in the units of x: one number, or one for each entry of the first axis.
            Where it is 0, images are returned as they are.

        Returns
        -------
        array_like
            The denoised images, with the shape, dtype and library of x.
        """
        return _through(self._denoised, x, sigma)

    @cached_property
    def _denoise(self) -> Denoiser:
        method: Method
        if self.denoiser is None:
            colours = () if self.channel_axis is None else (3,)
            method = Patchwise(epitome=natural(windows((20, 15, 15, *colours), (8, 8, *colours))))
        elif isinstance(self.denoiser, Epitome):
            method = Patchwise(epitome=self.denoiser)
        elif isinstance(self.denoiser, Method):
            method = self.denoiser
        else:
            return self.denoiser
        return partial(denoise, channel_axis=None if self.channel_axis is None else -1, method=method)

    def _denoised(self, x: NDArray[Any], sigma: NDArray[Any]) -> NDArray[Any]:
        n_axes = 2 if self.channel_axis is None else 3
        if x.ndim < n_axes:
            raise ValueError(f"x needs at least {n_axes} axes, those of an image, got shape {x.shape}")
        layout = Layout.of(x.shape, self.channel_axis, spatial=2)
        levels, noisy = _levels(sigma, layout.stack_shape), layout.canonical(x)
        clean = np.empty(noisy.shape, x.dtype)
        for place in layout.places():
            level = positive("sigma", float(levels[place]), zero=True)
            clean[place] = self._denoise(noisy[place], level) if level > 0 else noisy[place]
        return layout.original(clean)


@dataclass(frozen=True, eq=False)
class Proximal:
    """Denoise as a proximal operator, for scico and pyproximal.

    Parameters
    ----------
    prior : Prior, optional
        The denoiser.
    shape : tuple of int, optional
        Shape of the images in a flat vector, for pyproximal. Default: x has its own shape.
    weight : float, default: 1.0
        Weight of the prior.

    See Also
    --------
    Prior : Denoise arrays of any library.

    Notes
    -----
    The proximal operator of a function g is ``argmin_z 1/2 |z - x|**2 + tau * weight * g(z)``. If g is minus the
    logarithm of the probability of images, this is the most probable image before noise of variance ``tau * weight``
    was added. Therefore `prox` denoises with that variance. It can be used as
    ``scico.optimize.ADMM(f=f, g_list=[Proximal(weight=0.01)], ...)`` and
    ``pyproximal.optimization.primal.ADMM(f, Proximal(shape=(256, 256)), ...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.adaptors import Prior, Proximal
    >>> halve = Proximal(Prior(lambda image, sigma: image / 2), shape=(3, 4))
    >>> halve.prox(np.full(12, 10.0), 4.0)
    array([5., 5., 5., 5., 5., 5., 5., 5., 5., 5., 5., 5.])
    """

    prior: Prior = field(default_factory=Prior)
    shape: tuple[int, ...] | None = None
    weight: float = 1.0

    has_eval: ClassVar[bool] = False  # for scico: the value of g is unknown
    has_prox: ClassVar[bool] = True
    hasgrad: ClassVar[bool] = False  # for pyproximal

    def __post_init__(self) -> None:
        positive("weight", self.weight)

    def __call__(self, x: Any) -> float:
        """Return 0, because the value of g is unknown; objectives that solvers log are without it.

        Parameters
        ----------
        x : array_like
            Not used.

        Returns
        -------
        float
            Always 0.
        """
        return 0.0

    def prox(self, x: Any, tau: Any = 1.0, v0: Any = None) -> Any:
        """Denoise x with ``sigma = sqrt(tau * weight)``.

        Parameters
        ----------
        x : array_like
            Images, or a flat vector if `shape` is set.
        tau : float, default: 1.0
            Step length.
        v0 : array_like, optional
            Initial guess of the result, as scico passes it. Not used.

        Returns
        -------
        array_like
            The denoised images, in the shape of x.
        """
        sigma = (tau * self.weight) ** 0.5
        if self.shape is None:
            return self.prior(x, sigma)
        return self.prior(x.reshape(self.shape), sigma).reshape(x.shape)

    def proxdual(self, x: Any, tau: Any = 1.0, v0: Any = None) -> Any:
        """Apply the proximal operator of the conjugate of g, by Moreau: ``x - tau * prox(x / tau, 1 / tau)``.

        Parameters
        ----------
        x : array_like
            Images, or a flat vector if `shape` is set.
        tau : float, default: 1.0
            Step length.
        v0 : array_like, optional
            Initial guess of the result, as scico passes it. Not used.

        Returns
        -------
        array_like
            The result, in the shape of x.
        """
        return x - tau * self.prox(x / tau, 1.0 / tau)

    conj_prox = proxdual  # scico's name for it


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
        jax = sys.modules["jax"]  # scico's solvers compile what they call, and this cannot be compiled: a callback
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda x, sigma: work(np.asarray(x), np.asarray(sigma)), like, x, sigma)
    result = work(_as_numpy(x), _as_numpy(sigma))
    if hasattr(x, "new_tensor"):  # PyTorch: the dtype and the device of x
        return x.new_tensor(result)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().asarray(result)
    return result


def _as_numpy(x: Any) -> NDArray[Any]:
    for verb in ("detach", "cpu"):  # PyTorch converts only tensors without gradients, on the processor
        if hasattr(x, verb):
            x = getattr(x, verb)()
    return np.asarray(x)
