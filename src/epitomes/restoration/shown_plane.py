"""The plane of a stack or volume that is judged and shown, and how it answers to a little more noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.layout import Layout
from epitomes.noise import Noise
from epitomes.restoration._plan import Plan
from epitomes.restoration._stack import planes_of
from epitomes.restoration.method import Callback, Method
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.volumes import SHARED, name_of

COLOURS = 3  # channels that a page shows together
AROUND = 6  # planes on either side that answer with it; those further away have hardly a share in it
ONE_BY_ONE = "each plane by itself"
TOGETHER = "together, "

Pixels = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Slab:
    """The noisy planes `(planes, height, width[, channels])` around one of them, and how they were denoised."""

    pixels: Pixels
    at: int
    noise: Noise
    method: Method

    def denoised(self, plane: Pixels, threads: int | None, callback: Callback | None) -> Pixels:
        """The plane denoised with those around it; of channels that are not colours, the first one."""
        channels = self.pixels.ndim == 4
        pixels = self.pixels.astype(plane.dtype)
        here = (self.at, ..., 0) if plane.ndim < pixels.ndim - 1 else (self.at,)
        pixels[here] = plane
        plan = Plan(method=self.method, noise=self.noise, layout=Layout.of(pixels.shape, -1 if channels else None, 3))
        return np.asarray(plan.run(pixels, threads=threads, callback=callback).image[here])


@dataclass(frozen=True, eq=False)
class ShownPlane:
    """The plane of a result that a page shows: grey or in three colours."""

    noisy: Pixels
    image: Pixels
    noise: Noise
    notes: list[str]
    slab: Slab | None = None  # where it was denoised with other planes, and it is known how
    error_is_known: bool = True  # whether a plane can be denoised again as it was

    @classmethod
    def of(
        cls,
        noisy: Pixels,
        image: Pixels,
        noise: Noise,
        layout: Layout,
        method: Method | None = None,
        how: str = "",
    ) -> ShownPlane:
        """The middle plane of a stack or volume; of channels that are not colours, the first one.

        `method` is the one that made the image, and `how` says how it took planes; None if it is not known.
        """
        before, after = layout.canonical(noisy), layout.canonical(image)
        places = list(layout.places())
        place = places[len(places) // 2]
        noise = noise.at(place, layout)
        before, after = before[place], after[place]
        notes = [f"This is picture {place} of a stack."] if place else []
        lead = before.shape[: layout.spatial - 2] if layout.spatial > 2 else ()
        slab, known = None, True
        if lead:
            plane = tuple(length // 2 for length in lead)
            alone = method is None or _one_by_one(method, how, before.shape, layout)
            notes.append(f"This is plane {plane[0]} of {lead[0]}{_how(method, alone)}.")
            if method is not None and not alone:
                known = len(lead) == 1 and TOGETHER not in how and how != SHARED.words
                slab = _slab(before, plane[0], noise, method, how) if known else None
            noise = noise.at(plane, Layout.of(before.shape, -1 if layout.channel_axis is not None else None, 2))
            before, after = before[plane], after[plane]
        if layout.channel_axis is not None and before.shape[-1] != COLOURS:
            if before.shape[-1] > 1:
                notes.append(f"This is channel 0 of {before.shape[-1]}.")
            noise = _of_first_channel(noise, after)
            before, after = before[..., 0], after[..., 0]
        return cls(before, after, noise, notes, slab, known)

    @property
    def channel_axis(self) -> int | None:
        """Axis of the colours."""
        return -1 if self.noisy.ndim == 3 else None

    @property
    def sigma(self) -> float | NDArray[Any]:
        """Standard deviation of the noise: a number, or a map."""
        sigma = self.noise.std(self.image)
        return float(sigma.flat[0]) if self.noise.is_constant else sigma

    def denoised(self, pixels: Pixels, method: Method, threads: int | None, callback: Callback | None) -> Pixels:
        """The plane with other noise, denoised as it was."""
        if self.slab is not None:
            return self.slab.denoised(pixels, threads, callback)
        layout = Layout.of(pixels.shape, self.channel_axis)
        plan = Plan(method=method, noise=self.noise, layout=layout)
        return np.asarray(plan.run(pixels, threads=threads, callback=callback).image)


def _slab(volume: Pixels, at: int, noise: Noise, method: Method, how: str) -> Slab:
    """The planes around one, to be taken as all planes of the volume were."""
    first, last = max(0, at - AROUND), min(len(volume), at + AROUND + 1)
    name = name_of(how)
    if isinstance(method, NonLocal) and name is not None:
        method = replace(method, planes=name, times="single")
    return Slab(volume[first:last], at - first, noise, method)


def _one_by_one(method: Method, how: str, shape: tuple[int, ...], layout: Layout) -> bool:
    """Whether the planes of a volume were denoised by themselves."""
    return how.startswith(ONE_BY_ONE) or len(planes_of(method, shape, layout.channel_axis is not None)) > 1


def _how(method: Method | None, alone: bool) -> str:
    """How the planes of a volume were denoised, if that is known."""
    if method is None:
        return ""
    return "; the others were denoised alike, plane by plane" if alone else "; denoised together"


def _of_first_channel(noise: Noise, image: Pixels) -> Noise:
    """The noise of channel 0 of an image `(H, W, C)`."""
    if noise.is_constant:
        return noise
    if noise.blocks is not None:
        first = np.eye(noise.blocks.n_channels)[:1]
        return Noise.from_blocks(noise.blocks.turned(first))
    return replace(noise, sigma=noise.std(image)[..., 0], gain=np.zeros(()), offset=np.zeros(()), brightness=None)
