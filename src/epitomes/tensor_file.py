"""Arrays and one description in one file that holds data and nothing else: the safetensors format, read with suspicion.

    8 bytes          length of the header, little-endian
    header           JSON: name -> dtype, shape and place of each array; "__metadata__" -> strings
    the rest         the arrays, one after the other, without gaps

Our metadata are two strings: "description", a JSON object with its "format" and "version", and "sha256", a digest of
that text and of all arrays. Any safetensors reader opens the files. Ours takes no other: it checks before it allocates,
takes only what it was told to expect, and says what is wrong in one line. Nothing in a file can name code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

_MOST_AXES = 8
_MOST = 2**53  # a larger whole number is not exact in every JSON reader, and no size
_METADATA = "__metadata__"
_LENGTH = 8  # bytes that hold the length of the header


class ModelError(ValueError):
    """A file that cannot be what it should be; the message says why in one line."""


@dataclass(frozen=True)
class Place:
    """What the header says of one array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    first: int  # byte, counted from the end of the header

    @property
    def n_bytes(self) -> int:
        """As a Python int: it cannot overflow."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Header:
    """A checked header: the places of the arrays fill the rest of the file, all and once."""

    description: dict[str, object]  # only "format" and "version" are checked
    places: Mapping[str, Place]  # in the order of the file
    sha256: str
    text: str  # of the description
    n_bytes: int  # of the whole file


def pack(description: Mapping[str, object], arrays: Mapping[str, NDArray[Any]], *, max_header: int) -> bytes:
    """The file as bytes. The same content gives the same bytes: no time, no place, no order of a dictionary."""
    text = as_json(description)
    stored = {name: _as_stored(name, array) for name, array in arrays.items()}
    # The widest first, as safetensors does: every array begins at a multiple of its item size.
    order = sorted(stored, key=lambda name: (-stored[name].dtype.itemsize, name))
    places: dict[str, Place] = {}
    first = 0
    for name in order:
        places[name] = Place(stored[name].dtype, stored[name].shape, first)
        first += places[name].n_bytes
    chunks = {name: stored[name].tobytes() for name in order}
    digest = _digest(text, places)
    for name in sorted(chunks):
        digest.update(chunks[name])
    table: dict[str, object] = {_METADATA: {"description": text, "sha256": digest.hexdigest()}}
    for name, place in places.items():
        offsets = [place.first, place.first + place.n_bytes]
        table[name] = {"dtype": NAMES[place.dtype], "shape": list(place.shape), "data_offsets": offsets}
    header = json.dumps(table, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % _LENGTH)
    if len(header) > max_header:
        raise ValueError(
            f"the description needs {len(header)} bytes, at most {max_header} are allowed: shorten texts or use fewer "
            "parts"
        )
    return b"".join([len(header).to_bytes(_LENGTH, "little"), header, *chunks.values()])


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """The file, open for reading; its name is put before any `ModelError` that is raised meanwhile."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ModelError(f"{path} is not a file")  # reading a pipe could wait for ever
    with path.open("rb") as file:
        try:
            yield file
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None


def read_header(
    file: BufferedReader, kind: str, version: int, *, max_header: int, max_bytes: int | None = None
) -> Header:
    """Read and check the header of a file of that format and version; the arrays stay unread."""
    size = os.fstat(file.fileno()).st_size
    if max_bytes is not None and size > max_bytes:
        raise ModelError(f"the file has {size} bytes, at most {max_bytes} are allowed")
    start = file.read(_LENGTH)
    length = int.from_bytes(start, "little")
    if len(start) < _LENGTH or length > size - _LENGTH:
        raise ModelError(f"no {kind} file, or cut short: its {size} bytes do not hold the header that they promise")
    if not 2 <= length <= max_header:
        raise ModelError(f"no {kind} file: a header has 2 to {max_header} bytes, this one {length}")
    table = parse_json("the header", file.read(length))
    metadata = table.pop(_METADATA, None)
    if not isinstance(metadata, dict) or set(metadata) != {"description", "sha256"}:
        raise ModelError(f"no {kind} file: its metadata must be a description and a sha256")
    text, sha256 = metadata["description"], metadata["sha256"]
    if not isinstance(text, str) or not isinstance(sha256, str):
        raise ModelError("the description and the sha256 must be texts")
    description = parse_json("the description", text)
    _require_format(description, kind, version)
    places = _checked_places(table, size - _LENGTH - length)
    return Header(description, places, sha256, text, size)


def read_arrays(file: BufferedReader, header: Header) -> dict[str, NDArray[Any]]:
    """Read all arrays, native and writable, from where `read_header` left the file, and compare the digest."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, place in header.places.items():
        raw = np.empty(place.n_bytes, np.uint8)  # never more than the file has
        if place.n_bytes and file.readinto(raw.data) != place.n_bytes:
            raise ModelError(f"cut short: the array {name!r} ends too early")
        arrays[name] = raw.view(place.dtype).reshape(place.shape)
    digest = _digest(header.text, header.places)
    for name in sorted(arrays):
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    if digest.hexdigest() != header.sha256:
        raise ModelError("damaged: the content does not have the sha256 that the file states")
    return {name: array.astype(array.dtype.newbyteorder("="), copy=False) for name, array in arrays.items()}


def require_finite_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse NaN and infinities, which safetensors itself allows."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"the array {name!r} holds NaN or infinite values")


def as_json(value: Mapping[str, object]) -> str:
    """One way to write each value: sorted keys, no spaces, floats that read back exactly, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(name: str, text: str | bytes) -> dict[str, Any]:
    """A JSON object without repeated keys, NaN or infinity."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # both hostile nesting and endless numbers end here
        raise ModelError(f"{name} is not valid JSON ({reprlib.repr(str(error))})") from None
    if not isinstance(value, dict):
        raise ModelError(f"{name} must be a JSON object, got {reprlib.repr(value)}")
    return value


def whole_numbers(name: str, value: object, *, least: int = 0) -> tuple[int, ...]:
    """A JSON list of whole numbers; true is no number."""
    if not isinstance(value, list) or not all(type(each) is int and least <= each < _MOST for each in value):
        raise ModelError(f"{name} must be a list of whole numbers from {least} on, got {reprlib.repr(value)}")
    return tuple(value)


def require_keys(name: str, value: object, keys: set[str]) -> dict[str, Any]:
    """A JSON object with exactly these keys."""
    if not isinstance(value, dict) or set(value) != keys:
        raise ModelError(f"{name} must have the keys {', '.join(sorted(keys))}, got {reprlib.repr(value)}")
    return value


def _as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    little = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes a row of a single number
    little = little.astype(little.dtype.newbyteorder("<"), copy=False)
    if little.dtype not in NAMES:
        raise TypeError(f"the array {name!r} has dtype {array.dtype}, which a file cannot hold")
    return little


def _digest(text: str, places: Mapping[str, Place]) -> Any:
    """The sha256 of the description and of all that the header says; the arrays follow, by name."""
    table = [[name, NAMES[place.dtype], list(place.shape)] for name, place in sorted(places.items())]
    return hashlib.sha256(json.dumps([text, table], separators=(",", ":")).encode())


def _require_format(description: dict[str, Any], kind: str, version: int) -> None:
    if description.get("format") != kind:
        raise ModelError(f"no {kind} file: its format is {reprlib.repr(description.get('format'))}")
    found = description.get("version")
    if type(found) is not int or found < 1:
        raise ModelError(f"the version must be a whole number, got {reprlib.repr(found)}")
    if found > version:
        raise ModelError(
            f"written in version {reprlib.repr(found)} of the format; this library reads {version}: update it"
        )


def _checked_places(table: dict[str, Any], n_bytes: int) -> dict[str, Place]:
    """The places of the arrays, in the order of the file; they must fill `n_bytes` without gaps and overlaps."""
    ends: list[tuple[int, int, str, Place]] = []
    for name, entry in table.items():
        label = f"the entry of the array {reprlib.repr(name)}"
        fields = require_keys(label, entry, {"dtype", "shape", "data_offsets"})
        if not isinstance(fields["dtype"], str) or fields["dtype"] not in DTYPES:
            raise ModelError(f"{label} has the dtype {reprlib.repr(fields['dtype'])}, not one of {', '.join(DTYPES)}")
        shape = whole_numbers(f"the shape in {label}", fields["shape"])
        if len(shape) > _MOST_AXES or (0 in shape and shape != (0,)):  # nothing times anything would take no bytes
            raise ModelError(f"{label} has the shape {reprlib.repr(shape)}: at most {_MOST_AXES} axes, none empty")
        offsets = whole_numbers(f"the offsets in {label}", fields["data_offsets"])
        if len(offsets) != 2:
            raise ModelError(f"{label} needs two offsets, got {reprlib.repr(offsets)}")
        place = Place(DTYPES[fields["dtype"]], shape, offsets[0])
        if offsets[1] - offsets[0] != place.n_bytes:
            raise ModelError(f"{label}: its shape {reprlib.repr(shape)} does not need the bytes that its offsets give")
        ends.append((*offsets, name, place))
    ends.sort(key=lambda each: each[:3])
    filled = 0
    for first, last, name, _ in ends:
        if first != filled:
            raise ModelError(f"the array {reprlib.repr(name)} begins at byte {first} instead of {filled}")
        filled = last
    if filled != n_bytes:
        raise ModelError(f"the arrays need {filled} bytes, the file has {n_bytes} for them: cut short or damaged")
    return {name: place for _, _, name, place in ends}


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")
