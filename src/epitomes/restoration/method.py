"""Methods: small frozen objects that denoise one picture with noise of one known level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from epitomes.checks import Array
from epitomes.epitome import Epitome
from epitomes.learn import Fit
from epitomes.noise import BlockSpectrum

Callback = Callable[[float, str], None]
"""Progress: ``callback(fraction, stage)`` with a fraction between 0 and 1 and a few words for people."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a method makes of one picture.

    Parameters
    ----------
    image : ndarray
        The denoised picture, of floats.
    epitome : Epitome or None
        The epitome that was used in the end; None if the method has none.
    fit : Fit or None
        How the epitome was learned; None if it was given.
    atoms_per_patch : float
        Mean number of atoms per patch.
    notes : tuple of str, optional
        What the user should know, in short sentences.
    how : str, optional
        How it was done, in a few words, where that was decided on the way.

    See Also
    --------
    Method : Contract of denoising methods.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.restoration import NonLocal
    >>> noisy = np.random.default_rng(0).normal(100, 10, (32, 32))
    >>> found = NonLocal(preset="fast").run(noisy, 10.0)
    >>> found.image.shape, found.fit is None
    ((32, 32), True)
    """

    image: Array
    epitome: Epitome | None
    fit: Fit | None
    atoms_per_patch: float
    notes: tuple[str, ...] = ()
    how: str = ""


@runtime_checkable
class Method(Protocol):
    """Contract of denoising methods: small objects that hold settings.

    This is a protocol: any class with these attributes and methods can be used, no base class is needed.

    See Also
    --------
    NonLocal : Groups of similar patches.
    Patchwise : The paper's method.

    Examples
    --------
    >>> from epitomes.restoration import Method, NonLocal
    >>> isinstance(NonLocal(), Method)
    True
    """

    @property
    def label(self) -> str:
        """Name of the method with its main setting, such as ``"balanced"``."""
        ...

    def prepare(self, shape: tuple[int, ...], channels: bool) -> int:
        """Return how many spatial axes are worked on at once; refuse what the method cannot handle.

        Pictures with more spatial axes are cut into planes along their first ones.

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
            If the method cannot handle the picture or its own epitome. It says what to change.
        """
        ...

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
            Picture of any real dtype, channels last if there are any.
        sigma : float
            Standard deviation of its noise, which is Gaussian.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated, with one level at every brightness; None if it is white.
        channels : bool, default: False
            Whether the last axis holds channels.
        seed : int, default: 0
            Decides all that is random.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Estimate
            The denoised picture and how it was made.
        """
        ...


def within(callback: Callback | None, first: float, last: float) -> Callback | None:
    """A callback for a part of the work, from one fraction of the whole to another."""
    if callback is None:
        return None

    def told(fraction: float, stage: str) -> None:
        # Rounding must not pass the end, where the next part begins.
        callback(last if fraction >= 1 else min(last, first + (last - first) * fraction), stage)

    return told


def float_type(image: Array) -> type[np.floating[Any]]:
    """The type that holds estimates of an image."""
    return np.float64 if image.dtype.itemsize > (4 if image.dtype.kind == "f" else 2) else np.float32
