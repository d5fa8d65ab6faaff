"""Diagnosis: what a report tells of a restored image, with an estimate of its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epitomes.formats import Picture
from epitomes.layout import Layout, Place
from epitomes.noise import Noise
from epitomes.reports import ReportData
from epitomes.reports.data import Volume
from epitomes.restoration._plan import settings_of
from epitomes.restoration.method import Callback, within
from epitomes.restoration.shown_plane import COLOURS, ShownPlane
from epitomes.validation import audit, error_map, flicker

if TYPE_CHECKING:
    from epitomes.restoration.restored import Restored

LEAST_SIDE = 16  # pixels: smaller images are not judged
TOO_SMALL = f"An image with a side below {LEAST_SIDE} pixels is too small to be judged."
PROBES = 2  # images that are denoised to estimate the error


def report_data(
    restored: Restored, *, name: str, command: str, clip: bool, threads: int | None, callback: Callback | None
) -> ReportData:
    """Gather what is known of a result; of a stack or volume, of its middle plane, with all planes to look at."""
    method = restored.plan.method
    plane = ShownPlane.of(restored.noisy, restored.estimate, restored.noise, restored.layout, method, restored.how)
    noisy, image, noise = plane.noisy, plane.image, plane.noise
    channel_axis = plane.channel_axis
    large = min(noisy.shape[:2]) >= LEAST_SIDE
    judged = noise.level > 0 or bool(np.array_equal(noisy, image))
    found = audit(noisy, image, noise, channel_axis=channel_axis) if large and judged else None
    errors = None
    known = found is not None and found.model_fits and noise.is_constant and not restored.unchanged
    if known and plane.error_is_known:
        calls = iter(range(PROBES))

        def denoiser(pixels: NDArray[Any]) -> NDArray[Any]:
            call = next(calls, PROBES - 1)
            part = within(callback, call / PROBES, (call + 1) / PROBES)
            tell = None if part is None else lambda fraction, stage: part(fraction, "estimating the error")
            return plane.denoised(pixels, method, threads, tell)

        errors = error_map(noisy, image, noise, denoiser, channel_axis=channel_axis)
    notes = list(restored.notes) + plane.notes
    if not large:
        notes.append(TOO_SMALL)
    elif noise.level > 0 and errors is None and not restored.unchanged:
        why = _why_not(noise) if plane.error_is_known else "many planes or time points were denoised together"
        notes.append(f"The error was not estimated: {why}.")
    return ReportData(
        noisy=noisy,
        restored=image,
        noise=noise,
        sigma=plane.sigma,
        name=name,
        command=command,
        audit=found,
        sure=None if errors is None else errors.sure,
        error=errors,
        epitome=restored.epitome,
        fit=restored.fit,
        atoms_per_patch=restored.atoms_per_patch,
        seconds={"planning": restored.plan.spent, "denoising": restored.seconds},
        settings=settings_of(method),
        plan=list(restored.plan.reasons),
        notes=tuple(notes),
        volume=shown_volume(restored.noisy, restored.estimate, restored.layout, clip),
        flicker=None if restored.unchanged else restored.flicker(),
    )


def report_pair(
    noisy: ArrayLike | Picture,
    restored: ArrayLike | Picture,
    noise: Noise,
    *,
    channel_axis: int | None = None,
    spatial: int | None = None,
    name: str = "image",
    command: str = "",
) -> ReportData:
    """Gather what is known of any denoised image, whatever made it; of a stack or volume, of its middle plane.

    Parameters
    ----------
    noisy : array_like or Picture
        The noisy image. The axes of a `Picture` say what `channel_axis` and `spatial` say of an array.
    restored : array_like or Picture
        The denoised image, of the same shape.
    noise : Noise
        Noise model, for example from `estimate_noise`.
    channel_axis : int, optional
        Axis of the channels or colours.
    spatial : int, optional
        Number of spatial axes.
    name : str, default: "image"
        Title of the report.
    command : str, optional
        Command that makes the same report again.

    Returns
    -------
    ReportData
        The images, the noise and the audit, for `epitomes.reports.write_report`.

    Raises
    ------
    ValueError
        If the shapes differ.

    See Also
    --------
    epitomes.audit : The audit alone.

    Examples
    --------
    >>> import numpy as np
    >>> from epitomes import Noise
    >>> from epitomes.restoration.diagnosis import report_pair
    >>> noisy = np.random.default_rng(0).normal(100, 10, (48, 48))
    >>> report_pair(noisy, np.full((48, 48), 100.0), Noise.gaussian(10)).audit.verdict
    'pass'
    """
    before, after = (np.asarray(each.pixels if isinstance(each, Picture) else each) for each in (noisy, restored))
    if before.shape != after.shape:
        raise ValueError(f"noisy has shape {before.shape} and restored has {after.shape}: they must be equal")
    layout = noisy.layout if isinstance(noisy, Picture) else Layout.of(before.shape, channel_axis, spatial)
    plane = ShownPlane.of(before, after, noise, layout)
    axes = noisy.axes if isinstance(noisy, Picture) else ""
    large = min(plane.noisy.shape[:2]) >= LEAST_SIDE
    return ReportData(
        noisy=plane.noisy,
        restored=plane.image,
        noise=plane.noise,
        sigma=plane.sigma,
        name=name,
        command=command,
        audit=audit(plane.noisy, plane.image, plane.noise, channel_axis=plane.channel_axis) if large else None,
        notes=tuple(plane.notes if large else [*plane.notes, TOO_SMALL]),
        volume=shown_volume(before, after, layout, is_clip(axes)),
        flicker=flicker(before, after, noise, channel_axis=layout.channel_axis, spatial=layout.spatial),
    )


def is_clip(axes: str) -> bool:
    """Whether the planes of a picture with these axes are frames."""
    return "T" in axes and "Z" not in axes


def shown_volume(noisy: NDArray[Any], image: NDArray[Any], layout: Layout, clip: bool) -> Volume | None:
    """The volume that a page shows: of a stack the one in the middle, of channels that are no colours the first."""
    if layout.spatial != 3 or layout.picture_shape[0] < 2:
        return None
    place = _middle(list(layout.places()))
    before, after = (layout.canonical(each)[place] for each in (noisy, image))
    if layout.channel_axis is not None and before.shape[-1] != COLOURS:
        before, after = before[..., 0], after[..., 0]
    return Volume(before, after, clip)


def _why_not(noise: Noise) -> str:
    if not noise.is_white:
        return "the noise is correlated"
    return "the noise model does not fit the image" if noise.is_constant else "the noise level varies over the image"


def _middle(places: list[Place]) -> Place:
    return places[len(places) // 2]
