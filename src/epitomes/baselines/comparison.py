"""compare: several methods on one image, with their quality, time and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.baselines.peak_memory import peak_memory
from epitomes.baselines.registry import METHODS
from epitomes.checks import RNG, as_seed, require_real
from epitomes.layout import Layout
from epitomes.noise import Noise, estimate_noise
from epitomes.restoration import Method, NonLocal, Patchwise, Restored, restore
from epitomes.restoration.method import Callback, within
from epitomes.validation import Sure, audit, error_map, psnr, ssim
from epitomes.validation._psnr import decibels
from epitomes.validation._sure import QUANTILE

OWN = ("fast", "balanced", "best", "paper")
PEAKS = {"uint8": 255.0, "uint16": 65535.0}
LEAST_SIDE = 16  # pixels: errors of smaller images are not estimated
PROBES = 2  # runs that an estimate of the error takes


@dataclass(frozen=True, eq=False)
class Contender:
    """What one method made of the image.

    Parameters
    ----------
    name : str
        Name of the method, as it was asked for.
    label : str
        Name in print.
    image : ndarray
        The denoised image.
    seconds : float
        Time of the denoising.
    memory : int or None
        Bytes that it took at most, besides those before it; None where the system does not tell.
    psnr, ssim : float or None
        Quality against the clean image, if that was given.
    estimate : Sure or None
        Estimated quality, if no clean image was given and the noise allows it. Where the noise was estimated, too, its
        interval counts how uncertain the noise level is.
    notes : tuple of str
        What the user should know.

    See Also
    --------
    compare : Make them.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import compare
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> compare(noisy, ["fast"], 10.0, clean=np.full((48, 48), 100.0)).contenders[0].label
    'fast'
    """

    name: str
    label: str
    image: NDArray[Any]
    seconds: float
    memory: int | None
    psnr: float | None = None
    ssim: float | None = None
    estimate: Sure | None = None
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without pixels.

        Returns
        -------
        dict
            Numbers and text.
        """
        return {
            "method": self.name,
            "label": self.label,
            "psnr": self.psnr if self.psnr is None or math.isfinite(self.psnr) else None,
            "ssim": self.ssim,
            "estimate": None if self.estimate is None else self.estimate.as_dict(),
            "seconds": self.seconds,
            "memory": self.memory,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several methods on one image.

    Parameters
    ----------
    noisy : ndarray
        The noisy image.
    clean : ndarray or None
        The clean image, if it was given.
    noise : Noise
        Noise model, given or estimated once for all methods.
    peak : float
        Value of white that PSNR and SSIM refer to.
    contenders : tuple of Contender
        What each method made of the image, in the order asked for.
    channel_axis : int or None
        Axis of the channels.

    See Also
    --------
    compare : Make one.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import compare
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> print(compare(noisy, ["fast"], 10.0, clean=np.full((48, 48), 100.0)).columns)
    ('method', 'PSNR', 'SSIM', 'seconds', 'MB')
    """

    noisy: NDArray[Any]
    clean: NDArray[Any] | None
    noise: Noise
    peak: float
    contenders: tuple[Contender, ...]
    channel_axis: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of `rows`."""
        quality = ("estimated PSNR", "90 % interval") if self.clean is None else ("PSNR", "SSIM")
        return ("method", *quality, "seconds", "MB")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """One row per method, and a first one for the noisy image if the clean one is known."""
        found = []
        if self.clean is not None:
            quality = _quality(self.clean, self.noisy, self.peak, self.channel_axis)
            found.append(("noisy", f"{quality[0]:.2f}", f"{quality[1]:.4f}", "–", "–"))
        return found + [_row(each, self.clean is None) for each in self.contenders]


def method_named(name: str, *, peak: float | None = None) -> Method:
    """Return the method of a name.

    Parameters
    ----------
    name : str
        "fast", "balanced", "best" (presets of the non-local method), "paper", or a baseline of `METHODS`.
    peak : float, optional
        Value of white, for baselines.

    Returns
    -------
    Method
        The method, with its default settings.

    Raises
    ------
    ValueError
        If there is no such method.

    See Also
    --------
    compare : Run several.

    Examples
    --------
    >>> from epitomes.baselines import method_named
    >>> method_named("ksvd").label
    'K-SVD'
    """
    if name in METHODS:
        return METHODS[name](peak=peak)
    if name == "paper":
        return Patchwise()
    if name in OWN:
        return NonLocal(preset=name)
    raise ValueError(f"there is no method {name!r}: use one of {', '.join((*OWN, *METHODS))}")


def compare(
    image: ArrayLike,
    methods: Sequence[str | Method],
    sigma: float | None = None,
    *,
    noise: Noise | None = None,
    clean: ArrayLike | None = None,
    peak: float | None = None,
    channel_axis: int | None = None,
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Comparison:
    """Denoise an image with several methods and compare them.

    Parameters
    ----------
    image : array_like
        Noisy image, grey or with channels.
    methods : sequence of str or Method
        Names, as `method_named` knows them, or method objects.
    sigma : float, optional
        Standard deviation of white noise. Default: the noise is estimated, once for all methods.
    noise : Noise, optional
        Noise model, instead of `sigma`.
    clean : array_like, optional
        Clean image of the same shape. Without it the quality is estimated, which takes three times as long.
    peak : float, optional
        Value of white. Default: 255 or 65535 for unsigned integers of 8 or 16 bits; of floats, 1 or 255 if they suit,
        or the largest value.
    channel_axis : int, optional
        Axis of the channels.
    rng : numpy.random.Generator, int or None, optional
        Random number generator or seed.
    threads : int, optional
        Number of threads. It changes no result.
    callback : callable, optional
        Called as ``callback(fraction, stage)``.

    Returns
    -------
    Comparison
        Images, quality, times and memory.

    Raises
    ------
    ValueError
        If a name is not known, shapes differ, or a method cannot handle the image.

    See Also
    --------
    epitomes.reports.write_comparison : A page that shows the results side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes.baselines import compare
    >>> clean = np.add.outer(np.arange(48.0), np.arange(48.0))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    >>> found = compare(noisy, ["fast", "wnnm"], 5.0, clean=clean)
    >>> [each.label for each in found.contenders], found.contenders[0].psnr > 38
    (['fast', 'WNNM'], True)
    """
    given = require_real("image", image)
    if isinstance(methods, str) or not methods:
        raise ValueError(f"methods needs at least one method, in a list, got {methods!r}")
    layout = Layout.of(given.shape, channel_axis, 2)
    if layout.stack_shape:
        raise ValueError(f"image must be one image, grey or with channel_axis, got shape {given.shape}")
    truth = None if clean is None else require_real("clean", clean)
    if truth is not None and truth.shape != given.shape:
        raise ValueError(f"clean needs the shape of the image, {given.shape}, got {truth.shape}")
    white = _peak(given) if peak is None else peak
    chosen = [(m, method_named(m, peak=white)) if isinstance(m, str) else (m.label, m) for m in methods]
    for _, method in chosen:
        method.prepare(layout.picture_shape, channel_axis is not None)  # refused here, before any work
    if sigma is not None and noise is not None:
        raise ValueError("sigma is short for noise=Noise.gaussian(sigma), and both were given: leave one of them out")
    model = Noise.gaussian(sigma) if sigma is not None else noise
    if model is None:
        model = estimate_noise(given, channel_axis=channel_axis, spatial=2)
    if model.level == 0:
        raise ValueError("no noise was found to remove: pass sigma if there is some")
    seed, found = as_seed(rng), []
    for number, (name, method) in enumerate(chosen):
        tell = within(callback, number / len(chosen), (number + 1) / len(chosen))
        share = 1.0 if truth is not None else 1 / (1 + PROBES)
        with peak_memory() as memory:
            restored = restore(
                given,
                noise=model,
                method=method,
                channel_axis=channel_axis,
                spatial=2,
                rng=seed,
                threads=threads,
                callback=_named(within(tell, 0.0, share), method.label),
            )
        quality: tuple[float | None, float | None] = (None, None)
        if truth is not None:
            quality = _quality(truth, restored.image, white, channel_axis)
        estimate = None if truth is not None else _estimate(restored, white, seed, threads, within(tell, share, 1.0))
        found.append(
            Contender(
                name=name,
                label=method.label,
                image=restored.image,
                seconds=restored.seconds,
                memory=memory.bytes,
                psnr=quality[0],
                ssim=quality[1],
                estimate=estimate,
                notes=restored.notes,
            )
        )
        if tell is not None:
            tell(1.0, method.label)
    return Comparison(given, truth, model, white, tuple(found), channel_axis)


def _named(callback: Callback | None, label: str) -> Callback | None:
    return None if callback is None else lambda fraction, stage: callback(fraction, f"{label}: {stage}")


def _estimate(
    restored: Restored, peak: float, seed: int, threads: int | None, callback: Callback | None
) -> Sure | None:
    """The estimated quality; None if the noise model does not allow it."""
    noise, layout = restored.noise, restored.layout
    small = min(layout.picture_shape[:2]) < LEAST_SIDE
    if small or not (noise.is_white and noise.is_constant) or restored.unchanged:
        return None
    judged = audit(restored.noisy, restored.estimate, noise, channel_axis=layout.channel_axis, spatial=layout.spatial)
    if not judged.model_fits:
        return None
    calls = iter(range(PROBES))

    def again(pixels: NDArray[Any]) -> NDArray[Any]:
        call = next(calls, PROBES - 1)
        part = _named(within(callback, call / PROBES, (call + 1) / PROBES), f"{restored.plan.method.label}, error")
        return restored.plan.run(pixels, rng=seed, threads=threads, callback=part).image

    found = error_map(
        restored.noisy,
        restored.image,
        noise,
        again,
        peak=peak,
        channel_axis=layout.channel_axis,
        spatial=layout.spatial,
    )
    return _with_noise(found.sure, noise)


def _with_noise(found: Sure, noise: Noise) -> Sure:
    """The estimate, with an interval that also counts how uncertain the noise level is.

    Stein's estimate is ``|noisy - restored|**2 - sigma**2 + 2 * sigma**2 * divergence``, on average over the pixels. A
    level that is a few percent wrong changes it by more than a good result has left as error.
    """
    if noise.interval is None or found.doubts:
        return found
    own = QUANTILE * found.error
    low, high = ((1 - 2 * found.divergence) * (noise.level**2 - end**2) for end in noise.interval)
    most, least = found.mse + math.hypot(own, max(low, high, 0.0)), found.mse - math.hypot(own, min(low, high, 0.0))
    return replace(found, interval=(decibels(most, found.peak), decibels(least, found.peak)))


def _quality(clean: NDArray[Any], image: NDArray[Any], peak: float, channel_axis: int | None) -> tuple[float, float]:
    return psnr(clean, image, peak=peak), ssim(clean, image, peak=peak, channel_axis=channel_axis)


def _row(each: Contender, estimated: bool) -> tuple[str, ...]:
    memory = "–" if each.memory is None else f"{each.memory / 2**20:.0f}"
    if not estimated:
        return each.label, f"{each.psnr:.2f}", f"{each.ssim:.4f}", f"{each.seconds:.2f}", memory
    if each.estimate is None or each.estimate.doubts or not math.isfinite(each.estimate.psnr):
        return each.label, "–", "–", f"{each.seconds:.2f}", memory
    low, high = each.estimate.interval
    span = f"{low:.2f} to {high:.2f}" if math.isfinite(high) else f"{low:.2f} or more"
    return each.label, f"{each.estimate.psnr:.2f}", span, f"{each.seconds:.2f}", memory


def _peak(image: NDArray[Any]) -> float:
    """The value of white: by the dtype, or the usual range that holds the values."""
    if image.dtype.name in PEAKS:
        return PEAKS[image.dtype.name]
    top = float(np.quantile(np.abs(image.astype(np.float64)), 0.999))
    for usual in (1.0, 255.0):
        if usual / 4 < top <= 1.5 * usual:
            return usual
    return top if top > 0 else 1.0
