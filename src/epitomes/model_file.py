"""Model files, `.epitome`: the pixels of an epitome, its phi in words and where it comes from.

They are safetensors files (see `tensor_file`): data and a description, checked before anything is made of them, and
equal byte for byte when the same epitome is saved twice. Every phi that `windows`, `flat`, `shift_invariant`, `turned`
and a `union` of these make can be saved; one given by a matrix cannot.
"""

from __future__ import annotations

import importlib.metadata
import math
import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal

import numpy as np

from epitomes.checks import positive, whole
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.phi import split
from epitomes.phi.description import BORDERS, TURNS, Description, Part, describe
from epitomes.tensor_file import (
    Header,
    ModelError,
    opened,
    pack,
    read_arrays,
    read_header,
    require_finite_arrays,
    require_keys,
    whole_numbers,
)

__all__ = ["ModelError", "ModelInfo", "Provenance", "inspect", "load", "save"]

VERSION = 1
MAX_BYTES = 2**30  # of a file
MAX_HEADER = 2**16  # bytes
MAX_ENTRIES = 2**24  # of the dictionary, p * m: a quarter of a million atoms of 8 x 8


def _this_library() -> str:
    try:
        return f"epitomes {importlib.metadata.version('epitomes')}"
    except importlib.metadata.PackageNotFoundError:
        return "epitomes"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where an epitome comes from. Nothing here changes what it does; None and "" mean: not known."""

    lam: float | None = None  # price of a coefficient while learning, in `units`
    sigma: float | None = None  # noise of the pictures that it was learned from, in `units`
    units: str = ""  # of the pictures, such as "grey levels, 0 to 255"
    mean: Literal["centred", "kept"] = "centred"  # whether patches were coded without their mean
    seed: int | None = None
    n_steps: int | None = None
    made_with: str = field(default_factory=_this_library)
    source: str = ""  # of the data
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("lam", "sigma"):
            if (number := getattr(self, name)) is not None:
                object.__setattr__(self, name, positive(name, number, zero=True))
        for name in ("seed", "n_steps"):
            if (count := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole(name, count, least=0))
        for name in ("units", "made_with", "source", "note"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise TypeError(f"{name} must be a text, got {reprlib.repr(text)}")
            text.encode()  # half a surrogate pair could be neither printed nor sent
        if self.mean not in ("centred", "kept"):
            raise ValueError(f'mean must be "centred" or "kept", got {reprlib.repr(self.mean)}')


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """What the header of a model file says."""

    phi: Description
    n_atoms: int
    dtype: np.dtype[Any]  # of the pixels
    provenance: Provenance | None
    version: int  # of the format
    sha256: str  # of the content; `load` compares it
    n_bytes: int  # of the file

    @property
    def epitome_shape(self) -> tuple[int, ...]:
        """The shape of the pixels; those of a union lie end to end."""
        shapes = [part.shape for part in self.phi.parts]
        return (sum(map(math.prod, shapes)),) if self.phi.joined else shapes[0]

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """The shape of the patch that an atom stands for."""
        return self.phi.patch_shape


def save(
    path: str | os.PathLike[str],
    epitome: Epitome,
    provenance: Provenance | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a model file, whole or not at all. The same epitome and provenance give the same bytes."""
    if not isinstance(epitome, Epitome):
        raise TypeError(f"save needs an Epitome, got {type(epitome).__name__}: make one of pixels and phi")
    if provenance is not None and not isinstance(provenance, Provenance):
        raise TypeError(f"provenance must be a Provenance or None, got {type(provenance).__name__}")
    if not epitome.pixels.any():
        raise ValueError("the pixels are all zero: there is no atom to save")
    phi = describe(epitome.phi)
    _require_entries(phi)
    described = {
        "format": "epitome",
        "version": VERSION,
        "phi": asdict(phi),
        "n_atoms": epitome.phi.n_atoms,
        "provenance": None if provenance is None else asdict(provenance),
    }
    pieces = split(epitome.phi, epitome.pixels) if phi.joined else (epitome.pixels,)
    arrays = dict(zip(_array_names(phi), pieces, strict=True))
    write_atomically(Path(path), pack(described, arrays, max_header=MAX_HEADER), overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Epitome:
    """Read a model file. A damaged or hostile one gives a `ModelError` and costs little memory."""
    with opened(path) as file:
        header, info = _read_info(file)
        arrays = read_arrays(file, header)
        require_finite_arrays(arrays)
        pieces = [arrays[name] for name in _array_names(info.phi)]
        if not any(piece.any() for piece in pieces):
            raise ModelError("the pixels are all zero")
        with _told_as_model_error():
            phi = info.phi.build()
        if phi.n_atoms != info.n_atoms:
            raise ModelError(f"the file promises {info.n_atoms} atoms, its pixels have {phi.n_atoms}")
        pixels = np.concatenate([piece.reshape(-1) for piece in pieces]) if info.phi.joined else pieces[0]
        return Epitome(pixels, phi)


def inspect(path: str | os.PathLike[str]) -> ModelInfo:
    """Read the header alone: quick and small for any file, but damaged pixels go unnoticed."""
    with opened(path) as file:
        return _read_info(file)[1]


def _read_info(file: BufferedReader) -> tuple[Header, ModelInfo]:
    header = read_header(file, "epitome", VERSION, max_header=MAX_HEADER, max_bytes=MAX_BYTES)
    keys = {"format", "version", "phi", "n_atoms", "provenance"}
    described = require_keys("the description", header.description, keys)
    phi = _checked_phi(described["phi"])
    (n_atoms,) = whole_numbers("n_atoms", [described["n_atoms"]], least=1)
    provenance = None if described["provenance"] is None else _checked_provenance(described["provenance"])
    info = ModelInfo(
        phi=phi,
        n_atoms=n_atoms,
        dtype=_checked_arrays(header, phi),
        provenance=provenance,
        version=int(described["version"]),
        sha256=header.sha256,
        n_bytes=header.n_bytes,
    )
    with _told_as_model_error():
        _require_entries(phi)
    return header, info


def _checked_phi(value: object) -> Description:
    found = require_keys("phi", value, {"patch_shape", "support", "parts", "joined"})
    patch = whole_numbers("patch_shape", found["patch_shape"], least=1)
    support, joined, parts = found["support"], found["joined"], found["parts"]
    if support is not None and not isinstance(support, str):
        raise ModelError(f"support must be a text of 0 and 1 or null, got {reprlib.repr(support)}")
    if not isinstance(joined, bool) or not isinstance(parts, list) or not parts or (len(parts) > 1 and not joined):
        raise ModelError("phi must have one part, or a list of several that are joined")
    return Description(patch, support, tuple(_checked_part(part, patch) for part in parts), joined)


def _checked_part(value: object, patch: tuple[int, ...]) -> Part:
    found = require_keys("a part of phi", value, {"shape", "border", "turns"})
    shape = whole_numbers("the shape of a part", found["shape"], least=1)
    border, turns = found["border"], found["turns"]
    several = len(shape) - len(patch)
    if not patch or several not in (0, 1) or any(n < w for n, w in zip(shape[several:], patch, strict=True)):
        raise ModelError(f"patches of shape {reprlib.repr(patch)} do not fit in an epitome of {reprlib.repr(shape)}")
    if not isinstance(border, list) or len(border) != len(patch) or not all(each in BORDERS for each in border):
        raise ModelError(f"border must have a word of {', '.join(BORDERS)} per axis, got {reprlib.repr(border)}")
    if turns not in TURNS:
        raise ModelError(f"turns must be one of {', '.join(TURNS)}, got {reprlib.repr(turns)}")
    return Part(shape, tuple(border), turns)


def _checked_provenance(value: object) -> Provenance:
    keys = {"lam", "sigma", "units", "mean", "seed", "n_steps", "made_with", "source", "note"}
    found = require_keys("the provenance", value, keys)
    with _told_as_model_error():
        return Provenance(**found)


def _checked_arrays(header: Header, phi: Description) -> np.dtype[Any]:
    """The arrays must be the pixels of the parts and nothing else; their common dtype."""
    names = _array_names(phi)
    if set(header.places) != set(names):
        raise ModelError(f"the arrays must be {reprlib.repr(names)}, got {reprlib.repr(list(header.places))}")
    for name, part in zip(names, phi.parts, strict=True):
        if header.places[name].shape != part.shape:
            found = reprlib.repr(header.places[name].shape)
            raise ModelError(f"the array {name!r} needs the shape {reprlib.repr(part.shape)} of its part, got {found}")
    dtypes = {place.dtype for place in header.places.values()}
    if len(dtypes) != 1 or not (dtype := dtypes.pop()).kind == "f":
        raise ModelError("the pixels must be all F32 or all F64")
    return dtype


def _array_names(phi: Description) -> list[str]:
    return [f"epitomes.{number}" for number in range(len(phi.parts))] if phi.joined else ["epitomes"]


def _require_entries(phi: Description) -> None:
    """Refuse dictionaries that would fill the memory; before they are made, and at saving no less than at loading."""
    entries = phi.most_atoms() * phi.patch_size
    if entries > MAX_ENTRIES:
        raise ValueError(f"the dictionary may have {entries} entries, model files stop at {MAX_ENTRIES}")


@contextmanager
def _told_as_model_error() -> Iterator[None]:
    """What the library's own checks say of values from a file."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(str(error)) from None
