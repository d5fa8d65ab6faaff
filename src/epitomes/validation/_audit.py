"""audit: judge a denoised image by its residual, which should be the noise and nothing else.

The limits were chosen on photographs of the Berkeley set, grey, 256 x 256, with noise of 5 to 50 grey levels of 255;
`python -m benchmarks audit` judges them on others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epitomes.checks import Array, as_floats
from epitomes.noise.model import Noise
from epitomes.noise.planes import MAX_PLANES, evenly_spaced
from epitomes.validation.planes import Floats, as_noise, doubles, levels, pixels_in, plane_layout, unclipped
from epitomes.validation.residual import EDGE_SHARE, LEAK_WIDTH, Measures, measure

MAX_LEAK = 0.003  # share of the pixels, besides one window by chance
MAX_EDGES = 1.1  # over sigma^2, like the next; chance in an image of this size is added to these limits
MAX_VARIANCE = 1.03
MIN_TAKEN = 0.9  # over what a linear filter would remove


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What the residual ``noisy - restored`` shows, in units of the noise, and a verdict.

    Parameters
    ----------
    verdict : {"pass", "warn"}
        Whether the residual looks like the noise.
    reasons : tuple of str
        Reasons for a warning; empty if there is none.
    advice : tuple of str
        What to try.
    variance : float
        Variance of the residual: near 1, and less where texture is as strong as noise.
    taken : float
        The same over what a linear filter would remove from this image. Below 1 if noise was left.
    taken_fine : float
        The same for the finest diagonal detail.
    edges : float
        Variance of the residual on the steepest tenth of the restored image. Above 1 if edges were smoothed.
    autocorrelation : tuple of float
        Autocorrelation of the residual at lags 1 to 4, mean over rows and columns; 0 for white noise.
    spectrum : tuple of float
        Mean power between 0, 0.06, 0.12, 0.25, 0.5 and 0.75 cycles per pixel; 1 for white noise.
    image_correlation : float
        Correlation of the residual with the detail of the restored image.
    gradient_correlation : float
        Correlation of the squared residual with the gradient of the restored image.
    leak : float
        Share of the pixels that have structure around them.
    clipped : float
        Share of the pixels that were left out because their noise was clipped.
    leak_map : ndarray
        How alike neighbours in the residual are, ``(H, W)``: a standard normal variable for white noise. For volumes
        and stacks, ``(n, H, W)`` for the judged planes.
    planes : tuple of int
        Which planes of a volume or stack were judged, counted over all axes before the planes; empty for an image.

    See Also
    --------
    audit : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.validation import audit
    >>> noisy = np.random.default_rng(0).standard_normal((64, 64))
    >>> audit(noisy, np.zeros((64, 64)), 1.0).verdict
    'pass'
    """

    verdict: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    variance: float
    taken: float
    taken_fine: float
    edges: float
    autocorrelation: tuple[float, ...]
    spectrum: tuple[float, ...]
    image_correlation: float
    gradient_correlation: float
    leak: float
    clipped: float
    leak_map: Floats
    planes: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values for JSON, without the map.

        Returns
        -------
        dict
            Strings, numbers and lists.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del fields["leak_map"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    def __str__(self) -> str:
        return self.verdict + "".join(f"\n- {reason}" for reason in self.reasons + self.advice)


def audit(
    noisy: ArrayLike,
    restored: ArrayLike,
    noise: Noise | ArrayLike,
    *,
    channel_axis: int | None = None,
    spatial: int | None = None,
) -> Audit:
    """Judge a denoised image by what was removed from the noisy one, without the clean image.

    Parameters
    ----------
    noisy : array_like
        The noisy image, volume or stack. Planes need at least 16 pixels along both axes.
    restored : array_like
        The denoised image, of the same shape, by any method.
    noise : Noise or array_like
        Noise model, or standard deviation of white Gaussian noise: a number, or an array that broadcasts to the image.
    channel_axis : int, optional
        Axis of the channels. If None, no axis holds channels.
    spatial : int, optional
        Number of spatial axes: 2 for images, 3 for volumes. If None, all axes but that of the channels.

    Returns
    -------
    Audit
        The verdict is "warn" if the residual shows structure (oversmoothed), if noise is missing from it
        (undersmoothed), or if the noise level cannot be right. Up to 32 evenly spaced planes of volumes and stacks are
        judged, and their measures averaged.

    Raises
    ------
    ValueError
        If the shapes differ, planes are too small, or the noise level is not positive everywhere.

    See Also
    --------
    sure : Estimate the PSNR, which needs the denoiser.
    error_map : Estimate the error of every pixel.

    Notes
    -----
    Poisson-Gaussian noise has the level that belongs to the restored image. If the noise has a spectrum, both images
    are whitened first.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> from epitomes.validation import audit
    >>> y, x = np.mgrid[0:128, 0:128] / 4
    >>> noisy = 100 + 50 * np.sin(x + y) + 10 * np.random.default_rng(0).standard_normal((128, 128))
    >>> print(audit(noisy, gaussian_filter(noisy, 4.0), 10.0))
    warn
    - The residual shows structure of the image at 100.0% of the pixels.
    - At edges the residual has 2.02 times the variance of the noise.
    - The residual has 5.82 times the variance of the noise.
    - Oversmoothed: use a smaller noise level or another method, or check that the noise level is not too low.
    """
    image, clean = as_floats("noisy", noisy), as_floats("restored", restored)
    if clean.shape != image.shape:
        raise ValueError(f"restored needs the shape of noisy, {image.shape}, got {clean.shape}")
    layout = plane_layout(image.shape, channel_axis, spatial)
    model = as_noise(noise)
    places = list(layout.places())
    chosen = evenly_spaced(len(places), MAX_PLANES)
    before, after = layout.canonical(image), layout.canonical(clean)
    found = [_measured(before[place], after[place], model.at(place, layout)) for place in (places[at] for at in chosen)]
    numbers = _averaged(found)
    n_pixels = sum(each.n_pixels for each in found)
    reasons, advice = _judged(numbers, n_pixels, layout.n_channels or 1)
    stacked = bool(layout.stack_shape)
    return Audit(
        verdict="warn" if reasons else "pass",
        reasons=reasons,
        advice=advice,
        **numbers,
        leak_map=np.stack([each.leak_map for each in found]) if stacked else found[0].leak_map,
        planes=tuple(chosen) if stacked else (),
    )


def _measured(noisy: Array, restored: Array, noise: Noise) -> Measures:
    """Measure one plane, with or without channels."""
    given, clean = doubles("noisy", noisy), doubles("restored", restored)
    spread = levels(dataclasses.replace(noise, spectrum=None), clean)
    trusted = unclipped(given, clean, spread)
    if not noise.is_white:
        given, clean = (noise.stabilise(pixels, spatial=2).image for pixels in (given, clean))
        spread = np.broadcast_to(noise.level, given.shape)
    given, clean = given / spread, clean / spread
    if given.ndim == 2:
        given, clean, trusted = given[..., None], clean[..., None], trusted[..., None]
    return measure(given, clean, trusted)


def _averaged(found: Sequence[Measures]) -> dict[str, Any]:
    """The measures, averaged over planes."""
    numbers: dict[str, Any] = {}
    for field in dataclasses.fields(Measures):
        if field.name not in ("leak_map", "n_pixels"):
            mean = np.mean([getattr(each, field.name) for each in found], axis=0)
            numbers[field.name] = float(mean) if mean.ndim == 0 else tuple(map(float, mean))
    return numbers


def _judged(found: dict[str, Any], n_pixels: int, n_channels: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons for a warning, and advice; both empty for a pass."""
    over, under = [], []
    chance = 3 * math.sqrt(2 / (n_pixels * n_channels))  # three standard deviations of the variance of white noise
    if found["leak"] > MAX_LEAK + pixels_in(LEAK_WIDTH) / 2 / n_pixels:
        over.append(f"The residual shows structure of the image at {found['leak']:.1%} of the pixels.")
    if found["edges"] > MAX_EDGES + chance / math.sqrt(EDGE_SHARE):
        over.append(f"At edges the residual has {found['edges']:.2f} times the variance of the noise.")
    if found["variance"] > MAX_VARIANCE + chance:
        over.append(f"The residual has {found['variance']:.2f} times the variance of the noise.")
    if found["taken"] < MIN_TAKEN - chance:
        under.append(f"Noise was left: {1 - found['taken']:.0%} less was removed than a linear filter would remove.")
    elif found["taken_fine"] < MIN_TAKEN - chance:
        less = f"{1 - found['taken_fine']:.0%} less was removed than a linear filter would remove"
        under.append(f"Fine noise was left: {less}.")
    advice = []
    if over:
        advice.append(
            "Oversmoothed: use a smaller noise level or another method, or check that the noise level is not too low."
        )
    if under:
        advice.append("Undersmoothed: use a larger noise level, or check that the noise level is not too high.")
    return tuple(over + under), tuple(advice)
