"""What is settled before any tile: noise, method, and what tiles must know of the picture that they are parts of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from epitomes.epitome import Epitome
from epitomes.formats.stored import StoredImage
from epitomes.layout import Place
from epitomes.noise import Noise, estimate_noise
from epitomes.noise.profile import values_of_noise
from epitomes.restoration import Method, NonLocal, Plan, as_method
from epitomes.restoration._arguments import Request, plane_spacing
from epitomes.restoration.parts import for_picture, require_local, settle
from epitomes.restoration.whole_image import Support, WholeImage
from epitomes.scale.job import TileTask
from epitomes.scale.masks import StoredMask
from epitomes.scale.tiles import tiles_of
from epitomes.scale.units import Units

DEFECTS = (
    "they are removed from whole images only, and left in tiles: remove them first, or use epitomes.denoise on parts"
)
PLANE_BY_PLANE = (
    "images larger than memory are denoised plane by plane: name an arrangement of planes for groups across planes"
)
ONE_BY_ONE = "volumes are denoised one by one, which in memory may be denoised together"


@dataclass(frozen=True, eq=False)
class SettledStore:
    """What was settled before any tile."""

    units: Units
    plan: Plan  # for parts of the first unit
    wholes: dict[Place, WholeImage | None]
    support: Support
    notes: tuple[str, ...]
    holes: bool  # whether pixels are masked or missing

    def tasks(self, tile: tuple[int, ...]) -> Iterator[TileTask]:
        """All tiles of all pictures, in order."""
        index = 0
        for place, known in self.wholes.items():
            for part in tiles_of(self.units.spatial, tile, self.support):
                yield TileTask(index, place, part, known, self.support.halo)
                index += 1


def plan_for(
    image: StoredImage,
    sigma: float | None,
    noise: Noise | None,
    plan: Plan | None,
    method: str | Method | None,
    preset: str,
    epitome: Epitome | None,
    mask: StoredMask | None = None,
) -> tuple[Plan, tuple[str, ...]]:
    """The plan for the whole image, and what the user should know; noise is estimated if it is not given."""
    layout = image.layout
    if plan is not None:
        if any(each is not None for each in (sigma, noise, method, epitome)) or preset != "auto":
            raise ValueError("plan holds the noise and the method: leave out sigma, noise, method, preset and epitome")
        return replace(plan, layout=layout), ()
    if sigma is not None and noise is not None:
        raise ValueError("sigma is short for noise=Noise.gaussian(sigma), and both were given: leave one of them out")
    found = as_method(method, preset, epitome) or NonLocal()
    reasons: tuple[str, ...] = ()
    deep = layout.spatial == 3 and layout.picture_shape[0] > 1
    if isinstance(found, NonLocal) and deep and not isinstance(method, Method) and found.planes == "auto":
        found, reasons = replace(found, planes="single"), (PLANE_BY_PLANE,)
    if isinstance(found, NonLocal) and deep and found.spacing is None:
        found = replace(found, spacing=plane_spacing(image))
    if sigma is not None:
        noise = Noise.gaussian(sigma)
    notes: tuple[str, ...] = ()
    if noise is None:
        noise, notes = _estimated(Units(image, min(2, layout.spatial), mask))
    return Plan(method=found, noise=noise, layout=layout, reasons=reasons), notes


def _estimated(units: Units) -> tuple[Noise, tuple[str, ...]]:
    """The noise of a part of the image, with one value for everything, or one per channel; and its defects.

    Impulses and stripes do not count as noise. They are left in the image: which pixels and lines have them is judged
    for whole planes.
    """
    axis = None if units.layout.channel_axis is None else -1
    part, defects = Request.of(units.shown(), axis, units.at_once, None).without_defects()
    found = tuple(f"{defect.rpartition(': ')[0]}, in a part of the image: {DEFECTS}" for defect in defects)
    return estimate_noise(part.pixels, channel_axis=axis, spatial=units.at_once), found


def settle_store(image: StoredImage, plan: Plan, threads: int, mask: StoredMask | None = None) -> SettledStore:
    """Settle each picture on a sample of it."""
    require_local(plan.noise)
    at_once = plan.method.prepare(plan.layout.picture_shape, plan.layout.channel_axis is not None)
    units, wholes, notes = Units(image, at_once, mask), dict[Place, WholeImage | None](), dict[str, None]()
    halos, first, holes = list[Support](), None, mask is not None
    across = plan.method.across if isinstance(plan.method, NonLocal) and at_once == 3 else None
    if across is not None and across.joins and plan.layout.stack_shape:
        notes[ONE_BY_ONE] = None
    for place in units.places():
        sample, bad = units.sample(place)
        holes |= bad
        if sample is None:  # all of it is masked or missing, and stays as it is
            wholes[place] = None
            continue
        found = settle(for_picture(plan, place, units.shape), sample, threads=threads)
        wholes[place] = found.whole
        halos.append(found.support)
        notes |= dict.fromkeys(found.notes)
        first = first or found.plan
    if first is None:
        raise ValueError("every pixel of the image is masked or missing (NaN): check the mask")
    return SettledStore(units, first, wholes, _widest(halos), tuple(notes), holes)


def _widest(supports: list[Support]) -> Support:
    """A support that does for all pictures."""
    halo = tuple(int(side) for side in np.max([each.halo for each in supports], axis=0))
    grid = tuple(int(side) for side in np.lcm.reduce([each.grid for each in supports], axis=0))
    return Support(halo, grid)


def fingerprint(image: StoredImage, plan: Plan, settled: SettledStore, tile: tuple[int, ...]) -> str:
    """The same for the same job: image, method, noise, what was settled, and tiles."""
    values = {
        "image": [str(image.path), image.axes, image.shape, image.dtype.str],
        "mask": None if settled.units.mask is None else settled.units.mask.name,
        "method": [type(plan.method).__name__, *_settings(plan.method)],
        "noise": values_of_noise(plan.noise),
        "wholes": [repr(each) for each in settled.wholes.values()],
        "tile": tile,
        "support": repr(settled.support),
    }
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _settings(method: Any) -> Iterator[str]:
    for field in fields(method):
        value = getattr(method, field.name)
        if isinstance(value, Epitome):
            value = hashlib.sha256(value.dictionary.atoms.tobytes()).hexdigest()
        yield f"{field.name}={value!r}"
