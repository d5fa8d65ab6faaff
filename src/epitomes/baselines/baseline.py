"""Baseline: what all baselines share, so that each file holds one method and nothing else.

A baseline sees one plane at a time in units of its noise, its channels turned so that the first is the lightness. Noise
of other kinds, stacks, volumes, masks and data types are the business of `epitomes.restoration.Plan`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar

import numpy as np

from epitomes.checks import Array, positive
from epitomes.colours import turn_of
from epitomes.epitome import Epitome
from epitomes.groups.matching import Planar
from epitomes.learn import Fit
from epitomes.noise import BlockSpectrum
from epitomes.restoration.contrast import contrast
from epitomes.restoration.method import Callback, Estimate, float_type, within
from epitomes.restoration.non_local.colour import from_planar, to_planar
from epitomes.restoration.non_local.outliers import denoised_beside, outliers_of
from epitomes.restoration.patchwise.method import CORRELATED

TYPICAL_CONTRAST = 50.0  # standard deviation of photographs with values from 0 to 255
BYTE = 255.0  # the white of the images for which authors chose their settings


@dataclass(frozen=True, eq=False)
class Scene:
    """One picture as a baseline sees it.

    Parameters
    ----------
    noisy : ndarray
        The picture ``(channels, 1, height, width)``, float32, in units of its noise: the noise is white and has
        standard deviation 1. The first of several channels is the lightness. It must not be changed.
    sigma : float
        Standard deviation of the noise in a picture with values from 0 to 255 and the same contrast. Authors chose
        their settings by it.
    seed : int, default: 0
        Decides all that is random.
    threads : int, optional
        Number of threads.
    callback : callable, optional
        Called as ``callback(fraction, stage)``.
    turned : bool, default: False
        Whether the channels were turned by an orthonormal matrix: the first is then their mean, times the root of
        their number, and the others are differences.

    See Also
    --------
    Baseline : Method that denoises it.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import Scene
    >>> scene = Scene(np.zeros((1, 1, 16, 16), np.float32), 25.0)
    >>> scene.advance("step 1") is None  # nobody asked for the progress
    True
    """

    noisy: Planar
    sigma: float
    seed: int = 0
    threads: int | None = None
    callback: Callback | None = None
    turned: bool = False

    @property
    def lightness_sigma(self) -> float:
        """Noise level of the mean of the channels, for the same values as `sigma`: groups are found on it."""
        return self.sigma / math.sqrt(len(self.noisy)) if self.turned else self.sigma

    def advance(self, stage: str, first: float = 0.0, last: float = 1.0) -> Callable[[float], None] | None:
        """Return a callback for a part of the work, as `epitomes.groups.estimate` takes it.

        Parameters
        ----------
        stage : str
            What is done in this part.
        first, last : float
            Fractions of the whole at which the part begins and ends.

        Returns
        -------
        callable or None
            Function of a fraction of the part; None if nobody asked for the progress.
        """
        part = within(self.callback, first, last)
        return None if part is None else lambda fraction: part(fraction, stage)


@dataclass(frozen=True, eq=False)
class Found:
    """What a baseline makes of a scene.

    Parameters
    ----------
    clean : ndarray
        The denoised picture, of the shape and in the units of `Scene.noisy`.
    epitome : Epitome, optional
        Epitome or flat dictionary that was used, if there is one.
    fit : Fit, optional
        How it was learned.
    atoms_per_patch : float, default: 0.0
        Mean number of atoms per patch.
    notes : tuple of str, optional
        What the user should know, in short sentences.

    See Also
    --------
    Scene : What the method saw.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import Found
    >>> Found(np.zeros((1, 1, 8, 8), np.float32)).epitome is None
    True
    """

    clean: Planar
    epitome: Epitome | None = None
    fit: Fit | None = None
    atoms_per_patch: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Baseline(ABC):
    """Base of the baselines: a frozen dataclass of settings, with a `label`, that `restore` takes as its `method`.

    A baseline defines `label`, `least_side` and ``_denoised(scene)``, and nothing else.

    Parameters
    ----------
    peak : float, optional
        Value of white. The noise level relative to it chooses the settings that are not given. Default: the settings
        follow the contrast of the image, so that they do not depend on its units.

    See Also
    --------
    epitomes.restore : Denoise with any method.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from scipy.ndimage import uniform_filter
    >>> from epitomes import denoise
    >>> from epitomes.baselines import Baseline, Found
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Blur(Baseline):
    ...     label = "blur"
    ...     least_side = 3
    ...
    ...     def _denoised(self, scene):
    ...         return Found(uniform_filter(scene.noisy, (0, 0, 3, 3)))
    >>> noisy = np.random.default_rng(0).normal(100, 10, (32, 32))
    >>> bool(denoise(noisy, 10.0, method=Blur()).std() < 5)
    True
    """

    peak: float | None = None

    label: ClassVar[str]  # the name in print, such as "BM3D"
    least_side: ClassVar[int]  # pixels: smaller images are refused

    def __post_init__(self) -> None:
        if self.peak is not None:
            positive("peak", self.peak)
        for field in fields(self):  # switches: a text such as "no" would count as yes
            if isinstance(field.default, bool) and not isinstance(getattr(self, field.name), (bool, np.bool_)):
                raise TypeError(f"{field.name} must be True or False, got {getattr(self, field.name)!r}")

    @abstractmethod
    def _denoised(self, scene: Scene) -> Found:
        """Denoise one picture."""

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
            2: volumes are denoised plane by plane.

        Raises
        ------
        ValueError
            If the picture is a signal, or too small.
        """
        spatial = shape[: len(shape) - channels]
        if len(spatial) < 2:
            raise ValueError(
                f"{self.label} needs two spatial axes at least, got a picture of shape {shape}"
                f"{', channels last' if channels else ''}: use method='paper' for signals"
            )
        if min(spatial[-2:]) < self.least_side:
            raise ValueError(
                f"{self.label} needs an image of at least {self.least_side} x {self.least_side} pixels, got "
                f"{spatial[-2]} x {spatial[-1]}: use method='paper' for smaller ones"
            )
        return 2

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
        """Denoise one image.

        Parameters
        ----------
        image : ndarray
            Image ``(height, width)``, channels last if there are any, of any real dtype.
        sigma : float
            Standard deviation of its noise.
        blocks : BlockSpectrum, optional
            Shape of the noise if it is correlated. It is then taken for white noise of twice its level.
        channels : bool, default: False
            Whether the last axis holds channels. Three are turned into lightness and two differences of colours.
        seed : int, default: 0
            Decides all that is random.
        threads : int, optional
            Number of threads. It changes no bit of the result.
        callback : callable, optional
            Called as ``callback(fraction, stage)``.

        Returns
        -------
        Estimate
            The denoised image, and the dictionary if there is one.
        """
        outliers = outliers_of(image, sigma)
        if outliers is not None:
            again = partial(self.run, blocks=blocks, channels=channels, seed=seed, threads=threads, callback=callback)
            return denoised_beside(outliers, image, sigma, channels, again)
        notes = () if blocks is None else (f"{self.label} knows white noise only, and took this noise for it",)
        level = sigma if blocks is None else CORRELATED * sigma
        mean, turn = float(image.mean(dtype=np.float64)), turn_of(image)
        noisy = to_planar(image, mean, level, turn)
        noisy.flags.writeable = False
        found = self._denoised(Scene(noisy, self._bytes(image, level), seed, threads, callback, turn is not None))
        clean = from_planar(found.clean, mean, level, turn, image.shape, float_type(image))
        return Estimate(clean, found.epitome, found.fit, found.atoms_per_patch, (*notes, *found.notes))

    def _bytes(self, image: Array, sigma: float) -> float:
        """The noise level of a picture with values from 0 to 255 and the same contrast."""
        if self.peak is not None:
            return BYTE * sigma / self.peak
        return TYPICAL_CONTRAST * sigma / contrast(image, sigma)
