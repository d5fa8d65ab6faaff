"""audit: judge a denoised image by its residual, which should be the noise and nothing else, and the noise model.

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

from epitomes.checks import as_floats
from epitomes.noise.model import Noise
from epitomes.validation._flicker import Flicker, flicker
from epitomes.validation.contradictions import contradictions, unremoved
from epitomes.validation.evened import judged_planes
from epitomes.validation.planes import Floats, as_noise, pixels_in, plane_layout
from epitomes.validation.residual import EDGE_SHARE, LEAK_WIDTH, Measures, measure

MIN_TAKEN = 0.9  # over what a linear filter would remove
MODEL_KINDS = ("impulses", "correlated", "brightness", "regions", "low", "high", "unremoved")  # of reasons
NOTHING = "No noise was found: the image was returned as it was."
OVERSMOOTHED = (
    "Oversmoothed: use a smaller noise level or another method, or check that the noise level is not too low."
)
UNDERSMOOTHED = "Undersmoothed: use a larger noise level, or check that the noise level is not too high."


@dataclass(frozen=True)
class Limits:
    """What a good residual has at most; chance in an image of this size is added."""

    leak: float  # share of the pixels, besides one window by chance
    edges: float  # over the variance of the noise, like the next
    variance: float


WHITE = Limits(leak=0.003, edges=1.1, variance=1.03)
BLOCKS = Limits(leak=0.3, edges=1.6, variance=2.2)  # whitening makes lost detail stronger where noise is weak


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What the residual ``noisy - restored`` shows, in units of the noise, and a verdict.

    Parameters
    ----------
    verdict : {"pass", "warn"}
        Whether the image agrees with the noise model, and the residual looks like the noise.
    reasons : tuple of str
        Reasons for a warning; empty if there is none.
    reason_kinds : tuple of str
        One word for each of `reasons`, for programs. The noise model is wrong: "impulses", "correlated", "brightness"
        (the level differs with it), "regions" (between them), "low" or "high" (the level is too low or too high).
        Nothing was removed from noise: "unremoved". Otherwise "structure", "edges", "variance" (oversmoothed), "left"
        or "left fine" (undersmoothed).
    advice : tuple of str
        What to try: one sentence for each reason against the noise model, otherwise one for oversmoothed and one for
        undersmoothed results.
    unchanged : bool
        Whether the restored image is the noisy one.
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
    flicker : Flicker or None
        Change from plane to plane in still areas of a volume or clip; None for images, and where nothing is still.

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
    reason_kinds: tuple[str, ...]
    advice: tuple[str, ...]
    unchanged: bool
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
    flicker: Flicker | None = None

    @property
    def model_fits(self) -> bool:
        """Whether nothing speaks against the noise model; otherwise errors cannot be estimated with it."""
        return not set(self.reason_kinds).intersection(MODEL_KINDS)

    @property
    def headline(self) -> str:
        """The verdict in one line, which says so if the image was returned as it was."""
        return f"{self.verdict}: {NOTHING}" if self.unchanged else self.verdict

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values for JSON, without the map.

        Returns
        -------
        dict
            Strings, numbers and lists.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del fields["leak_map"]
        fields["flicker"] = None if self.flicker is None else self.flicker.as_dict()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

    def __str__(self) -> str:
        changes = () if self.flicker is None else (f"{str(self.flicker).capitalize()}.",)
        return self.headline + "".join(f"\n- {line}" for line in self.reasons + self.advice + changes)


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
        The verdict is "warn" if the noisy image contradicts the noise model, or else if the residual shows structure
        (oversmoothed) or noise is missing from it (undersmoothed). An image that was returned as it was passes unless
        noise can be seen in it. Up to 32 evenly spaced planes of volumes and stacks are judged, and their measures
        averaged.

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
    Poisson-Gaussian noise has the level that belongs to the restored image. If the noise is correlated, both images
    are whitened first.

    The model is contradicted by the level of the finest detail in the quietest tiles of the noisy image, which is
    measured without it: the level is another one, or differs with brightness or between regions. It is also
    contradicted by stronger noise at half the size of the image, and by impulses. Measures of the residual, which
    depend on the model, are then no reasons of their own.

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
    model, unchanged = as_noise(noise), bool(np.array_equal(image, clean))
    if unchanged and model.level == 0:
        model = Noise.gaussian(float(np.ptp(image)) or 1.0)  # the residual is 0 in any unit
    planes, chosen = judged_planes(image, clean, model, layout)
    found = [measure(each.noisy, each.restored, each.trusted) for each in planes]
    numbers = _averaged(found)
    against = unremoved(planes) if unchanged else contradictions(planes, model)
    if against or unchanged:
        reasons = {each.kind: each.reason for each in against}
        advice = tuple(each.advice for each in against)
    else:
        limits = WHITE if model.blocks is None else BLOCKS
        reasons, advice = _judged(numbers, limits, sum(each.n_pixels for each in found), layout.n_channels or 1)
    stacked = bool(layout.stack_shape)
    return Audit(
        verdict="warn" if reasons else "pass",
        reasons=tuple(reasons.values()),
        reason_kinds=tuple(reasons),
        advice=advice,
        unchanged=unchanged,
        **numbers,
        leak_map=np.stack([each.leak_map for each in found]) if stacked else found[0].leak_map,
        planes=tuple(chosen) if stacked else (),
        flicker=None if unchanged else flicker(image, clean, model, channel_axis=channel_axis, spatial=spatial),
    )


def _averaged(found: Sequence[Measures]) -> dict[str, Any]:
    """The measures, averaged over planes."""
    numbers: dict[str, Any] = {}
    for field in dataclasses.fields(Measures):
        if field.name not in ("leak_map", "n_pixels"):
            mean = np.mean([getattr(each, field.name) for each in found], axis=0)
            numbers[field.name] = float(mean) if mean.ndim == 0 else tuple(map(float, mean))
    return numbers


def _judged(
    found: dict[str, Any], limits: Limits, n_pixels: int, n_channels: int
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Reasons for a warning, by their kind, and advice; both empty for a pass."""
    over, under = {}, {}
    chance = 3 * math.sqrt(2 / (n_pixels * n_channels))  # three standard deviations of the variance of white noise
    if found["leak"] > limits.leak + pixels_in(LEAK_WIDTH) / 2 / n_pixels:
        over["structure"] = f"The residual shows structure of the image at {found['leak']:.1%} of the pixels."
    if found["edges"] > limits.edges + chance / math.sqrt(EDGE_SHARE):
        over["edges"] = f"At edges the residual has {found['edges']:.2f} times the variance of the noise."
    if found["variance"] > limits.variance + chance:
        over["variance"] = f"The residual has {found['variance']:.2f} times the variance of the noise."
    less = "less was removed than a linear filter would remove"
    if found["taken"] < MIN_TAKEN - chance:
        under["left"] = f"Noise was left: {1 - found['taken']:.0%} {less}."
    elif found["taken_fine"] < MIN_TAKEN - chance:
        under["left fine"] = f"Fine noise was left: {1 - found['taken_fine']:.0%} {less}."
    return over | under, (OVERSMOOTHED,) * bool(over) + (UNDERSMOOTHED,) * bool(under)
