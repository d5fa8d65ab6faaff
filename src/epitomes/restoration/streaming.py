"""Streaming: clips that are longer than memory, denoised plane by plane as they are read and written.

The result has the bits that `restore` gives the whole clip. What that needs of the whole is known from samples: the
noise is estimated on the planes that `estimate_noise` would look at, and the arrangement is chosen on the same tiles.
Only impulses and stripes are looked for in these planes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from epitomes.checks import RNG, Array, as_dtype, as_seed
from epitomes.formats import Picture
from epitomes.noise.sheets import planes_seen
from epitomes.restoration._arguments import Request
from epitomes.restoration._plan import Plan
from epitomes.restoration._restore import plan
from epitomes.restoration.method import Callback, Method, float_type, within
from epitomes.restoration.non_local import NonLocal
from epitomes.restoration.non_local.colour import from_planar
from epitomes.restoration.non_local.outliers import MOST_RANGE
from epitomes.restoration.non_local.volumes.arrangement import SHARED, related
from epitomes.restoration.non_local.volumes.frames import arranged, denoise_frames
from epitomes.restoration.non_local.volumes.method import (
    measured,
    noisy_planes,
    progress,
    shape_of,
    stages_of,
    stream,
    trial_share,
)

Pixels = NDArray[Any]


class Frames(Protocol):
    """A clip of whole numbers that is read when it is asked for; `formats.VideoFrames` is one, and arrays are."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def size(self) -> int: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pixels]: ...

    def __getitem__(self, key: Any, /) -> Pixels: ...

    def mean(self, dtype: DTypeLike = ...) -> Any: ...


@dataclass(frozen=True, eq=False)
class Streamed:
    """A clip that is being denoised: what was decided, and the frames, which are computed as they are taken."""

    plan: Plan
    how: str  # in a few words
    frames: Iterator[Pixels]


def restore_frames(
    frames: Frames,
    sigma: float | None = None,
    *,
    method: str | Method | None = None,
    preset: str = "auto",
    rng: RNG = 0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Streamed | None:
    """Denoise a clip plane by plane; None if its noise or its method need the whole clip, so that `restore` must.

    Arguments are those of `restore`. That is so for noise that is not white or varies with brightness, for impulses and
    stripes, for clips without noise, and for other methods than the non-local one with its cosines.
    """
    places = planes_seen(frames.shape)
    sample = Picture(np.stack([frames[k] for k in places]), "TYX" if len(frames.shape) == 3 else "TYXC")
    if sigma is None and Request.of(sample, None, None, None).without_defects()[1]:
        return None
    found = plan(sample, sigma, method=method, preset=preset, rng=rng, threads=threads)
    how, noise = found.method, found.noise
    if not isinstance(how, NonLocal) or how.epitome is not None or how.passes is not None or how.planes == "single":
        return None
    if noise.level == 0 or not noise.is_constant or float(np.iinfo(frames.dtype).max) > MOST_RANGE * noise.level:
        return None
    clip, level, seed = cast(Any, frames), float(noise.level), as_seed(rng)
    if how.planes == "auto" and not related(clip, level):
        return None
    share = trial_share(shape_of(clip), how.planes, how.spacing, how.preset)
    trial = within(callback, 0.0, share)
    arrangement = arranged(clip, level, how.planes, how.spacing, how.preset, seed, threads, trial)
    rest, kind = within(callback, share, 1.0), float_type(cast(Array, frames))
    if arrangement is SHARED:
        shared = denoise_frames(clip, level, preset=how.preset, dtype=kind, threads=threads, callback=rest)
        return Streamed(found, arrangement.words, (as_dtype(frame, frames.dtype) for frame in shared))
    whole = measured(clip, level, arrangement)
    stages = stages_of(how.preset, whole, shape_of(clip), None)
    advance = progress(stages, rest, f"{len(frames)} planes")
    planes = stream(noisy_planes(clip, level, whole), shape_of(clip), whole, stages, threads, advance)
    back = partial(from_planar, mean=whole.mean, sigma=level, turn=whole.turn, shape=frames.shape[1:], dtype=kind)
    done = (as_dtype(back(plane.current[:, None]), frames.dtype) for plane in planes)
    return Streamed(found, arrangement.words, done)
