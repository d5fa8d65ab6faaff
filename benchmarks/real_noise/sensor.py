"""A camera: an RGB image becomes the frame of a sensor with a Bayer filter, and is developed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve

from benchmarks.real_noise.simulate import GAMMA
from epitomes import Noise

Floats = NDArray[np.float64]

# Malvar, He, Cutler: "High-quality linear interpolation for demosaicing of Bayer-patterned color images", 2004.
# Green where red or blue is seen; a colour at green whose row sees it; red at blue, and the reverse.
GREEN = np.array([[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0], [0, 0, -1, 0, 0]]) / 8
ALONG = np.array([[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0], [0, 0, 0.5, 0, 0]]) / 8
ACROSS = np.array([[0, 0, -3, 0, 0], [0, 4, 0, 4, 0], [-3, 0, 12, 0, -3], [0, 4, 0, 4, 0], [0, 0, -3, 0, 0]]) / 16


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A sensor with the Bayer pattern RGGB."""

    photons: float  # of white, where the filter is green
    read_noise: float = 3.0  # photons
    gain: float = 4.0  # values per photon
    black: float = 512.0
    filters: tuple[float, float, float] = (0.5, 1.0, 0.65)  # share of the photons that red, green and blue let pass

    @property
    def noise(self) -> Noise:
        """The noise of its frames."""
        return Noise.poisson_gaussian(self.gain, self.black, self.gain * self.read_noise)

    def clean(self, image: NDArray[np.floating]) -> Floats:
        """Return the mean frame of an RGB image of 0 to 255."""
        light = self.photons * (np.asarray(image, np.float64) / 255) ** GAMMA * self.filters
        return self.black + self.gain * np.where(_seen(light.shape), light, 0).sum(axis=-1)

    def frame(self, image: NDArray[np.floating], seed: int) -> NDArray[np.uint16]:
        """Return a frame: counted photons, read noise, whole numbers."""
        rng = np.random.default_rng(seed)
        mean = (self.clean(image) - self.black) / self.gain
        counts = rng.poisson(mean) + self.read_noise * rng.standard_normal(mean.shape)
        return np.clip(np.rint(self.black + self.gain * counts), 0, 65535).astype(np.uint16)

    def linear(self, frame: NDArray[np.generic]) -> Floats:
        """Balance the colours of a frame and demosaick it; white is 1."""
        values = (np.asarray(frame, np.float64) - self.black) / (self.gain * self.photons)
        return demosaicked(values / np.where(_seen((*frame.shape, 3)), self.filters, 0).sum(axis=-1))

    def developed(self, linear: Floats) -> Floats:
        """Apply the gamma of displays; white is 255."""
        return np.asarray(255 * np.clip(linear, 0, 1) ** (1 / GAMMA))


def demosaicked(frame: Floats) -> Floats:
    """Interpolate the colours of a frame RGGB by the linear filters of Malvar, He and Cutler."""
    red, green, blue = np.moveaxis(_seen((*frame.shape, 3)), -1, 0)
    beside = np.arange(frame.shape[0])[:, None] % 2 == 0  # green pixels of these rows see red beside them
    diagonal = convolve(frame, ACROSS, mode="mirror")
    row, column = convolve(frame, ALONG, mode="mirror"), convolve(frame, ALONG.T, mode="mirror")
    return np.stack(
        [
            np.where(red, frame, np.where(blue, diagonal, np.where(beside, row, column))),
            np.where(green, frame, convolve(frame, GREEN, mode="mirror")),
            np.where(blue, frame, np.where(red, diagonal, np.where(beside, column, row))),
        ],
        axis=-1,
    )


def _seen(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which colour every pixel sees."""
    odd = np.indices(shape[:2]).sum(axis=0) % 2 == 1
    below = np.broadcast_to(np.arange(shape[0])[:, None] % 2 == 1, shape[:2])
    return np.stack([~odd & ~below, odd, ~odd & below], axis=-1)
