"""audit: what the residual `noisy - restored` says about a result. It should be the noise, and nothing else.

Detail that was smoothed away is in the residual, and neighbours there are alike; noise that was left is missing from
it. Both can be measured without the clean image and without the denoiser. The limits were chosen on photographs of the
Berkeley set, grey, 256 x 256, noise of 5 to 50 grey levels of 255; `python -m benchmarks audit` judges them on others.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fft2, fftfreq

from epitomes.validation.planes import (
    Floats,
    as_plane,
    channels_of,
    doubles,
    levels,
    pixels_in,
    same_shape,
    smooth,
    unclipped,
)

LAGS = (1, 2, 3, 4)  # pixels
RINGS = (0.0, 0.06, 0.12, 0.25, 0.5, 0.75)  # cycles per pixel
LEAK_WIDTH = 4.0  # of the windows of the leak map, in pixels
LEAK_SCORE = 4.0  # standard deviations from which a window shows structure: one in 30 000 by chance
TEXTURE_WIDTH = 6.0  # of the windows in which texture is compared with noise
DETAIL_WIDTH = 1.0  # what is finer is detail
EDGE_WIDTH = 1.5  # of the blur before gradients are taken

MOST_LEAK = 0.003  # share of the pixels, beside one place of the size of a window
MOST_EDGES = 1.1  # over sigma^2, as the next; to these limits comes what chance does in an image of this size
MOST_VARIANCE = 1.03
LEAST_TAKEN = 0.9  # over what a linear filter would take
EDGES = 0.1  # share of the pixels that count as edges


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What is in the residual, in units of sigma, and a verdict."""

    verdict: str  # "pass" or "warn"
    reasons: tuple[str, ...]  # for a warning; empty if there is none
    advice: tuple[str, ...]  # what to try
    variance: float  # mean square of the residual: near 1, less where texture is as strong as noise
    taken: float  # the same over what a linear filter would take from this image; less than 1: noise was left
    taken_fine: float  # the same for the finest diagonal detail
    edges: float  # mean square where the restored image is steepest, a tenth of the pixels; above 1: edges were cut
    autocorrelation: tuple[float, ...]  # at lags 1 to 4, mean over rows and columns; 0 for white noise
    spectrum: tuple[float, ...]  # mean power between 0, 0.06, 0.12, 0.25, 0.5 and 0.75 cycles per pixel; 1 for noise
    image_correlation: float  # with the detail of the restored image
    gradient_correlation: float  # of the squared residual with the steepness of the restored image
    leak: float  # share of the pixels with structure around them
    clipped: float  # share of the pixels left out, near an end of the range where noise was cut off
    leak_map: Floats  # (H, W): how alike neighbours in the residual are; a standard normal variable if it is noise

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the map is left out."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del fields["leak_map"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    def __str__(self) -> str:
        return self.verdict + "".join(f"\n- {reason}" for reason in self.reasons + self.advice)


def audit(noisy: ArrayLike, restored: ArrayLike, sigma: ArrayLike, *, channel_axis: int | None = None) -> Audit:
    """Judge a denoised image by what was taken from the noisy one.

    `sigma` is the standard deviation of the white noise: one number, or a map. A last axis of three or four is taken
    for colour, unless `channel_axis` says where the channels are. The verdict is "warn" when structure is found in the
    residual (oversmoothed), when noise is missing from it (undersmoothed), or when sigma cannot be right.
    """
    image = doubles("noisy", noisy)
    axis = channels_of(image.shape, channel_axis)
    spread = levels(sigma, image.shape)
    result = same_shape("restored", restored, image.shape)
    here = _trusted(as_plane(unclipped(image, result, spread), axis))
    given, clean = as_plane(image / spread, axis), as_plane(result / spread, axis)
    residual = given - clean
    alone = np.where(here[..., None], residual, 0.0)
    steep, leak_map = _steepness(clean), _leaks(alone)
    variance = float(np.mean(residual[here] ** 2))
    measured = _Measured(
        variance=variance,
        taken=variance / _expected(_detail(given), here),
        taken_fine=float(np.mean(_diagonal(residual)[here[1:, 1:]] ** 2)) / _expected(_diagonal(given), here[1:, 1:]),
        edges=float(np.mean(residual[here & (steep >= np.quantile(steep[here], 1 - EDGES))] ** 2)),
        leak=float(np.mean(leak_map[here] > LEAK_SCORE)),
    )
    reasons, advice = _judged(measured, int(here.sum()), residual.shape[2])
    return Audit(
        verdict="warn" if reasons else "pass",
        reasons=reasons,
        advice=advice,
        **dataclasses.asdict(measured),
        autocorrelation=tuple(_autocorrelation(alone, lag) for lag in LAGS),
        spectrum=tuple(power / float(here.mean()) for power in _spectrum(alone)),
        image_correlation=_correlation(residual[here], (clean - smooth(clean, EDGE_WIDTH))[here]),
        gradient_correlation=_correlation(np.mean(residual[here] ** 2, axis=-1), steep[here]),
        leak_map=leak_map,
        clipped=1 - float(here.mean()),
    )


def _trusted(plane: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(H, W): pixels that can be judged in every channel; all of them where there are none."""
    here = np.asarray(plane.all(axis=-1))
    return here if here[1:, 1:].any() else np.ones_like(here)


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """The numbers that the verdict rests on."""

    variance: float
    taken: float
    taken_fine: float
    edges: float
    leak: float


def _judged(found: _Measured, n_pixels: int, channels: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons for a warning, and advice; both empty for a pass."""
    over, under = [], []
    chance = 3 * math.sqrt(2 / (n_pixels * channels))  # three standard deviations of the variance of white noise
    if found.leak > MOST_LEAK + pixels_in(LEAK_WIDTH) / 2 / n_pixels:
        over.append(f"structure of the image is in the residual, at {found.leak:.1%} of the pixels (see leak_map)")
    if found.edges > MOST_EDGES + chance / math.sqrt(EDGES):
        over.append(f"at the edges {found.edges:.2f} times the variance of the noise was taken away")
    if found.variance > MOST_VARIANCE + chance:
        over.append(f"{found.variance:.2f} times the variance of the noise was taken away")
    if found.taken < LEAST_TAKEN - chance:
        under.append(f"noise was left: {1 - found.taken:.0%} less was taken away than a plain filter would take")
    elif found.taken_fine < LEAST_TAKEN - chance:
        under.append(f"fine noise was left: {1 - found.taken_fine:.0%} less than a plain filter would take")
    advice = []
    if over:
        advice.append(
            "oversmoothed: denoise with a smaller sigma or another method, or check that sigma is not too low"
        )
    if under:
        advice.append("undersmoothed: denoise with a larger sigma, or check that sigma is not too high")
    return tuple(over + under), tuple(advice)


def _expected(detail: Floats, here: NDArray[np.bool_]) -> float:
    """The share of the noise that Wiener's filter takes: `1 / v` where detail and noise have v times its variance."""
    return float(np.mean(1 / np.maximum(smooth(detail**2, TEXTURE_WIDTH), 1.0)[here]))


def _detail(plane: Floats) -> Floats:
    """What a Gaussian mean takes away, scaled such that white noise of variance 1 has variance 1."""
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
