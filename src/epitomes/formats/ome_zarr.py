"""OME-Zarr 0.4 and 0.5 (Zarr 2 and 3), and plain Zarr arrays, with zarr, in local directories only.

The level of full resolution is read. A written image has levels that are halved along Y and X, and the attributes of
its source. The multiscales attribute is a few lines of JSON, so the reference implementation, which brings clients for
remote stores, is not needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from epitomes.formats._limits import require_size
from epitomes.formats.errors import ImageFileError, library
from epitomes.formats.picture import Metadata, Picture, Pixels, guessed_axes, ordered, require_numbers
from epitomes.formats.units import FULL_NAMES, short

MARKS = ("zarr.json", ".zgroup", ".zarray")  # every Zarr directory holds one of them

ORDER = "TCZYX"  # of the specification
_TYPES = {"T": "time", "C": "channel", "Z": "space", "Y": "space", "X": "space"}
_VERSIONS = {2: "0.4", 3: "0.5"}
SIDE = 512  # pixels, of a chunk and of the smallest level
_LEAST_CHUNK = 2**24  # values: a chunk may be larger than a small image
_OURS = "epitomes"


@dataclass(frozen=True)
class ZarrInfo:
    """Metadata that passes from Zarr to Zarr."""

    title: ClassVar[str] = "the attributes of the Zarr group"

    attributes: str  # JSON
    format: int  # 2 or 3
    axes: str  # as stored
    shape: tuple[int, ...]
    levels: int
    origin: tuple[float, ...]  # position of the first pixel


@dataclass(frozen=True, eq=False)
class OpenedZarr:
    """The first level of the first image of a group, or an array; its pixels have not been read."""

    array: Any
    axes: str  # as stored
    meant: str  # in the order that they were written from: colours may have been last
    spacing: dict[str, float]
    units: dict[str, str]
    info: ZarrInfo | None
    notes: tuple[str, ...]


class Described(Protocol):
    """What a group says of its image; a `Picture` does."""

    @property
    def name(self) -> str: ...

    @property
    def axes(self) -> str: ...

    @property
    def spacing(self) -> Mapping[str, float]: ...

    @property
    def units(self) -> Mapping[str, str]: ...

    @property
    def metadata(self) -> Metadata | None: ...


def open_zarr(folder: Path) -> OpenedZarr:
    """Read the metadata of an image."""
    zarr = library("zarr", extra="zarr", what="Zarr")
    found = zarr.open(store=zarr.storage.LocalStore(folder, read_only=True), mode="r")
    if hasattr(found, "shape"):
        return _array(found)
    attributes = json.loads(json.dumps(dict(found.attrs)))
    scales = _multiscales(attributes)
    paths = [str(level["path"]) for level in scales["datasets"]]
    array = found[paths[0]]
    letters = _letters(scales["axes"])
    spacing, origin = _placed(letters, scales, scales["datasets"][0])
    units = {letter: short(str(axis.get("unit", ""))) for letter, axis in zip(letters, scales["axes"], strict=True)}
    version = found.metadata.zarr_format
    info = ZarrInfo(json.dumps(attributes), version, letters, tuple(array.shape), len(paths), origin)
    others = sorted(set(found) - {path.split("/")[0] for path in paths})
    notes = (f"it also holds {', '.join(others[:5])}, which is not read",) if others else ()
    first = attributes.get(_OURS, {}).get("axes", letters)
    meant = first if sorted(first) == sorted(letters) else letters
    return OpenedZarr(array, letters, meant, spacing, units, info, notes)


def read_zarr(folder: Path, most: int) -> Picture:
    """Read the first level of the first image of a group, or an array."""
    require_inside(folder)
    found = open_zarr(folder)
    pixels, letters = ordered(_pixels(found.array, most), found.axes, found.meant)
    return Picture(pixels, letters, found.spacing, found.units, metadata=found.info, notes=found.notes)


def write_zarr(picture: Picture, folder: Path) -> None:
    """Write a group of levels to an empty directory."""
    zarr = library("zarr", extra="zarr", what="Zarr")
    pixels, axes = ordered(picture.pixels, picture.axes, ORDER)
    info = picture.metadata if isinstance(picture.metadata, ZarrInfo) else None
    if info is not None and (info.shape != pixels.shape or info.axes != axes):
        info = None
    version = 3 if info is None else info.format
    levels = [np.ascontiguousarray(pixels)]
    for _ in level_shapes(pixels.shape, info)[1:]:
        levels.append(halved(levels[-1]))
    attributes = _described(picture, axes, version, len(levels), info)
    group = zarr.create_group(store=zarr.storage.LocalStore(folder), zarr_format=version, attributes=attributes)
    for number, level in enumerate(levels):
        chunks = tuple(min(n, SIDE) if letter in "YX" else 1 for n, letter in zip(level.shape, axes, strict=True))
        group.create_array(str(number), data=level, chunks=chunks, **_naming(version, axes))


def create_zarr(
    picture: Described, shape: tuple[int, ...], dtype: np.dtype[Any], folder: Path, chunk: Mapping[str, int]
) -> int:
    """Make a group whose levels hold no pixels yet, in the order of the specification; return how many there are.

    `shape` is that of the axes of `picture`, `chunk` the side of a chunk by the letter of its axis, 1 for others.
    """
    zarr = library("zarr", extra="zarr", what="Zarr")
    axes = "".join(letter for letter in ORDER if letter in picture.axes)
    sides = tuple(shape[picture.axes.index(letter)] for letter in axes)
    info = picture.metadata if isinstance(picture.metadata, ZarrInfo) else None
    version = 3 if info is None else info.format
    shapes = level_shapes(sides, info)
    attributes = _described(picture, axes, version, len(shapes), info)
    group = zarr.create_group(store=zarr.storage.LocalStore(folder), zarr_format=version, attributes=attributes)
    for number, level in enumerate(shapes):
        chunks = tuple(min(n, chunk.get(letter, 1)) for n, letter in zip(level, axes, strict=True))
        group.create_array(str(number), shape=level, dtype=dtype, chunks=chunks, **_naming(version, axes))
    return len(shapes)


def level_shapes(shape: tuple[int, ...], info: ZarrInfo | None) -> list[tuple[int, ...]]:
    """The shapes of the levels of an image: as many as its source had, or until one is small."""
    least, most = (SIDE, 16) if info is None else (1, info.levels)
    shapes = [tuple(shape)]
    while len(shapes) < most and min(shapes[-1][-2:]) > least:
        shapes.append((*shapes[-1][:-2], *(-(-n // 2) for n in shapes[-1][-2:])))
    return shapes


def _naming(version: int, axes: str) -> dict[str, Any]:
    """How a version of the format names axes and chunks."""
    if version == 3:
        return {"dimension_names": tuple(axes.lower())}
    return {"chunk_key_encoding": {"name": "v2", "separator": "/"}}


def require_inside(folder: Path) -> None:
    """Refuse symbolic links: they could lead to any file of this computer."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise ImageFileError(
                f"it holds a symbolic link, {path.relative_to(folder)}: replace it by a copy of the file"
            )


def _array(array: Any) -> OpenedZarr:
    names = getattr(array.metadata, "dimension_names", None) or ()
    letters = "".join(str(name).upper() for name in names)
    told = len(letters) == array.ndim == len(names) and set(letters) <= set(ORDER)
    axes = letters if told else guessed_axes(tuple(array.shape))
    notes = () if told else (f"its axes have no names and are read as {axes}",)
    return OpenedZarr(array, axes, axes, {}, {}, None, notes)


def _multiscales(attributes: dict[str, Any]) -> dict[str, Any]:
    found = attributes.get("ome", attributes)
    scales = found.get("multiscales") if isinstance(found, dict) else None
    if not scales:
        raise ImageFileError("this Zarr group holds no OME-Zarr image: give the path of an array in it")
    first: dict[str, Any] = scales[0]
    names = [{"name": axis} if isinstance(axis, str) else axis for axis in first.get("axes", list("tczyx"))]
    return {**first, "axes": names}  # before 0.4 axes were plain letters


def _letters(axes: list[dict[str, Any]]) -> str:
    letters: list[str] = []
    for axis in axes:
        name = str(axis.get("name", "")).upper()
        meant = name if name in ORDER else {"time": "T", "channel": "C"}.get(str(axis.get("type")), "Z")
        free = [letter for letter in (meant, "Z", "T", "C") if letter and letter not in letters]
        letters.append(free[0] if free else "?")
    return "".join(letters)


def _placed(letters: str, scales: dict[str, Any], level: dict[str, Any]) -> tuple[dict[str, float], tuple[float, ...]]:
    """Return the spacing, a product of scales, and the origin of a level. A scale of 1 without a unit means unknown."""
    steps, origin = dict.fromkeys(letters, 1.0), dict.fromkeys(letters, 0.0)
    for owner in (level, scales):
        for change in owner.get("coordinateTransformations") or ():
            numbers = [float(number) for number in change.get(change.get("type"), ())]
            for letter, number in zip(letters, numbers, strict=False):
                if change["type"] == "scale":
                    steps[letter] *= number
                    origin[letter] *= number
                elif change["type"] == "translation":
                    origin[letter] += number
    measured = {letter for letter, axis in zip(letters, scales["axes"], strict=True) if axis.get("unit")}
    known = {a: step for a, step in steps.items() if 0 < step < math.inf and (a in measured or step != 1.0)}
    return known, tuple(origin.values())


def _pixels(array: Any, most: int) -> Pixels:
    require_size(array.shape, most)
    require_numbers(array.dtype)
    require_size(getattr(array, "shards", None) or array.chunks, max(most, _LEAST_CHUNK))
    return np.asarray(array[...])


def halved(pixels: Pixels) -> Pixels:
    """Average 2 x 2 pixels; an odd edge is doubled. Of 64-bit integers, which floats cannot hold, keep one in four."""
    if pixels.dtype.kind in "iu" and pixels.dtype.itemsize == 8:
        return pixels[..., ::2, ::2]
    edges = [(0, 0)] * (pixels.ndim - 2) + [(0, n % 2) for n in pixels.shape[-2:]]
    padded = np.pad(pixels, edges, mode="edge")
    height, width = padded.shape[-2:]
    blocks = padded.reshape(*padded.shape[:-2], height // 2, 2, width // 2, 2)
    means = blocks.mean(axis=(-3, -1), dtype=np.float64)
    halved: Pixels = (np.rint(means) if pixels.dtype.kind in "iu" else means).astype(pixels.dtype)
    return halved


def _described(picture: Described, axes: str, version: int, levels: int, info: ZarrInfo | None) -> dict[str, Any]:
    """Return the attributes of the group: those of the source file, with the new axes, levels and spacing."""
    attributes: dict[str, Any] = {} if info is None else json.loads(info.attributes)
    origin = (0.0,) * len(axes) if info is None else info.origin
    named = []
    for letter in axes:
        axis = {"name": letter.lower(), "type": _TYPES[letter]}
        if unit := picture.units.get(letter):
            axis["unit"] = FULL_NAMES.get(unit, unit)
        named.append(axis)
    home = attributes.setdefault("ome", {}) if version == 3 else attributes
    old = (home.get("multiscales") or [{"name": picture.name}])[0]
    kept = {name: value for name, value in old.items() if name not in ("coordinateTransformations", "version")}
    scales = {**kept, "axes": named, "datasets": [_level(picture, axes, number, origin) for number in range(levels)]}
    (home if version == 3 else scales)["version"] = _VERSIONS[version]
    home["multiscales"] = [scales]
    return {**attributes, _OURS: {"axes": picture.axes}}


def _level(picture: Described, axes: str, number: int, origin: tuple[float, ...]) -> dict[str, Any]:
    """Return the scale and translation of a level. A mean of pixels lies in their middle."""
    scale, place = [], []
    for letter, start in zip(axes, origin, strict=True):
        step = picture.spacing.get(letter, 1.0)
        wider = 2.0**number if letter in "YX" else 1.0
        scale.append(step * wider)
        place.append(start + step * (wider - 1) / 2)
    changes = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": place}]
    return {"path": str(number), "coordinateTransformations": changes}
