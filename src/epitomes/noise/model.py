"""Noise: one model for every noise. A level that may depend on brightness and place, times a shape in frequency."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import positive
from epitomes.layout import Layout, Place
from epitomes.noise.block_spectrum import BlockSpectrum
from epitomes.noise.correlation import NoiseCorrelation
from epitomes.noise.describe import in_values, in_words
from epitomes.noise.deviation import deviation_at, deviations
from epitomes.noise.parameters import as_parameter, noise_at, require_same_axes, root_mean_square
from epitomes.noise.planes import Floats
from epitomes.noise.spectrum import normalised
from epitomes.noise.stabilise import Stabilised, stabilise

PARAMETERS = ("sigma", "gain", "offset", "brightness")


def _zero() -> Floats:
    return np.zeros(())


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Noise:
    """Noise model of an image, volume, signal or stack of them.

    The variance of a pixel of mean ``x`` is ``sigma**2 + gain * max(x - offset, 0)``. With ``gain = 0`` the noise is
    Gaussian; with ``gain > 0`` it is Poisson-Gaussian, and `sigma` is the read noise. Use the constructors `gaussian`,
    `map`, `poisson_gaussian`, `rician`, `from_spectrum` and `from_blocks`, or `estimate_noise`.

    Parameters
    ----------
    sigma, gain, offset : ndarray
        Parameters in the units of the image. Each is a number (everywhere), has one axis (one value per channel), or
        has as many axes as the image and broadcasts to it (a map, or one value per picture of a stack).
    spectrum : ndarray, optional
        Shape of the noise in frequency, ``(H, W)`` in the order of `numpy.fft.fft2`, with mean 1. The variance at each
        frequency is ``sigma**2 * spectrum``. None for white noise.
    blocks : BlockSpectrum, optional
        Shape of correlated noise for images of any size, with its level over brightness and the covariance of the
        channels. Only one of `spectrum` and `blocks` can be given.
    interval : tuple of float, optional
        90 % confidence interval of `level`. None if the noise was not estimated.
    gain_interval : tuple of float, optional
        90 % confidence interval of `gain`, whose upper end can be infinite. None if there is no single estimated gain.
    doubts : tuple of str
        Short sentences that say why the estimate may be wrong; empty if it is reliable.
    doubt_kinds : tuple of str
        One word for each of `doubts`, for programs: "growth" (with brightness), "no growth", "texture", "clipped",
        "quantised", "tiny", "jpeg", "demosaicked", "correlated", "few levels", "narrow", "regions", "moved",
        "rician", "constant" or "noiseless".
    parts : tuple of Noise
        Estimates of each channel, plane or picture; empty if there is only one.
    correlation : NoiseCorrelation, optional
        Measured correlation of neighbouring pixels, that of the worst channel. None if it was not measured, and for
        volumes and stacks, whose `parts` have it.
    estimated : bool
        Whether the noise was estimated from an image.
    brightness : ndarray, optional
        Mean of the image that the noise was estimated from, at which `level` is evaluated if ``gain > 0``.
    magnitude : bool
        Whether a pixel is the magnitude of a complex value whose two parts have Gaussian noise of level `sigma`, as in
        MR images: Rician noise.

    See Also
    --------
    estimate_noise : Estimate the noise of an image.

    Examples
    --------
    >>> from epitomes import Noise
    >>> Noise.gaussian(25)
    <Noise: Gaussian, sigma 25>
    >>> camera = Noise.poisson_gaussian(gain=2.0, offset=100.0, read_noise=3.0)
    >>> camera.std([[100.0, 300.0]]).round(1)
    array([[ 3.6, 20.2]])
    """

    sigma: Floats = field(default_factory=_zero)
    gain: Floats = field(default_factory=_zero)
    offset: Floats = field(default_factory=_zero)
    spectrum: Floats | None = None
    blocks: BlockSpectrum | None = None
    interval: tuple[float, float] | None = None
    gain_interval: tuple[float, float] | None = None
    doubts: tuple[str, ...] = ()
    doubt_kinds: tuple[str, ...] = ()
    parts: tuple[Noise, ...] = ()
    correlation: NoiseCorrelation | None = None
    estimated: bool = False
    brightness: Floats | None = None
    magnitude: bool = False

    def __post_init__(self) -> None:
        for name in PARAMETERS:
            if (value := getattr(self, name)) is not None:
                signed = name in ("offset", "brightness")
                object.__setattr__(self, name, as_parameter(name, value, signed=signed))
        require_same_axes({name: getattr(self, name) for name in PARAMETERS})
        if self.spectrum is not None:
            if self.gain.any():
                raise ValueError("noise with a spectrum needs gain 0: whiten images before they are stabilised")
            object.__setattr__(self, "spectrum", normalised(self.spectrum)[0])
        if self.blocks is not None and (self.gain.any() or self.spectrum is not None):
            raise ValueError("noise with blocks has its own level over brightness: leave out gain and spectrum")
        if self.magnitude and (self.gain.any() or not self.is_white):
            raise ValueError("Rician noise is white and needs gain 0: leave out gain, spectrum and blocks")

    @classmethod
    def gaussian(cls, sigma: ArrayLike) -> Noise:
        """Describe white Gaussian noise.

        Parameters
        ----------
        sigma : float or sequence of float
            Standard deviation, in the units of the image: one number, or one per channel.

        Returns
        -------
        Noise
            The noise model.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.gaussian([2.0, 1.5, 4.0])
        <Noise: Gaussian, sigma 2, 1.5 and 4 per channel>
        """
        values = as_parameter("sigma", sigma, zero=False)
        if values.ndim > 1:
            raise ValueError(f"sigma must be one number or one per channel, got shape {values.shape}: use Noise.map")
        return cls(sigma=values)

    @classmethod
    def map(cls, sigma: ArrayLike) -> Noise:
        """Describe white Gaussian noise whose level differs from place to place or from picture to picture.

        Parameters
        ----------
        sigma : array_like
            Standard deviation of every pixel: an array with as many axes as the image that broadcasts to it.

        Returns
        -------
        Noise
            The noise model.

        Examples
        --------
        One level for each of three images of a stack:

        >>> import numpy as np
        >>> from epitomes import Noise
        >>> Noise.map(np.reshape([1.0, 2.0, 4.0], (3, 1, 1)))
        <Noise: Gaussian, sigma 1 to 4 (array of shape (3, 1, 1))>
        """
        return cls(sigma=as_parameter("sigma", sigma, zero=False))

    @classmethod
    def poisson_gaussian(cls, gain: ArrayLike, offset: ArrayLike = 0.0, read_noise: ArrayLike = 0.0) -> Noise:
        """Describe the noise of counted light.

        Parameters
        ----------
        gain : float or array_like
            Brightness per count; 0 for Gaussian noise only.
        offset : float or array_like, optional
            Brightness without light.
        read_noise : float or array_like, optional
            Standard deviation of the Gaussian part, in the units of the image.

        Returns
        -------
        Noise
            The noise model.

        Notes
        -----
        A pixel is ``gain * Poisson(counts) + offset + read_noise * normal``. Its mean is ``gain * counts + offset``,
        and its variance ``gain * (mean - offset) + read_noise**2``.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.poisson_gaussian(2.1, read_noise=3.0)
        <Noise: Poisson-Gaussian, gain 2.1, offset 0, read noise 3>
        """
        noise = cls(
            sigma=as_parameter("read_noise", read_noise),
            gain=as_parameter("gain", gain),
            offset=as_parameter("offset", offset, signed=True),
        )
        if not (noise.gain.any() or noise.sigma.any()):
            raise ValueError("gain and read_noise are both 0, which is no noise: one of them must be positive")
        return noise

    @classmethod
    def rician(cls, sigma: ArrayLike) -> Noise:
        """Describe the noise of magnitude MR images.

        Parameters
        ----------
        sigma : float or array_like
            Standard deviation of the real and of the imaginary part, in the units of the image.

        Returns
        -------
        Noise
            The noise model.

        Notes
        -----
        A pixel is ``abs(signal + sigma * (n1 + 1j * n2))`` with normal ``n1`` and ``n2``. Its mean is above the signal,
        and 1.25 sigma in air. Denoised images are estimates of the signal, which is 0 in air.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.rician(20.0).std([[0.0, 40.0, 1000.0]]).round(1)
        array([[13.1, 18.3, 20. ]])
        """
        return cls(sigma=as_parameter("sigma", sigma, zero=False), magnitude=True)

    @classmethod
    def from_spectrum(cls, power: ArrayLike) -> Noise:
        """Describe Gaussian noise that is not white, by its power spectrum.

        Parameters
        ----------
        power : array_like
            Variance at every frequency, ``(H, W)``, in the order of `numpy.fft.fft2`; its mean is the variance of a
            pixel. It may vanish at frequency zero only.

        Returns
        -------
        Noise
            The noise model, for images of ``H`` by ``W`` pixels.

        See Also
        --------
        kernel_spectrum : Spectrum of white noise that was filtered.
        sample_spectrum : Spectrum of a sample of pure noise.

        Examples
        --------
        >>> from epitomes import Noise
        >>> from epitomes.noise import kernel_spectrum
        >>> Noise.from_spectrum(kernel_spectrum([[0.2, 0.6, 0.2]], (32, 32), sigma=10.0))
        <Noise: correlated Gaussian, sigma 6.633>
        """
        spectrum, sigma = normalised(power)
        return cls(sigma=np.asarray(sigma), spectrum=spectrum)

    @classmethod
    def from_blocks(cls, blocks: BlockSpectrum) -> Noise:
        """Describe correlated noise by the frequencies of small blocks, as `estimate_noise` finds it in photographs.

        Parameters
        ----------
        blocks : BlockSpectrum
            Covariance of the channels at every frequency, and the level over brightness.

        Returns
        -------
        Noise
            The noise model, for images of any size with as many channels.

        Examples
        --------
        >>> from epitomes import Noise
        >>> from epitomes.noise import BlockSpectrum
        >>> Noise.from_blocks(BlockSpectrum.white(25.0, n_channels=3))
        <Noise: correlated Gaussian, sigma 5>
        """
        return cls(sigma=blocks.sigma if blocks.n_channels > 1 else blocks.sigma[0], blocks=blocks)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Noise:
        """Read a noise model that `save` wrote.

        Parameters
        ----------
        path : path-like
            A JSON file.

        Returns
        -------
        Noise
            The noise model.

        Raises
        ------
        ValueError
            If the file is not a noise profile; the message says what is wrong with it.
        """
        from epitomes.noise.profile import read_profile

        return read_profile(path)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the noise model to a small JSON file.

        Parameters
        ----------
        path : path-like
            Name of the file.
        overwrite : bool, optional
            Whether an existing file may be replaced.

        Raises
        ------
        ValueError
            If a parameter or the spectrum has more than 65536 values.
        FileExistsError
            If the file exists and `overwrite` is False.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from epitomes import Noise
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "camera.json")
        ...     Noise.poisson_gaussian(2.1, 100.0, 3.0).save(path)
        ...     Noise.load(path)
        <Noise: Poisson-Gaussian, gain 2.1, offset 100, read noise 3>
        """
        from epitomes.noise.profile import write_profile

        write_profile(self, path, overwrite=overwrite)

    @property
    def level(self) -> float:
        """Standard deviation of the noise as one number: the root mean square over all pixels.

        With ``gain > 0`` it is evaluated at `brightness`, or where that is unknown, at one count.
        """
        means = self.offset if self.brightness is None else self.brightness
        return root_mean_square(deviation_at(means, self.sigma, self.gain, self.offset))

    @property
    def reliable(self) -> bool:
        """Whether there are no doubts about the estimate."""
        return not self.doubts

    @property
    def is_white(self) -> bool:
        """Whether the noise of neighbouring pixels is independent."""
        return self.spectrum is None and self.blocks is None

    @property
    def is_constant(self) -> bool:
        """Whether the noise is white and Gaussian with one level everywhere."""
        plain = self.is_white and not self.magnitude and not self.gain.any()
        return plain and bool((self.sigma == self.sigma.flat[0]).all())

    def std(self, image: ArrayLike, layout: Layout | None = None) -> Floats:
        """Compute the standard deviation of the noise of every pixel.

        Parameters
        ----------
        image : array_like
            Mean of every pixel, for example a denoised image. Poisson noise is that of at least one count.
        layout : Layout, optional
            Meaning of the axes. If None, channels come last.

        Returns
        -------
        ndarray
            Standard deviations, of the shape of `image`. It can be a read-only view.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.poisson_gaussian(1.0).std([[0.0, 4.0, 9.0]])
        array([[1., 2., 3.]])
        """
        return deviations(self, np.asarray(image, np.float64), layout)

    def times(self, factor: float) -> Noise:
        """Return the model of noise that is stronger or weaker everywhere.

        Parameters
        ----------
        factor : float
            Ratio of the standard deviations.

        Returns
        -------
        Noise
            The noise model. Poisson-Gaussian noise of other strength has another gain, not another offset.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.gaussian(25).times(0.8)
        <Noise: Gaussian, sigma 20>
        """
        by = positive("factor", factor)
        return replace(
            self,
            sigma=self.sigma * by,
            gain=self.gain * by**2,
            blocks=None if self.blocks is None else self.blocks.times(by),
            interval=None if self.interval is None else (self.interval[0] * by, self.interval[1] * by),
            gain_interval=None,
            parts=tuple(part.times(by) for part in self.parts),
        )

    def at(self, place: Place, layout: Layout) -> Noise:
        """Select the noise of one picture of a stack.

        Parameters
        ----------
        place : tuple of int
            Index of the picture, from ``layout.places()``; empty if there is no stack.
        layout : Layout
            Meaning of the axes of the stack.

        Returns
        -------
        Noise
            The noise of the picture. Its parameters are in canonical order, channels last.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes import Noise
        >>> from epitomes.layout import Layout
        >>> noise = Noise.map(np.reshape([1.0, 2.0, 4.0], (3, 1, 1)))
        >>> noise.at((1,), Layout.of((3, 64, 64), spatial=2))
        <Noise: Gaussian, sigma 2>
        """
        return noise_at(self, PARAMETERS, place, layout)

    def stabilise(self, picture: ArrayLike, *, spatial: int | None = None) -> Stabilised:
        """Transform a picture so that its noise is white and Gaussian with one level.

        Parameters
        ----------
        picture : array_like
            One picture in canonical order: spatial axes, then channels if there are any.
        spatial : int, optional
            Number of spatial axes. Only needed for noise with a spectrum, if the shape of the picture is ambiguous.

        Returns
        -------
        Stabilised
            The transformed picture, the level of its noise, and the way back. Constant Gaussian noise changes nothing.

        Raises
        ------
        ValueError
            If the noise level is 0, or the parameters do not fit the picture.

        Notes
        -----
        Gaussian noise of varying level is divided by its level and multiplied by the root mean square of all levels.
        Poisson-Gaussian noise goes through `anscombe`, and back through `inverse_anscombe`; Rician noise through a
        similar transform, and back to the signal. Noise with a spectrum is whitened, plane by plane and channel by
        channel. Noise with blocks is left as it is: methods take its shape from ``stabilised.blocks``.

        Examples
        --------
        >>> import numpy as np
        >>> from epitomes import Noise
        >>> counts = np.random.default_rng(0).poisson(30.0, (64, 64))
        >>> even = Noise.poisson_gaussian(1.0).stabilise(counts)
        >>> even.sigma, round(float(even.image.std()), 1)
        (1.0, 1.0)
        """
        return stabilise(self, picture, spatial)

    def describe(self) -> str:
        """Describe the noise in one line.

        Returns
        -------
        str
            A line for people.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.gaussian(12.3).describe()
        'Gaussian, sigma 12.3'
        """
        return in_words(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the model as plain values for JSON.

        Returns
        -------
        dict
            Numbers, strings, lists and None. Of arrays with more than 64 values, only the shape.

        Examples
        --------
        >>> from epitomes import Noise
        >>> Noise.gaussian([2.0, 4.0]).as_dict()["sigma"]
        [2.0, 4.0]
        """
        return in_values(self)

    def __repr__(self) -> str:
        return f"<Noise: {self.describe()}>"
