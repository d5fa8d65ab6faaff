"""What is measured, and how: noise, PSNR, the objective of Eq. 3, how fine a picture is, how alike two pictures are.

Nothing here knows a method: it judges pictures and epitomes from outside.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.patches import Patches

Floats = NDArray[np.float64]
WINDOW = 12  # pixels, the largest patch of figure 6


def add_noise(clean: Array, sigma: float, seed: int) -> NDArray[np.float32]:
    """White Gaussian noise, neither rounded nor clipped. The seed alone decides it, not what ran before."""
    noise = np.random.default_rng(seed).standard_normal(clean.shape)
    return (clean + sigma * noise).astype(np.float32)


def psnr(clean: ArrayLike, image: ArrayLike) -> float:
    """Peak signal-to-noise ratio in dB over the whole picture, for a peak of 255; the estimate is not clipped."""
    error = np.asarray(clean, np.float64) - np.asarray(image, np.float64)
    return float(10 * np.log10(255.0**2 / np.mean(error**2)))


def objective(image: Array, epitome: Epitome, lam: float, *, stride: int = 3, threads: int | None = None) -> float:
    """Eq. 3 of the paper, mean over the patches of a grid: `1/2|x - a D|^2 + lam sum_j |d_j||a_j|` at the best codes.

    All epitomes of a figure are judged on the same patches, whatever they were learned from.
    """
    patches = Patches(image, epitome.phi.patch_shape, stride)
    dictionary = epitome.dictionary
    codes = Lasso(lam=lam).encode(patches, dictionary, threads=threads).astype(np.float64)
    rows = patches.rows(0, len(patches))[0].astype(np.float64)
    atoms = dictionary.atoms.astype(np.float64)
    fit = 0.5 * float(np.sum((rows - codes @ atoms) ** 2))
    price = lam * float((abs(codes) @ np.linalg.norm(atoms, axis=1)).sum())
    return (fit + price) / len(patches)


def fineness(pixels: ArrayLike, *, window: int = WINDOW) -> float:
    """Mean spatial frequency of the last two axes, in cycles per pixel: fine structures have high ones.

    Taken in windows of one size, each without its mean and faded out by a Hann window, weighted by energy within a
    window and equally over windows: contrast is free in Eq. 3, where atoms count as if they had norm one.
    """
    pictures = np.asarray(pixels, np.float64)
    height, width = (min(window, side) for side in pictures.shape[-2:])
    views = sliding_window_view(pictures, (height, width), axis=(-2, -1)).reshape(-1, height, width)
    centred = views - views.mean(axis=(1, 2), keepdims=True)
    fade = np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])
    energy = np.abs(np.fft.fft2(centred * fade)) ** 2
    energy[:, 0, 0] = 0.0  # what the fading lets through of the mean is no structure
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    total = energy.sum(axis=(1, 2))
    flat = total <= 1e-12 * total.max()  # windows without structure have no frequency
    return float(np.mean((energy * frequency).sum(axis=(1, 2))[~flat] / total[~flat]))


def likeness(first: ArrayLike, second: ArrayLike) -> float:
    """The largest correlation, in size, of two pictures over all cyclic shifts: 1 for the same picture, moved."""
    one, other = _centred(first), _centred(second)
    across = np.fft.ifft2(np.fft.fft2(one) * np.conj(np.fft.fft2(other))).real
    return float(np.abs(across).max() / (np.linalg.norm(one) * np.linalg.norm(other)))


def _centred(pixels: ArrayLike) -> Floats:
    values = np.asarray(pixels, np.float64)
    return np.asarray(values - values.mean())
