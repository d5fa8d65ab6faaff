"""Checkpoints: a step of a learner in a file, so that a run that was stopped goes on with the same bits.

A checkpoint is a safetensors file (see `tensor_file`) with the pixels, the codes and the moments of one step; the
numbers of all steps so far are in its description. It holds no phi: whoever resumes makes the phi again, and a
checkpoint of another one is refused. `load_history` tells which scale a multi-scale run had reached.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from epitomes.coders import Codes
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.learn.moments import Moments
from epitomes.learn.steps import Progress, Step
from epitomes.phi import GatherPhi, Phi
from epitomes.tensor_file import (
    Header,
    ModelError,
    opened,
    pack,
    read_arrays,
    read_header,
    require_finite_arrays,
    require_keys,
)

VERSION = 1
MAX_HEADER = 2**26  # bytes: the numbers of about half a million steps
COLUMNS = {field.name: get_type_hints(Progress)[field.name] for field in fields(Progress)}  # int or float

Arrays = Mapping[str, NDArray[Any]]


def save_step(path: str | os.PathLike[str], step: Step, history: Sequence[Progress]) -> None:
    """Write a checkpoint in place of the last one, whole or not at all; `history` ends with the step itself."""
    arrays: dict[str, NDArray[Any]] = {"epitome": step.epitome.pixels}
    sums: dict[str, float] | None = None
    if step.codes is not None:
        codes = csr_array(step.codes)
        codes = codes if codes.has_sorted_indices else codes.sorted_indices()
        arrays |= {"codes.data": codes.data, "codes.indices": codes.indices, "codes.indptr": codes.indptr}
    if step.moments is not None:
        known = step.moments
        arrays |= {"moments.gram": known.gram, "moments.cross": known.cross, "moments.mass": known.mass}
        sums = {"energy": float(known.energy), "count": float(known.count)}
    described = {
        "format": "checkpoint",
        "version": VERSION,
        "phi": _identity(step.epitome.phi),
        "sums": sums,
        "progress": _as_columns([step.progress]),
        "history": _as_columns(history),
    }
    write_atomically(Path(path), pack(described, arrays, max_header=MAX_HEADER))


def load_step(path: str | os.PathLike[str], phi: Phi) -> tuple[Step, tuple[Progress, ...]]:
    """Read a checkpoint made with the same phi: the step, bit for bit, and the numbers of all steps up to it."""
    with opened(path) as file:
        header = read_header(file, "checkpoint", VERSION, max_header=MAX_HEADER)
        described = _checked(header)
        (progress,) = _from_columns("progress", described["progress"], count=1)
        history = _from_columns("history", described["history"])
        expected = _identity(phi)
        if described["phi"] != expected:
            different = [key for key in expected if described["phi"][key] != expected[key]]
            raise ModelError(
                f"the checkpoint was made with another phi than {phi!r} ({', '.join(different)} differ): "
                "resume with the one of the interrupted run"
            )
        with_codes = "codes.data" in header.places
        _require_places(header, phi, with_codes, described["sums"] is not None)
        arrays = read_arrays(file, header)
        require_finite_arrays(arrays)
        codes = _codes(arrays, phi.n_atoms) if with_codes else None
        moments = None if described["sums"] is None else _moments(arrays, described["sums"])
        return Step(progress, Epitome(arrays["epitome"], phi), codes, moments), history


def load_history(path: str | os.PathLike[str]) -> tuple[Progress, ...]:
    """The numbers of all steps up to the checkpoint: the last one names the scale whose phi `load_step` needs."""
    with opened(path) as file:
        described = _checked(read_header(file, "checkpoint", VERSION, max_header=MAX_HEADER))
        return _from_columns("history", described["history"])


def _identity(phi: Phi) -> dict[str, object]:
    """What tells phis apart: sizes, and a digest of the index table where there is one."""
    table = None
    if isinstance(phi, GatherPhi):
        mask = b"" if phi.support is None else phi.support.tobytes()
        table = hashlib.sha256(mask + phi.index.astype("<i8", copy=False).tobytes()).hexdigest()
    return {
        "epitome_shape": list(phi.epitome_shape),
        "patch_shape": list(phi.patch_shape),
        "n_atoms": phi.n_atoms,
        "patch_size": phi.patch_size,
        "table": table,
    }


def _as_columns(history: Sequence[Progress]) -> dict[str, list[int] | list[float]]:
    """One list per number: the names are written once, however long the run."""
    rows = [astuple(progress) for progress in history]
    columns: dict[str, list[int] | list[float]] = {}
    for place, (name, kind) in enumerate(COLUMNS.items()):
        columns[name] = [kind(row[place]) for row in rows]
        if not all(map(math.isfinite, columns[name])):
            raise ValueError(f"a step with a {name} that is NaN or infinite cannot be resumed: it is not saved")
    return columns


def _from_columns(name: str, value: object, count: int | None = None) -> tuple[Progress, ...]:
    columns = require_keys(f"the {name}", value, set(COLUMNS))
    checked: list[list[Any]] = []
    for column, kind in COLUMNS.items():
        numbers = columns[column]
        if not isinstance(numbers, list) or not all(_is_number(each, kind) for each in numbers):
            raise ModelError(f"the {column} column of the {name} must be a list of finite numbers ({kind.__name__})")
        checked.append(numbers)
    if len({len(numbers) for numbers in checked} | ({count} if count is not None else set())) != 1:
        raise ModelError(f"the columns of the {name} have wrong lengths")
    return tuple(Progress(*row) for row in zip(*checked, strict=True))


def _is_number(value: object, kind: type) -> bool:
    if type(value) is int:
        return kind is int and abs(value) < 2**63
    return type(value) is float and kind is float and math.isfinite(value)


def _checked(header: Header) -> dict[str, Any]:
    described = require_keys(
        "the description", header.description, {"format", "version", "phi", "sums", "progress", "history"}
    )
    require_keys("phi", described["phi"], {"epitome_shape", "patch_shape", "n_atoms", "patch_size", "table"})
    if described["sums"] is not None:
        sums = require_keys("the sums", described["sums"], {"energy", "count"})
        if not all(type(each) is float and math.isfinite(each) and each >= 0 for each in sums.values()):
            raise ModelError("energy and count must be finite numbers >= 0")
    return described


def _require_places(header: Header, phi: Phi, with_codes: bool, with_moments: bool) -> None:
    """The arrays must be those of a step with this phi; None stands for a length that the data decide."""
    p, m = phi.n_atoms, phi.patch_size
    expected: dict[str, tuple[str, tuple[int | None, ...]]] = {"epitome": ("f", phi.epitome_shape)}
    if with_codes:
        expected |= {"codes.data": ("f", (None,)), "codes.indices": ("i", (None,)), "codes.indptr": ("i", (None,))}
    if with_moments:
        expected |= {"moments.gram": ("f8", (p, p)), "moments.cross": ("f8", (p, m)), "moments.mass": ("f8", (p,))}
    if set(header.places) != set(expected):
        raise ModelError(f"the arrays must be {', '.join(expected)}, got others")
    for name, (kind, shape) in expected.items():
        place = header.places[name]
        fits = len(place.shape) == len(shape) and all(
            goal in (None, length) for length, goal in zip(place.shape, shape, strict=True)
        )
        if not fits or not place.dtype.str[1:].startswith(kind):
            raise ModelError(
                f"the array {name!r} has dtype {place.dtype} and shape {place.shape}, which do not fit phi"
            )


def _codes(arrays: Arrays, n_atoms: int) -> Codes:
    """Sparse rows whose indices are safe to follow: native code does not look at them again."""
    data, atoms, starts = arrays["codes.data"], arrays["codes.indices"], arrays["codes.indptr"]
    fall = starts[1:] < starts[:-1]  # a difference could overflow
    if len(starts) < 2 or starts[0] != 0 or fall.any() or not starts[-1] == len(atoms) == len(data):
        raise ModelError("the rows of the codes do not begin and end where they should")
    if len(atoms) and (atoms.min() < 0 or atoms.max() >= n_atoms):
        raise ModelError(f"the codes name atoms outside 0 ... {n_atoms - 1}")
    rises = np.diff(atoms) > 0
    rises[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(atoms))] - 1] = True  # from one row to the next
    if not rises.all():
        raise ModelError("the atoms of a code must rise")
    return csr_array((data, atoms, starts), shape=(len(starts) - 1, n_atoms))


def _moments(arrays: Arrays, sums: Mapping[str, float]) -> Moments:
    return Moments(
        arrays["moments.gram"], arrays["moments.cross"], arrays["moments.mass"], sums["energy"], sums["count"]
    )
