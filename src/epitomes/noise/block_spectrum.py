"""BlockSpectrum: the shape of correlated noise, by the frequencies of small blocks at two scales or more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from epitomes.checks import as_floats, read_only
from epitomes.noise.dct_blocks import SIDE, cosines
from epitomes.noise.planes import Floats

LEAST_SCALES = 2
BLUR = 2.0  # pixels: the brightness by which the level is chosen must not follow the noise


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockSpectrum:
    """Shape of correlated noise: its covariance at the frequencies of 8 x 8 blocks, and its level over brightness.

    Parameters
    ----------
    power : ndarray
        Covariance of the channels at every frequency of the orthonormal DCT of blocks, ``(scales, 8, 8, channels,
        channels)``: of the image, of the image at half its size and, for noise that is longer, at a quarter and so on.
    brightness : ndarray
        Increasing mean values of all channels at which `level` is given.
    level : ndarray
        Standard deviation of the noise at `brightness`, relative to that of `power`. It is constant beyond the ends.

    See Also
    --------
    Noise : The noise model that holds it.
    estimate_noise : Measure it on an image.

    Notes
    -----
    The noise of a patch has the covariance ``sum over k of w_k w_k' power_k``, where ``w_k`` are the waves of the DCT,
    cut to the patch and averaged over all its places in a block. Noise that is longer than a block shows at half the
    size of the image.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import BlockSpectrum
    >>> white = BlockSpectrum.white(4.0)
    >>> white.sigma, np.round(white.covariance((2, 2)), 6).tolist()
    (array([2.]), [[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 4.0]])
    """

    power: Floats
    brightness: Floats
    level: Floats

    def __post_init__(self) -> None:
        for name in ("power", "brightness", "level"):
            values = as_floats(name, getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, read_only(np.array(values, np.float64)))
        shape = self.power.shape
        if len(shape) != 5 or shape[0] < LEAST_SCALES or shape[1:3] != (SIDE, SIDE) or shape[3] != shape[4]:
            raise ValueError(f"power needs shape (scales, 8, 8, channels, channels), two scales at least, got {shape}")
        if self.brightness.ndim != 1 or self.brightness.shape != self.level.shape or not self.level.size:
            raise ValueError(
                f"brightness and level need the same number of values, got shapes {self.brightness.shape} and "
                f"{self.level.shape}"
            )
        if (np.diff(self.brightness) <= 0).any() or self.level.min() <= 0:
            raise ValueError("brightness must increase, and level must be positive")

    @classmethod
    def white(cls, variance: float, n_channels: int = 1) -> BlockSpectrum:
        """Describe white noise in this form.

        Parameters
        ----------
        variance : float
            Variance of a pixel.
        n_channels : int, default: 1
            Number of channels, whose noise is independent.

        Returns
        -------
        BlockSpectrum
            The spectrum. At half the size, white noise has a quarter of the variance.
        """
        fine = np.broadcast_to(variance * np.eye(n_channels), (SIDE, SIDE, n_channels, n_channels))
        return cls(power=np.stack([fine, fine / 4]), brightness=np.zeros(1), level=np.ones(1))

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return int(self.power.shape[-1])

    @property
    def n_scales(self) -> int:
        """Number of scales, each of half the size of the one before."""
        return len(self.power)

    @property
    def sigma(self) -> Floats:
        """Standard deviation of the noise of each channel, without its mean over a block."""
        power = np.einsum("ijcc->ijc", self.power[0]).reshape(-1, self.n_channels)[1:]
        return np.asarray(np.sqrt(power.mean(axis=0)))

    def times(self, factor: float) -> BlockSpectrum:
        """Return the spectrum of noise with `factor` times the standard deviation.

        Parameters
        ----------
        factor : float
            Ratio of standard deviations.

        Returns
        -------
        BlockSpectrum
            The spectrum.
        """
        return replace(self, power=self.power * factor**2)

    def turned(self, matrix: Floats) -> BlockSpectrum:
        """Return the spectrum of linear combinations of the channels.

        Parameters
        ----------
        matrix : ndarray
            One row for each new channel, ``(new, channels)``.

        Returns
        -------
        BlockSpectrum
            The spectrum; the level over brightness is unchanged.
        """
        return replace(self, power=np.einsum("ac,sijcd,bd->sijab", matrix, self.power, matrix))

    def covariance(self, patch: tuple[int, int], scale: int = 0) -> Floats:
        """Compute the covariance of the noise of a patch.

        Parameters
        ----------
        patch : tuple of int
            Height and width, at most 8 each.
        scale : int, default: 0
            0 for the image, 1 for the image at half its size, and so on.

        Returns
        -------
        ndarray
            Square matrix; values of a patch are ordered by channel, row and column.
        """
        high, wide = patch
        if not (1 <= high <= SIDE and 1 <= wide <= SIDE):
            raise ValueError(f"patch needs a height and a width between 1 and {SIDE}, got {patch}")
        waves, n = cosines(), self.n_channels
        total = np.zeros((n, high, wide, n, high, wide))
        down, across = range(SIDE - high + 1), range(SIDE - wide + 1)
        for top in down:
            rows = waves[:, top : top + high]
            vertical = np.einsum("iy,iz,ijcd->yzjcd", rows, rows, self.power[scale])
            for left in across:
                columns = waves[:, left : left + wide]
                total += np.einsum("yzjcd,jx,jw->cyxdzw", vertical, columns, columns, optimize=True)
        size = n * high * wide
        return np.asarray(total.reshape(size, size) / (len(down) * len(across)))

    def level_map(self, brightness: NDArray[Any]) -> NDArray[np.float32]:
        """Compute the relative level of the noise at every pixel.

        Parameters
        ----------
        brightness : ndarray
            Mean of the channels at every pixel, of an image that may be noisy: it is smoothed along its last two axes.

        Returns
        -------
        ndarray
            Levels of the shape of `brightness`.
        """
        values = np.asarray(brightness, np.float32)
        if len(self.level) == 1:
            return np.full(values.shape, self.level[0], np.float32)
        blur = (0.0,) * (values.ndim - 2) + (BLUR,) * min(2, values.ndim)
        smooth = gaussian_filter(values, blur, mode="nearest")
        return np.asarray(np.interp(smooth, self.brightness, self.level), np.float32)

    def require_channels(self, shape: tuple[int, ...]) -> None:
        """Refuse a picture with another number of channels.

        Parameters
        ----------
        shape : tuple of int
            Shape of the picture, channels last if there are any.
        """
        if self.n_channels > 1 and shape[-1] != self.n_channels:
            raise ValueError(
                f"the noise has {self.n_channels} channels, got a picture of shape {shape}: estimate the noise of a "
                "picture with as many channels"
            )
