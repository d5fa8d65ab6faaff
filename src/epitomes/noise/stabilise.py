"""Stabilisation: any noise becomes white and Gaussian with a known level, so that any denoiser for it can be used.

Noise of varying level is divided by its level, Poisson-Gaussian noise goes through the Anscombe transform, Rician noise
through one of its own, and correlated noise is whitened. The picture is transformed along with the noise. A slowly
varying map does no harm; a sharp edge in a map becomes an edge in the picture, which the way back removes, with some
loss beside it. Where the noise is weak at some frequencies, whitening makes the picture strong there and less natural.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import as_floats
from epitomes.noise import _rician
from epitomes.noise._anscombe import forward, inverse
from epitomes.noise.parameters import for_image, root_mean_square
from epitomes.noise.planes import Floats
from epitomes.noise.spectrum import filtered, whitening_filter

if TYPE_CHECKING:
    from epitomes.noise.block_spectrum import BlockSpectrum
    from epitomes.noise.model import Noise


@dataclass(frozen=True, eq=False)
class Stabilised:
    """A picture whose noise is white and Gaussian, or correlated as `blocks` say, and the way back.

    Parameters
    ----------
    image : ndarray
        The picture after the transform. It is float64 for correlated noise, otherwise float32 for float32 and short
        integers, and float64 for the rest. If nothing had to be done, it is the picture itself.
    sigma : float
        Standard deviation of the noise in `image`.
    inverse : callable, optional
        The way back for float64 arrays; None if nothing was done.
    dtype : dtype, optional
        Type of the pixels that `back` returns; None if nothing was done.
    blocks : BlockSpectrum, optional
        Shape of the noise if it was left as it is, correlated; None if it is white.

    See Also
    --------
    Noise.stabilise : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.noise import Noise
    >>> levels = np.linspace(1, 9, 64)[:, None] * np.ones(64)
    >>> noisy = levels * np.random.default_rng(0).standard_normal((64, 64))
    >>> even = Noise.map(levels).stabilise(noisy)
    >>> bool(np.allclose(even.back(even.image), noisy))
    True
    """

    image: NDArray[Any]
    sigma: float
    inverse: Callable[[Floats], Floats] | None = None
    dtype: np.dtype[Any] | None = None
    blocks: BlockSpectrum | None = None

    def back(self, image: ArrayLike) -> NDArray[Any]:
        """Transform a stabilised picture, for example a denoised one, back to the original units.

        Parameters
        ----------
        image : array_like
            Pixels of the shape of `self.image`.

        Returns
        -------
        ndarray
            The picture in its own units; `image` itself if nothing was done.
        """
        pixels = np.asarray(image)
        if pixels.shape != self.image.shape:
            raise ValueError(f"image needs shape {self.image.shape}, as the stabilised one, got {pixels.shape}")
        if self.inverse is None:
            return pixels
        values = np.asarray(as_floats("image", pixels), np.float64)
        return np.asarray(self.inverse(values), self.dtype)


def stabilise(noise: Noise, picture: ArrayLike, spatial: int | None) -> Stabilised:
    """Stabilise one picture in canonical order; `Noise.stabilise` has the documentation."""
    if noise.level == 0:
        raise ValueError("the noise level is 0: there is nothing to stabilise, so keep the picture as it is")
    if noise.is_constant:
        return Stabilised(np.asarray(picture), noise.level)
    pixels = as_floats("picture", picture)
    if noise.blocks is not None:
        noise.blocks.require_channels(pixels.shape)
        return Stabilised(pixels, noise.level, blocks=noise.blocks)
    gain, offset, sigma = (for_image(name, getattr(noise, name), pixels.shape) for name in ("gain", "offset", "sigma"))
    _require_noise_everywhere(gain, sigma)
    if noise.magnitude:
        transformed = _rician.forward(np.asarray(pixels, np.float64), sigma)
        return Stabilised(transformed.astype(pixels.dtype), 1.0, partial(_rician.inverse, sigma=sigma), pixels.dtype)
    if gain.any():
        transformed = forward(np.asarray(pixels, np.float64), gain, offset, sigma)
        back: Callable[[Floats], Floats] = partial(inverse, gain=gain, offset=offset, sigma=sigma)
        return Stabilised(transformed.astype(pixels.dtype), 1.0, back, pixels.dtype)
    level = root_mean_square(sigma)
    even: NDArray[Any] = np.asarray(pixels * (level / sigma), pixels.dtype)
    factor = sigma / level
    back = partial(_times, factor=factor)
    if noise.spectrum is not None:
        channels = has_channels(noise.spectrum.shape, pixels.shape, spatial)
        response = whitening_filter(noise.spectrum)
        even = _planewise(even, response, channels)
        back = partial(_coloured, response=1 / response, channels=channels, factor=factor)
    return Stabilised(even, level, back, pixels.dtype)


def _require_noise_everywhere(gain: Floats, sigma: Floats) -> None:
    silent = (gain == 0) & (sigma == 0)
    if silent.any():
        where = tuple(int(i) for i in np.unravel_index(int(np.argmax(silent)), silent.shape))
        raise ValueError(f"sigma must be positive where gain is 0, got 0 at index {where}: use a small level instead")


def has_channels(plane: tuple[int, ...], shape: tuple[int, ...], spatial: int | None) -> bool:
    """Whether the last axis of a picture holds channels, when its planes have the shape of a spectrum."""
    n_channels = [n for n in (0, 1) if shape[: len(shape) - n][-2:] == plane and 2 <= len(shape) - n <= 3]
    if spatial is not None:
        n_channels = [n for n in n_channels if len(shape) - n == spatial]
    if not n_channels:
        raise ValueError(f"the spectrum has shape {plane}, and the picture has planes of another shape: {shape}")
    if len(n_channels) == 2:
        raise ValueError(
            f"a picture of shape {shape} can be a volume or have channels: pass spatial, its number of spatial axes"
        )
    return n_channels[0] == 1


def _planewise(pixels: NDArray[Any], response: Floats, channels: bool) -> Floats:
    """Filter every plane of a picture, each channel by itself."""
    if not channels:
        return filtered(pixels, response)
    return np.ascontiguousarray(np.moveaxis(filtered(np.moveaxis(pixels, -1, 0), response), 0, -1))


def _times(values: Floats, factor: Floats) -> Floats:
    return np.asarray(values * factor)


def _coloured(values: Floats, response: Floats, channels: bool, factor: Floats) -> Floats:
    return _planewise(values, response, channels) * factor
