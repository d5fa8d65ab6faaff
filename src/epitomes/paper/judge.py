"""Measurements for the tables and figures: added noise, the objective of Eq. 3, spatial frequency and similarity.

Nothing here depends on the method that made an image or epitome.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from epitomes.checks import Array
from epitomes.coders import Lasso
from epitomes.epitome import Epitome
from epitomes.patches import Patches
from epitomes.validation import psnr as psnr

Floats = NDArray[np.float64]
WINDOW = 12  # pixels: the largest patch of figure 6


def add_noise(clean: Array, sigma: float, seed: int) -> NDArray[np.float32]:
    """Add white Gaussian noise, neither rounded nor clipped. It depends on the seed alone."""
    noise = np.random.default_rng(seed).standard_normal(clean.shape)
    return (clean + sigma * noise).astype(np.float32)


def objective(image: Array, epitome: Epitome, lam: float, *, stride: int = 3, threads: int | None = None) -> float:
    """Compute Eq. 3 of the paper, mean over the patches of a grid: `1/2|x - a D|^2 + lam sum_j |d_j||a_j|`.

    Codes a minimise it. All epitomes of a figure are measured on the same patches, whatever they were learned from.
    """
    patches = Patches(image, epitome.phi.patch_shape, stride)
    dictionary = epitome.dictionary
    codes = Lasso(lam=lam).encode(patches, dictionary, threads=threads).astype(np.float64)
    rows = patches.rows(0, len(patches))[0].astype(np.float64)
    atoms = dictionary.atoms.astype(np.float64)
    fit = 0.5 * float(np.sum((rows - codes @ atoms) ** 2))
    penalty = lam * float((abs(codes) @ np.linalg.norm(atoms, axis=1)).sum())
    return (fit + penalty) / len(patches)


def fineness(pixels: ArrayLike, *, window: int = WINDOW) -> float:
    """Compute the mean spatial frequency along the last two axes, in cycles per pixel.

    It is the mean over windows of one size, each without its mean and tapered by a Hann window. Frequencies are
    weighted by energy within a window, windows equally: contrast does not matter, as in Eq. 3, where atoms count as if
    they had norm 1.
    """
    pictures = np.asarray(pixels, np.float64)
    height, width = (min(window, side) for side in pictures.shape[-2:])
    views = sliding_window_view(pictures, (height, width), axis=(-2, -1)).reshape(-1, height, width)
    centred = views - views.mean(axis=(1, 2), keepdims=True)
    taper = np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])
    energy = np.abs(np.fft.fft2(centred * taper)) ** 2
    energy[:, 0, 0] = 0.0  # the taper brings a mean back
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    total = energy.sum(axis=(1, 2))
    flat = total <= 1e-12 * total.max()  # constant windows have no frequency
    return float(np.mean((energy * frequency).sum(axis=(1, 2))[~flat] / total[~flat]))


def likeness(first: ArrayLike, second: ArrayLike) -> float:
    """Compute the largest absolute correlation over all cyclic shifts: 1 for images that are equal up to a shift."""
    one, other = _centred(first), _centred(second)
    across = np.fft.ifft2(np.fft.fft2(one) * np.conj(np.fft.fft2(other))).real
    return float(np.abs(across).max() / (np.linalg.norm(one) * np.linalg.norm(other)))


def _centred(pixels: ArrayLike) -> Floats:
    values = np.asarray(pixels, np.float64)
    return np.asarray(values - values.mean())
