"""White noise of the channels of one image, by the model that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from epitomes.noise.combine import Estimate
from epitomes.noise.doubts import Doubt
from epitomes.noise.flat_patches import FlatPatches, flat_patches
from epitomes.noise.gaussian import estimate_gaussian, nothing
from epitomes.noise.overscan import overscan_noise
from epitomes.noise.planes import Plane
from epitomes.noise.poisson_gaussian import estimate_poisson_gaussian, poisson_gaussian_noise
from epitomes.noise.rician import estimate_rician
from epitomes.noise.shared_line import with_shared_line
from epitomes.noise.white import white_noise

Offsets = Sequence[float | None]  # brightness of each channel without light; None: unknown


def of_channels(model: str, planes: Iterable[Plane], offsets: Offsets) -> list[Estimate]:
    """Estimate the noise of each channel."""
    match model:
        case "gaussian":
            return [estimate_gaussian(plane) for plane in planes]
        case "poisson-gaussian":
            return [estimate_poisson_gaussian(plane, zero) for plane, zero in zip(planes, offsets, strict=True)]
        case "rician":
            return [estimate_rician(plane) for plane in planes]
        case "sensor":
            return _of_sensor(planes, offsets)
    return _as_seen(planes)


def _as_seen(planes: Iterable[Plane]) -> list[Estimate]:
    """The model that flat patches show, with a line that all channels share if there is one."""
    planes = list(planes)
    if len(planes) == 1 and (of_frame := overscan_noise(planes[0])) is not None:
        return [of_frame]
    found = [flat_patches(plane) for plane in planes]
    measured = [each for each in found if isinstance(each, FlatPatches)]
    shared = with_shared_line(measured)
    noise = map(white_noise, measured) if shared is None else map(poisson_gaussian_noise, shared)
    return [nothing(each) if isinstance(each, Doubt) else next(noise) for each in found]


def _of_sensor(planes: Iterable[Plane], offsets: Offsets) -> list[Estimate]:
    """One gain and read noise for all channels, whatever single ones show."""
    found = [flat_patches(plane) for plane in planes]
    measured = [(each, zero) for each, zero in zip(found, offsets, strict=True) if isinstance(each, FlatPatches)]
    shared = with_shared_line([each for each, _ in measured], [zero or 0.0 for _, zero in measured], certain=True)
    noise = (poisson_gaussian_noise(each, zero) for each, (_, zero) in zip(shared or [], measured, strict=True))
    return [nothing(each) if isinstance(each, Doubt) else next(noise) for each in found]
