"""Checkpoints: one step of a learner in a file, so that a stopped run can be resumed with the same bits.

A checkpoint is a safetensors file (see `described_file`) with the pixels, codes and moments of one step. The progress
of all steps so far is in its description. It does not hold phi: the caller makes phi again, and a checkpoint made with
another phi is refused. `load_history` tells which scale a multiscale run had reached.
"""

from __future__ import annotations

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
from epitomes.described_file import Header, ModelError, opened, pack, read_arrays, read_header, require_keys
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.learn._identity import identity
from epitomes.learn.moments import Moments
from epitomes.learn.steps import Progress, Step
from epitomes.phi import Phi

VERSION = 1
MAX_HEADER = 2**26  # bytes: the numbers of about half a million steps
COLUMNS = {field.name: get_type_hints(Progress)[field.name] for field in fields(Progress)}  # int or float

Arrays = Mapping[str, NDArray[Any]]


def save_step(path: str | os.PathLike[str], step: Step, history: Sequence[Progress]) -> None:
    """Save a step of a learner to a checkpoint.

    An existing checkpoint is replaced, completely or not at all.

    Parameters
    ----------
    path : str or path-like
        File to write.
    step : Step
        Step to save.
    history : sequence of Progress
        Progress of all steps so far. The last one belongs to `step`.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a number of the progress is NaN or infinite.

    See Also
    --------
    load_step : Load the step again.
    run : Takes steps and saves checkpoints.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, load_step, save_step, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> start = smooth_noise(windows((8, 8), (4, 4)))
    >>> step = next(alternate(patches, start, coder=Lasso(lam=1.0)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "checkpoint")
    ...     save_step(path, step, [step.progress])
    ...     step, history = load_step(path, start.phi)
    >>> following = next(alternate(patches, start, coder=Lasso(lam=1.0), after=step))
    >>> following.progress.index
    2
    """
    if isinstance(path, Step) or not isinstance(step, Step):
        raise TypeError(
            f"save_step needs a path and a Step, got {type(path).__name__} and {type(step).__name__}: the path comes "
            "first, save_step(path, step, history)"
        )
    arrays: dict[str, NDArray[Any]] = {"epitome": step.epitome.pixels}
    sums: dict[str, float] | None = None
    if step.codes is not None:
        codes = csr_array(step.codes)
        codes = codes if codes.has_sorted_indices else codes.sorted_indices()
        arrays |= {"codes.data": codes.data, "codes.indices": codes.indices, "codes.indptr": codes.indptr}
    if step.moments is not None:
        moments = step.moments
        arrays |= {"moments.gram": moments.gram, "moments.cross": moments.cross, "moments.mass": moments.mass}
        sums = {"energy": float(moments.energy), "count": float(moments.count)}
    described = {
        "format": "checkpoint",
        "version": VERSION,
        "phi": identity(step.epitome.phi),
        "sums": sums,
        "progress": as_columns([step.progress]),
        "history": as_columns(history),
    }
    write_atomically(Path(path), pack(described, arrays, max_header=MAX_HEADER))


def load_step(path: str | os.PathLike[str], phi: Phi) -> tuple[Step, tuple[Progress, ...]]:
    """Load a step of a learner from a checkpoint.

    Parameters
    ----------
    path : str or path-like
        File written by `save_step` or `run`.
    phi : Phi
        The phi that the checkpoint was made with.

    Returns
    -------
    step : Step
        The saved step, bit for bit. Pass it to a learner as ``after=step``.
    history : tuple of Progress
        Progress of all steps up to it. Pass it to `run` as ``history=history``.

    Raises
    ------
    ModelError
        If the file is damaged, is not a checkpoint or was made with another phi.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save_step : Save a step of a learner.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from epitomes.coders import Lasso
    >>> from epitomes.learn import alternate, load_step, run, smooth_noise
    >>> from epitomes.phi import windows
    >>> patches = np.random.default_rng(0).standard_normal((50, 16))
    >>> start, coder = smooth_noise(windows((8, 8), (4, 4))), Lasso(lam=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "checkpoint")
    ...     _ = run(alternate(patches, start, coder=coder), max_steps=2, checkpoint=path)
    ...     step, history = load_step(path, start.phi)
    >>> fit = run(alternate(patches, start, coder=coder, after=step), max_steps=3, history=history)
    >>> len(fit.history)
    3
    """
    with opened(path) as file:
        header = read_header(file, "checkpoint", VERSION, max_header=MAX_HEADER)
        described = _checked(header)
        (progress,) = from_columns("progress", described["progress"], count=1)
        history = from_columns("history", described["history"])
        expected = identity(phi)
        if described["phi"] != expected:
            different = [key for key in expected if described["phi"][key] != expected[key]]
            raise ModelError(
                f"the checkpoint was made with another phi than {phi!r} (different: {', '.join(different)}): "
                "use the phi of the interrupted run"
            )
        with_codes = "codes.data" in header.arrays
        _require_arrays(header, phi, with_codes, described["sums"] is not None)
        arrays = read_arrays(file, header)
        codes = _codes(arrays, phi.n_atoms) if with_codes else None
        moments = None if described["sums"] is None else _moments(arrays, described["sums"])
        return Step(progress, Epitome(arrays["epitome"], phi), codes, moments), history


def load_history(path: str | os.PathLike[str]) -> tuple[Progress, ...]:
    """Load the progress of all steps up to a checkpoint; the last one names the scale, and so the phi, to resume."""
    with opened(path) as file:
        described = _checked(read_header(file, "checkpoint", VERSION, max_header=MAX_HEADER))
        return from_columns("history", described["history"])


def as_columns(history: Sequence[Progress]) -> dict[str, list[int] | list[float]]:
    """Turn the progress into one list per number, so that names are written once."""
    rows = [astuple(progress) for progress in history]
    columns: dict[str, list[int] | list[float]] = {}
    for place, (name, kind) in enumerate(COLUMNS.items()):
        columns[name] = [kind(row[place]) for row in rows]
        if not all(map(math.isfinite, columns[name])):
            raise ValueError(f"the {name} of a step is NaN or infinite: the run cannot be resumed, so it is not saved")
    return columns


def from_columns(name: str, value: object, count: int | None = None) -> tuple[Progress, ...]:
    """Turn checked columns back into the progress of steps."""
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


def _require_arrays(header: Header, phi: Phi, with_codes: bool, with_moments: bool) -> None:
    """Check that the arrays are those of a step with this phi; None is a length that depends on the data."""
    p, m = phi.n_atoms, phi.patch_size
    expected: dict[str, tuple[str, tuple[int | None, ...]]] = {"epitome": ("f", phi.epitome_shape)}
    if with_codes:
        expected |= {"codes.data": ("f", (None,)), "codes.indices": ("i", (None,)), "codes.indptr": ("i", (None,))}
    if with_moments:
        expected |= {"moments.gram": ("f8", (p, p)), "moments.cross": ("f8", (p, m)), "moments.mass": ("f8", (p,))}
    if set(header.arrays) != set(expected):
        raise ModelError(f"the arrays must be exactly {', '.join(expected)}")
    for name, (kind, shape) in expected.items():
        entry = header.arrays[name]
        fits = len(entry.shape) == len(shape) and all(
            goal in (None, length) for length, goal in zip(entry.shape, shape, strict=True)
        )
        if not fits or not entry.dtype.str[1:].startswith(kind):
            raise ModelError(
                f"the array {name!r} has dtype {entry.dtype} and shape {entry.shape}, which do not fit phi"
            )


def _codes(arrays: Arrays, n_atoms: int) -> Codes:
    """Build sparse rows whose indices are valid: native code does not check them again."""
    data, atoms, ends = arrays["codes.data"], arrays["codes.indices"], arrays["codes.indptr"]
    fall = ends[1:] < ends[:-1]  # a difference could overflow
    if len(ends) < 2 or ends[0] != 0 or fall.any() or not ends[-1] == len(atoms) == len(data):
        raise ModelError("the row pointers of the codes are not consistent")
    if len(atoms) and (atoms.min() < 0 or atoms.max() >= n_atoms):
        raise ModelError(f"the codes use atoms outside 0 to {n_atoms - 1}")
    rises = np.diff(atoms) > 0
    rises[ends[1:-1][(ends[1:-1] > 0) & (ends[1:-1] < len(atoms))] - 1] = True  # from one row to the next
    if not rises.all():
        raise ModelError("the atoms of each code must be in increasing order")
    return csr_array((data, atoms, ends), shape=(len(ends) - 1, n_atoms))


def _moments(arrays: Arrays, sums: Mapping[str, float]) -> Moments:
    return Moments(
        arrays["moments.gram"], arrays["moments.cross"], arrays["moments.mass"], sums["energy"], sums["count"]
    )
