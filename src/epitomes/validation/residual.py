"""Measures of the residual `noisy - restored` of one plane, in units of the noise.

Detail that was smoothed away is in the residual, and makes neighbours there alike; noise that was left is missing from
it. Both can be measured without the clean image and without the denoiser.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import fft2, fftfreq

from epitomes.validation.planes import Floats, pixels_in, smooth

LAGS = (1, 2, 3, 4)  # pixels
RINGS = (0.0, 0.06, 0.12, 0.25, 0.5, 0.75)  # cycles per pixel
LEAK_WIDTH = 4.0  # of the windows of the leak map, in pixels
LEAK_SCORE = 4.0  # standard deviations from which a window shows structure: one in 30 000 by chance
TEXTURE_WIDTH = 6.0  # of the windows in which texture is compared with noise
DETAIL_WIDTH = 1.0  # pixels; detail is what is finer
EDGE_WIDTH = 1.5  # of the blur before gradients are taken
EDGE_SHARE = 0.1  # share of the pixels, the steepest, that count as edges


@dataclass(frozen=True, eq=False, kw_only=True)
class Measures:
    """What the residual of a plane shows; the fields are documented in `Audit`."""

    variance: float
    taken: float
    taken_fine: float
    edges: float
    leak: float
    autocorrelation: tuple[float, ...]
    spectrum: tuple[float, ...]
    image_correlation: float
    gradient_correlation: float
    clipped: float
    leak_map: Floats
    n_pixels: int  # that were measured


def measure(noisy: Floats, restored: Floats, trusted: NDArray[np.bool_]) -> Measures:
    """Measure planes `(H, W, C)` in units of the noise, over pixels that are `trusted` in every channel."""
    here = _in_every_channel(trusted)
    residual = noisy - restored
    masked = np.where(here[..., None], residual, 0.0)
    steep, leak_map = _steepness(restored), _leaks(masked)
    variance = float(np.mean(residual[here] ** 2))
    inner = here[1:, 1:]
    return Measures(
        variance=variance,
        taken=variance / _wiener_share(_detail(noisy), here),
        taken_fine=float(np.mean(_diagonal(residual)[inner] ** 2)) / _wiener_share(_diagonal(noisy), inner),
        edges=float(np.mean(residual[here & (steep >= np.quantile(steep[here], 1 - EDGE_SHARE))] ** 2)),
        leak=float(np.mean(leak_map[here] > LEAK_SCORE)),
        autocorrelation=tuple(_autocorrelation(masked, lag) for lag in LAGS),
        spectrum=tuple(power / float(here.mean()) for power in _spectrum(masked)),
        image_correlation=_correlation(residual[here], (restored - smooth(restored, EDGE_WIDTH))[here]),
        gradient_correlation=_correlation(np.mean(residual[here] ** 2, axis=-1), steep[here]),
        clipped=1 - float(here.mean()),
        leak_map=leak_map,
        n_pixels=int(here.sum()),
    )


def _in_every_channel(trusted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(H, W): pixels that can be judged in every channel; all of them if there are none."""
    here = np.asarray(trusted.all(axis=-1))
    return here if here[1:, 1:].any() else np.ones_like(here)


def _wiener_share(detail: Floats, here: NDArray[np.bool_]) -> float:
    """The share of the noise that Wiener's filter removes: `1 / v` where detail and noise have v times its variance."""
    return float(np.mean(1 / np.maximum(smooth(detail**2, TEXTURE_WIDTH), 1.0)[here]))


def _detail(plane: Floats) -> Floats:
    """What a Gaussian mean removes, scaled such that white noise of variance 1 has variance 1."""
    gain = 1 - 3 / pixels_in(DETAIL_WIDTH)  # 1 - 2 g(0) + sum g^2, with the weights g of the mean
    out: Floats = (plane - smooth(plane, DETAIL_WIDTH)) / math.sqrt(gain)
    return out


def _diagonal(plane: Floats) -> Floats:
    """The finest diagonal detail, which images use least; white noise of variance 1 has variance 1."""
    rows = plane[1:] - plane[:-1]
    out: Floats = (rows[:, 1:] - rows[:, :-1]) / 2
    return out


def _steepness(plane: Floats) -> Floats:
    """(H, W): the length of the gradient of a slightly blurred plane, over all channels."""
    soft = smooth(plane, EDGE_WIDTH)
    out: Floats = np.sqrt(sum(np.sum(slope**2, axis=-1) for slope in np.gradient(soft, axis=(0, 1))))
    return out


def _leaks(residual: Floats) -> Floats:
    """(H, W): the local mean of products of neighbours, in standard deviations of the same for white noise."""
    products = np.zeros(residual.shape[:2])
    products[:, :-1] += np.sum(residual[:, :-1] * residual[:, 1:], axis=-1)
    products[:-1] += np.sum(residual[:-1] * residual[1:], axis=-1)
    deviation = math.sqrt(2 * residual.shape[2] / pixels_in(LEAK_WIDTH))
    return smooth(products, LEAK_WIDTH) / deviation


def _autocorrelation(residual: Floats, lag: int) -> float:
    energy = max(float(np.mean(residual**2)), np.finfo(float).tiny)
    down = float(np.mean(residual[lag:] * residual[:-lag]))
    across = float(np.mean(residual[:, lag:] * residual[:, :-lag]))
    return (down + across) / 2 / energy


def _spectrum(residual: Floats) -> tuple[float, ...]:
    power = np.mean(np.abs(fft2(residual, axes=(0, 1))) ** 2, axis=-1) / (residual.shape[0] * residual.shape[1])
    radius = np.hypot(*np.meshgrid(*(fftfreq(side) for side in residual.shape[:2]), indexing="ij"))
    ring = np.digitize(radius, RINGS) - 1
    return tuple(float(power[ring == each].mean()) for each in range(len(RINGS) - 1))


def _correlation(first: Floats, second: Floats) -> float:
    """Between -1 and 1; 0 where one of them is constant."""
    one, other = first - first.mean(), second - second.mean()
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.vdot(one, other)) / lengths if lengths > 0 else 0.0
