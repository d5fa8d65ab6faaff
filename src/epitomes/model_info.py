"""The header of a model file: what it may say, and how each word of it is checked."""

from __future__ import annotations

import importlib.metadata
import math
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from epitomes.checks import positive, whole
from epitomes.described_file import Header, ModelError, require_keys, whole_numbers
from epitomes.phi.description import BORDERS, TURNS, Description, Part

MAX_ENTRIES = 2**24  # of the dictionary, p * m: a quarter of a million atoms of 8 x 8


def _this_library() -> str:
    try:
        return f"epitomes {importlib.metadata.version('epitomes')}"
    except importlib.metadata.PackageNotFoundError:
        return "epitomes"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How an epitome was made. None and "" mean unknown, and no value changes what the epitome does.

    Parameters
    ----------
    lam : float, optional
        Regularisation parameter lambda used for learning, in `units`.
    sigma : float, optional
        Noise level of the images that the epitome was learned from, in `units`.
    units : str, optional
        Units of the images, such as ``"grey levels, 0 to 255"``.
    mean : {"centred", "kept"}, optional
        Whether the mean of each patch was subtracted before coding.
    seed : int, optional
        Seed of the random number generator.
    n_steps : int, optional
        Number of learning steps.
    made_with : str, optional
        Program and version. Default: this library.
    source : str, optional
        Images that the epitome was learned from.
    note : str, optional
        Anything else.

    Examples
    --------
    >>> from epitomes.model_file import Provenance
    >>> Provenance(lam=60, units="grey levels, 0 to 255", source="photo.png").lam
    60.0
    """

    lam: float | None = None
    sigma: float | None = None
    units: str = ""
    mean: Literal["centred", "kept"] = "centred"
    seed: int | None = None
    n_steps: int | None = None
    made_with: str = field(default_factory=_this_library)
    source: str = ""
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
                raise TypeError(f"{name} must be a string, got {reprlib.repr(text)}")
            text.encode()  # half a surrogate pair can be neither printed nor saved
        if self.mean not in ("centred", "kept"):
            raise ValueError(f'mean must be "centred" or "kept", got {reprlib.repr(self.mean)}')


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """Content of the header of a model file, as returned by `inspect`.

    Parameters
    ----------
    phi : Description
        Description of phi; ``phi.build()`` makes it.
    n_atoms : int
        Number of atoms of the dictionary.
    dtype : numpy.dtype
        Data type of the pixels.
    provenance : Provenance or None
        How the epitome was made.
    version : int
        Version of the file format.
    sha256 : str
        Digest of the content. `load` verifies it.
    n_bytes : int
        Size of the file.

    See Also
    --------
    inspect : Read the header of a model file.

    Examples
    --------
    >>> import tempfile, pathlib, epitomes
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.model_file import inspect
    >>> from epitomes.phi import flat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flat.epitome")
    ...     epitomes.save(path, smooth_noise(flat(5, (8, 8))))
    ...     inspect(path).epitome_shape
    (5, 8, 8)
    """

    phi: Description
    n_atoms: int
    dtype: np.dtype[Any]
    provenance: Provenance | None
    version: int
    sha256: str
    n_bytes: int

    @property
    def epitome_shape(self) -> tuple[int, ...]:
        """Shape of the pixels; those of a union are joined end to end."""
        shapes = [part.shape for part in self.phi.parts]
        return (sum(map(math.prod, shapes)),) if self.phi.joined else shapes[0]

    @property
    def patch_shape(self) -> tuple[int, ...]:
        """Shape of a patch."""
        return self.phi.patch_shape


def info_of(header: Header) -> ModelInfo:
    """Check the description and the arrays of a header, and return what they say."""
    keys = {"format", "version", "phi", "n_atoms", "provenance"}
    described = require_keys("the description", header.description, keys)
    phi = checked_phi(described["phi"])
    (n_atoms,) = whole_numbers("n_atoms", [described["n_atoms"]], least=1)
    provenance = None if described["provenance"] is None else _checked_provenance(described["provenance"])
    dtype = _checked_arrays(header, phi)
    with as_model_errors():
        require_entries(phi)
    return ModelInfo(
        phi=phi,
        n_atoms=n_atoms,
        dtype=dtype,
        provenance=provenance,
        version=int(described["version"]),
        sha256=header.sha256,
        n_bytes=header.n_bytes,
    )


def array_names(phi: Description) -> list[str]:
    """Return the names of the arrays: one for each part of a union."""
    return [f"epitomes.{number}" for number in range(len(phi.parts))] if phi.joined else ["epitomes"]


def require_entries(phi: Description) -> None:
    """Refuse dictionaries that would fill the memory, before they are built and when saving as well as loading."""
    entries = phi.most_atoms() * phi.patch_size
    if entries > MAX_ENTRIES:
        raise ValueError(f"the dictionary can have {entries} entries, a model file may describe at most {MAX_ENTRIES}")


@contextmanager
def as_model_errors() -> Iterator[None]:
    """Turn errors of the library's own checks into a `ModelError`, since the values come from a file."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(str(error)) from None


def checked_phi(value: object) -> Description:
    """Check a JSON object that describes a phi."""
    found = require_keys("phi", value, {"patch_shape", "support", "parts", "joined"})
    patch = whole_numbers("patch_shape", found["patch_shape"], least=1)
    support, joined, parts = found["support"], found["joined"], found["parts"]
    if support is not None and not isinstance(support, str):
        raise ModelError(f"support must be a string of 0 and 1 or null, got {reprlib.repr(support)}")
    if not isinstance(joined, bool) or not isinstance(parts, list) or not parts or (len(parts) > 1 and not joined):
        raise ModelError("phi must have one part, or several joined parts")
    return Description(patch, support, tuple(_checked_part(part, patch) for part in parts), joined)


def _checked_part(value: object, patch: tuple[int, ...]) -> Part:
    found = require_keys("a part of phi", value, {"shape", "border", "turns"})
    shape = whole_numbers("the shape of a part", found["shape"], least=1)
    border, turns = found["border"], found["turns"]
    several = len(shape) - len(patch)
    if not patch or several not in (0, 1) or any(n < w for n, w in zip(shape[several:], patch, strict=True)):
        raise ModelError(f"patches of shape {reprlib.repr(patch)} do not fit in an epitome of {reprlib.repr(shape)}")
    if not isinstance(border, list) or len(border) != len(patch) or not all(each in BORDERS for each in border):
        raise ModelError(f"border must be one of {', '.join(BORDERS)} for each axis, got {reprlib.repr(border)}")
    if turns not in TURNS:
        raise ModelError(f"turns must be one of {', '.join(TURNS)}, got {reprlib.repr(turns)}")
    return Part(shape, tuple(border), turns)


def _checked_provenance(value: object) -> Provenance:
    keys = {"lam", "sigma", "units", "mean", "seed", "n_steps", "made_with", "source", "note"}
    found = require_keys("the provenance", value, keys)
    with as_model_errors():
        return Provenance(**found)


def _checked_arrays(header: Header, phi: Description) -> np.dtype[Any]:
    """Check that the arrays are the pixels of the parts and nothing else; return their common dtype."""
    names = array_names(phi)
    if set(header.arrays) != set(names):
        raise ModelError(f"the arrays must be {reprlib.repr(names)}, got {reprlib.repr(list(header.arrays))}")
    for name, part in zip(names, phi.parts, strict=True):
        if header.arrays[name].shape != part.shape:
            found = reprlib.repr(header.arrays[name].shape)
            raise ModelError(f"the array {name!r} must have the shape {reprlib.repr(part.shape)}, got {found}")
    dtypes = {entry.dtype for entry in header.arrays.values()}
    if len(dtypes) != 1 or not (dtype := dtypes.pop()).kind == "f":
        raise ModelError("the pixels must be all F32 or all F64")
    return dtype
