"""Parts of an image under a plan: settled on a sample, each part then has the bits that it has in the whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.layout import Layout
from epitomes.noise import Noise
from epitomes.noise.stabilise import Stabilised
from epitomes.restoration._plan import Plan
from epitomes.restoration.flux import REACH, SAMPLE, background_of, is_bright
from epitomes.restoration.method import Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.whole_image import PartMethod, Support, WholeImage

SCALES_LEFT_OUT = (
    "the noise is strong, for which patches of three scales are used in whole images: they reach across the image and "
    "are left out"
)


@dataclass(frozen=True, eq=False)
class Settled:
    """A plan for the parts of one picture, and what the user should know."""

    plan: Plan
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> WholeImage | None:
        """What parts must know of the whole; None if there is no noise, and parts stay as they are."""
        return getattr(self.plan.method, "whole", None)

    @property
    def support(self) -> Support:
        """Which pixels around a part reach into it."""
        return support_of(self.plan)


def settle(plan: Plan, sample: NDArray[Any], *, threads: int | None = None) -> Settled:
    """Settle what depends on the whole of a picture, on a sample of it.

    The plan is for one picture, channels last if there are any; the sample is the picture, or a part of it.
    """
    require_local(plan.noise)
    method, channels = plan.method, plan.layout.channel_axis is not None
    if not isinstance(method, PartMethod):
        raise ValueError(f"how far {method.label} reaches is not known: use NonLocal or Patchwise with an epitome")
    if plan.noise.level == 0:
        return Settled(plan)
    even = plan.noise.stabilise(sample, spatial=plan.layout.spatial)
    notes: tuple[str, ...] = ()
    if even.blocks is not None:
        return Settled(
            replace(plan, method=method.for_parts(even.image, even.sigma, channels=channels, blocks=even.blocks))
        )
    found: Method = method.for_parts(even.image, even.sigma, channels=channels)
    flat = even.image.ndim - channels == 2
    if flat and isinstance(method, NonLocal) and method.multiscale is None and _wants_scales(method, even):
        notes = (SCALES_LEFT_OUT,)
    whole = getattr(found, "whole", None)
    assert isinstance(whole, WholeImage)
    background = None if channels else _background(even, threads)
    if background is not None:
        found = with_whole(found, replace(whole, background=background))
    return Settled(replace(plan, method=found), notes)


def _wants_scales(method: NonLocal, even: Stabilised) -> bool:
    return bool(method.settled(even.image, even.sigma).multiscale)


def with_whole(method: Method, whole: WholeImage | None) -> Method:
    """The method, settled as it was for a picture."""
    return method if whole is None else replace(method, whole=whole)  # type: ignore[type-var]  # it is a dataclass


def support_of(plan: Plan) -> Support:
    """Which pixels around a part reach into it, under a settled plan."""
    method, axes = plan.method, plan.layout.spatial
    whole = getattr(method, "whole", None)
    if whole is None or not isinstance(method, PartMethod):
        return Support((0,) * axes, (1,) * axes)
    found = method.support()
    found = Support(found.halo[:axes], found.grid[:axes])  # patches may have an axis for channels
    return found if whole.background is None else found.wider(REACH)


def for_picture(plan: Plan, place: tuple[int, ...], shape: tuple[int, ...]) -> Plan:
    """The plan for one picture of a stack, or one plane of it, of this shape with its channels last."""
    layout = plan.layout
    channels = layout.channel_axis is not None
    noise = plan.noise.at(place[: len(layout.stack_shape)], layout)
    return replace(plan, noise=noise, layout=Layout.of(shape, -1 if channels else None, len(shape) - channels))


def require_local(noise: Noise) -> None:
    """Refuse noise whose removal needs the whole image."""
    if noise.spectrum is not None:
        raise ValueError(
            "noise that is given by its spectrum is whitened in whole images only: estimate it (leave out noise), or "
            f"give sigma (about {noise.level:.3g}) to treat it as white"
        )
    for name in ("sigma", "gain", "offset"):
        if getattr(noise, name).ndim > 1:
            raise ValueError(
                f"{name} of the noise is a map of shape {getattr(noise, name).shape}, which parts cannot use: give one "
                "number, or one per channel"
            )


def _background(even: Stabilised, threads: int | None) -> float | None:
    """The background of a field of objects, from a quick estimate of the middle; None if it is no such field."""
    if even.image.ndim != 2 or min(even.image.shape) < 16:
        return None
    top, left = (max(0, (side - SAMPLE) // 2) for side in even.image.shape)
    middle = np.ascontiguousarray(even.image[top : top + SAMPLE, left : left + SAMPLE])
    if not is_bright(middle, even.sigma):
        return None
    return background_of(NonLocal(preset="fast").run(middle, even.sigma, threads=threads).image, even.sigma)
