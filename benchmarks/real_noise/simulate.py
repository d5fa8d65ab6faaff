"""Noise as real images have it. Functions of a clean image of 0 to 255 and a seed, which alone decides the noise.

Results are float32, neither rounded nor clipped. What cameras and JPEG files hold is uint8.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve, gaussian_filter

from benchmarks.pictures import add_noise

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
GAMMA = 2.2
# Bilinear interpolation from the pixels that a colour filter has: green in a chessboard, red and blue in a lattice.
CROSS = np.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
SQUARE = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4


def eight_bit(pixels: NDArray[np.floating]) -> Bytes:
    """Round and clip, as files of 8 bits do."""
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def blurred(pixels: Floats, *, rms: float, width: float, seed: int) -> Floats:
    """Add white noise that was blurred by a Gaussian of this standard deviation, and then scaled to this rms."""
    noise = np.random.default_rng(seed).standard_normal(pixels.shape)
    noise = gaussian_filter(noise, width, mode="wrap", axes=(0, 1))
    return (pixels + noise * (rms / np.sqrt(np.mean(noise**2)))).astype(np.float32)


def compressed(pixels: Floats, *, sigma: float, quality: int, seed: int) -> Bytes:
    """Add white noise, then save as JPEG and read again."""
    return jpeg(eight_bit(add_noise(pixels, sigma, seed)), quality)


def jpeg(pixels: Bytes, quality: int) -> Bytes:
    """Save as JPEG and read again."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    with Image.open(file, formats=["JPEG"]) as image:
        return np.asarray(image)


def bayer(pixels: Floats, *, sigma: float, seed: int) -> Bytes:
    """Add white noise to what a sensor with a Bayer filter sees of an RGB image, then demosaick it."""
    return eight_bit(demosaicked(add_noise(pixels, sigma, seed)))  # noise of colours that are not seen has no effect


def demosaicked(pixels: Floats) -> Floats:
    """Keep one colour of each pixel in the order RGGB, and interpolate the others bilinearly."""
    rows, columns = np.indices(pixels.shape[:2]) % 2
    seen = (rows + columns == 0, rows + columns == 1, rows + columns == 2)
    planes = [
        convolve(pixels[..., colour] * seen[colour], CROSS if colour == 1 else SQUARE, mode="mirror")
        for colour in range(3)
    ]
    return np.stack(planes, axis=-1).astype(np.float32)


def camera(pixels: Floats, *, peak: float, read_noise: float, seed: int) -> Bytes:
    """Count light, add read noise, both in photons of which white has `peak`, and apply the gamma of displays."""
    photons = peak * (np.asarray(pixels, np.float64) / 255) ** GAMMA
    counts = _counts(photons, read_noise, seed)
    return eight_bit(255 * np.maximum(counts / peak, 0) ** (1 / GAMMA))


def counted(pixels: Floats, *, peak: float, seed: int, sigma: float = 0.0) -> Floats:
    """Count light, of which white has `peak` photons, and scale to 255; then add white noise."""
    scale = 255 / peak
    return (scale * _counts(np.asarray(pixels, np.float64) / scale, sigma / scale, seed)).astype(np.float32)


def _counts(photons: NDArray[np.float64], read_noise: float, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return rng.poisson(photons) + read_noise * rng.standard_normal(photons.shape)


def resized(pixels: Floats, factor: float) -> Floats:
    """Resize by bicubic interpolation, with antialiasing where the image becomes smaller."""
    from PIL import Image

    size = tuple(round(factor * side) for side in pixels.shape[1::-1])  # width, height
    planes = pixels[..., None] if pixels.ndim == 2 else pixels
    done = [
        np.asarray(Image.fromarray(np.ascontiguousarray(plane, np.float32)).resize(size, Image.Resampling.BICUBIC))
        for plane in np.moveaxis(planes, -1, 0)
    ]
    return done[0] if pixels.ndim == 2 else np.stack(done, axis=-1)


def resized_noise(pixels: Floats, *, sigma: float, factor: float, seed: int) -> Floats:
    """Add white noise, then resize."""
    return resized(add_noise(pixels, sigma, seed), factor)


def striped(pixels: Floats, *, sigma: float, offsets: float, axis: int, seed: int) -> Floats:
    """Add white noise, and an offset of this standard deviation to every row (axis 0) or column (axis 1)."""
    shape = [1] * pixels.ndim
    shape[axis] = pixels.shape[axis]
    stripes = np.random.default_rng((seed, axis)).standard_normal(shape)
    return (add_noise(pixels, sigma, seed) + offsets * stripes).astype(np.float32)


def salt_and_pepper(pixels: Floats, *, sigma: float, share: float, seed: int) -> Floats:
    """Add white noise, then set this share of the pixels to 0 or 255."""
    rng = np.random.default_rng((seed, 1))  # not the numbers of the white noise
    hit = rng.random(pixels.shape[:2]) < share
    noisy = add_noise(pixels, sigma, seed)
    noisy[hit] = 255 * rng.integers(0, 2, noisy[hit].shape[:1]).reshape(-1, *[1] * (pixels.ndim - 2))
    return noisy
