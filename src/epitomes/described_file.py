"""Described files: arrays and one JSON description in a safetensors file, checked before anything is built from it.

The safetensors package writes and reads the arrays. Two strings of metadata are ours: "description", a JSON object with
its "format" and "version", and "sha256", a digest of that text and of all arrays. Sizes and the header are checked
before the package sees the file, so a small limit on the header and the size of the file bound all memory. Nothing in a
file can name code.
"""

from __future__ import annotations

import hashlib
import json
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
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

_LENGTH = 8  # bytes that hold the length of the header
_METADATA = "__metadata__"
_MAX_INTEGER = 2**53  # larger integers are not exact in every JSON reader


class ModelError(ValueError):
    """A model file or checkpoint cannot be used; the message gives the reason in one line.

    Examples
    --------
    >>> import tempfile, pathlib, epitomes
    >>> from epitomes.model_file import ModelError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "broken.epitome")
    ...     _ = path.write_bytes(b"not a model")
    ...     try:
    ...         epitomes.load(path)
    ...     except ModelError as error:
    ...         print(str(error).removeprefix(f"{path}: "))
    not an epitome file, or truncated: its 11 bytes cannot hold the header that they announce
    """


@dataclass(frozen=True)
class Entry:
    """The dtype and shape of one array, as stated in the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Header:
    """A checked header. Of the description, only "format" and "version" have been checked."""

    description: dict[str, object]
    arrays: Mapping[str, Entry]
    sha256: str
    text: str  # of the description
    n_bytes: int  # of the whole file


def pack(description: Mapping[str, object], arrays: Mapping[str, NDArray[Any]], *, max_header: int) -> bytes:
    """Return the content of the file; the same description and arrays give the same bytes."""
    from safetensors.numpy import save

    text = as_json(description)
    stored = {name: _as_stored(name, array) for name, array in arrays.items()}
    content = save(stored, {"description": text, "sha256": _digest(text, stored)})
    # The package writes its metadata in random order. Sort them: the length stays the same.
    length = int.from_bytes(content[:_LENGTH], "little")
    table = json.loads(content[_LENGTH : _LENGTH + length])
    table[_METADATA] = dict(sorted(table[_METADATA].items()))
    header = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode().ljust(length)
    if length > max_header:
        raise ValueError(
            f"the description takes {length} bytes, at most {max_header} are allowed: shorten its texts or use fewer "
            "parts"
        )
    return b"".join([content[:_LENGTH], header, memoryview(content)[_LENGTH + length :]])


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open the file for reading, and put its name before the message of any `ModelError` raised meanwhile."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ModelError(f"{path} is not a file")  # reading from a pipe could block forever
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
    first = file.read(_LENGTH)
    length = int.from_bytes(first, "little")
    if len(first) < _LENGTH or length > size - _LENGTH:
        raise ModelError(
            f"not {_a(kind)} file, or truncated: its {size} bytes cannot hold the header that they announce"
        )
    if not 2 <= length <= max_header:
        raise ModelError(f"not {_a(kind)} file: its header has {length} bytes, 2 to {max_header} are allowed")
    table = parse_json("the header", file.read(length))
    metadata = table.pop(_METADATA, None)
    if not isinstance(metadata, dict) or set(metadata) != {"description", "sha256"}:
        raise ModelError(f"not {_a(kind)} file: its metadata must be a description and a sha256")
    text, sha256 = metadata["description"], metadata["sha256"]
    if not isinstance(text, str) or not isinstance(sha256, str):
        raise ModelError("the description and the sha256 must be strings")
    description = parse_json("the description", text)
    _require_format(description, kind, version)
    return Header(description, {name: _checked_entry(name, entry) for name, entry in table.items()}, sha256, text, size)


def require_layout(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose arrays do not fill it exactly, without reading them: `read_arrays` checks it by itself."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), "np"):
            pass
    except SafetensorError as error:
        raise ModelError(f"truncated or damaged ({_in_words(error)})") from None


def read_arrays(file: BufferedReader, header: Header) -> dict[str, NDArray[Any]]:
    """Read all arrays and compare their digest; NaN and infinity, which safetensors allows, are refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    file.seek(0)
    try:
        arrays: dict[str, NDArray[Any]] = load(file.read())
    except SafetensorError as error:
        raise ModelError(f"truncated or damaged ({_in_words(error)})") from None
    if _digest(header.text, arrays) != header.sha256:
        raise ModelError("damaged: its content does not have the sha256 that the file states")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"the array {name!r} holds NaN or infinite values")
    return arrays


def as_json(value: Mapping[str, object]) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, exact floats, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(name: str, text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object without repeated keys, NaN or infinity."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # hostile nesting and endless numbers end here too
        raise ModelError(f"{name} is not valid JSON ({reprlib.repr(str(error))})") from None
    if not isinstance(value, dict):
        raise ModelError(f"{name} must be a JSON object, got {reprlib.repr(value)}")
    return value


def whole_numbers(name: str, value: object, *, least: int = 0) -> tuple[int, ...]:
    """Check a JSON list of integers; true is not an integer."""
    if not isinstance(value, list) or not all(type(each) is int and least <= each < _MAX_INTEGER for each in value):
        raise ModelError(f"{name} must be a list of integers of at least {least}, got {reprlib.repr(value)}")
    return tuple(value)


def require_keys(name: str, value: object, keys: set[str]) -> dict[str, Any]:
    """Check a JSON object with exactly these keys."""
    if not isinstance(value, dict) or set(value) != keys:
        raise ModelError(f"{name} must have the keys {', '.join(sorted(keys))}, got {reprlib.repr(value)}")
    return value


def _as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    native = array.dtype.newbyteorder("=")
    if native not in NAMES:
        raise TypeError(f"the array {name!r} has dtype {array.dtype}, which a file cannot hold: use float32 or float64")
    return np.require(array, native, ["C"])  # the package would save the memory of a view, not its values


def _digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the sha256 of the description, of the names, dtypes and shapes of the arrays, and of their bytes."""
    table = [[name, NAMES.get(array.dtype, ""), list(array.shape)] for name, array in sorted(arrays.items())]
    digest = hashlib.sha256(json.dumps([text, table], separators=(",", ":")).encode())
    for name in sorted(arrays):
        digest.update(arrays[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _require_format(description: dict[str, Any], kind: str, version: int) -> None:
    if description.get("format") != kind:
        raise ModelError(f"not {_a(kind)} file: its format is {reprlib.repr(description.get('format'))}")
    found = description.get("version")
    if type(found) is not int or found < 1:
        raise ModelError(f"the version must be a positive integer, got {reprlib.repr(found)}")
    if found > version:
        raise ModelError(
            f"written in version {reprlib.repr(found)} of the format, this library reads up to {version}: update it"
        )


def _checked_entry(name: str, entry: object) -> Entry:
    label = f"the entry of the array {reprlib.repr(name)}"
    fields = require_keys(label, entry, {"dtype", "shape", "data_offsets"})
    if not isinstance(fields["dtype"], str) or fields["dtype"] not in DTYPES:
        raise ModelError(f"{label} has the dtype {reprlib.repr(fields['dtype'])}, not one of {', '.join(DTYPES)}")
    return Entry(DTYPES[fields["dtype"]], whole_numbers(f"the shape in {label}", fields["shape"]))


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _in_words(error: Exception) -> str:
    """Return the reason that safetensors gives, short and in printable characters: it may quote names of the file."""
    return ascii((str(error).partition(": ")[2] or str(error))[:100])[1:-1]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")
