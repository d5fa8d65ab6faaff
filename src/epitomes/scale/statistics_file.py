"""Statistics files, `.stats`: the sums of coded patches with the epitome they were coded with.

They are safetensors files (see `described_file`). Besides the sums they hold numbers of patches and pictures, but no
pictures, no patches and no names of files: a laboratory can give them away when it may not give away its pictures.
"""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from epitomes.described_file import (
    ModelError,
    opened,
    pack,
    read_arrays,
    read_header,
    require_keys,
    whole_numbers,
)
from epitomes.files import write_atomically
from epitomes.model_file import MAX_HEADER, as_arrays, from_arrays
from epitomes.model_info import array_names, as_model_errors, checked_phi, require_entries
from epitomes.phi.description import Description
from epitomes.scale._collection import Kind
from epitomes.scale.statistics import Statistics

VERSION = 1
COUNTS = ("count", "n_nonzero", "n_pictures", "n_skipped")


def save_statistics(path: str | os.PathLike[str], statistics: Statistics, *, overwrite: bool = False) -> None:
    """Save statistics to a file.

    The file is written completely or not at all. It holds no pictures, and the number of skipped pictures without
    their names.

    Parameters
    ----------
    path : str or path-like
        File to write, usually with the suffix ``.stats``.
    statistics : Statistics
        Statistics to save.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    TypeError
        If phi cannot be described in a file.
    ValueError
        If a sum is NaN or infinite.

    See Also
    --------
    load_statistics : Load them again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> from epitomes.scale import code_shard, collection, load_statistics, save_statistics
    >>> images = collection(np.random.default_rng(0).normal(0, 9, (6, 20, 20)), n_axes=2)
    >>> statistics = code_shard(smooth_noise(windows((8, 8), (4, 4))), images.shard(0), lam=9.0, sample=50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "lab.stats")
    ...     save_statistics(path, statistics)
    ...     load_statistics(path).count
    300
    """
    if problem := statistics.damage():
        raise ValueError(f"the statistics are not saved, because {problem.replace('its', 'the')}")
    phi, arrays = as_arrays(statistics.epitome)
    described = {
        "format": "statistics",
        "version": VERSION,
        "phi": asdict(phi),
        "n_atoms": statistics.epitome.phi.n_atoms,
        "lam": float(statistics.lam),
        "kind": asdict(statistics.kind),
        "energy": float(statistics.energy),
        "counts": {name: int(getattr(statistics, name)) for name in COUNTS},
    }
    sums = {"cross": statistics.cross, "gram": statistics.gram, "mass": statistics.mass}
    write_atomically(Path(path), pack(described, {**arrays, **sums}, max_header=MAX_HEADER), overwrite=overwrite)


def load_statistics(path: str | os.PathLike[str]) -> Statistics:
    """Load statistics from a file.

    Parameters
    ----------
    path : str or path-like
        File written by `save_statistics`.

    Returns
    -------
    Statistics
        The statistics, bit for bit as they were saved, without the names of skipped pictures.

    Raises
    ------
    ModelError
        If the file is damaged or holds no statistics.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    merge : Add statistics.

    Examples
    --------
    >>> from epitomes.scale import load_statistics
    >>> lab = load_statistics("lab1.stats")  # doctest: +SKIP
    """
    with opened(path) as file:
        header = read_header(file, "statistics", VERSION, max_header=MAX_HEADER)
        keys = {"format", "version", "phi", "n_atoms", "lam", "kind", "energy", "counts"}
        described = require_keys("the description", header.description, keys)
        phi = checked_phi(described["phi"])
        with as_model_errors():
            require_entries(phi)
        (n_atoms,) = whole_numbers("n_atoms", [described["n_atoms"]], least=1)
        shapes = _shapes(phi, n_atoms)
        found = {name: entry.shape for name, entry in header.arrays.items()}
        if found != shapes or any(header.arrays[name].dtype.str[1:] != "f8" for name in ("cross", "gram", "mass")):
            raise ModelError("the arrays are not the pixels and the sums that its description announces")
        counts = require_keys("counts", described["counts"], set(COUNTS))
        whole_numbers("counts", list(counts.values()))
        kind, lam, energy = _kind(described["kind"]), described["lam"], described["energy"]
        if not all(type(each) is float and math.isfinite(each) and each >= 0 for each in (lam, energy)):
            raise ModelError("lam and energy must be finite numbers >= 0")
        arrays = read_arrays(file, header)
        return Statistics(
            epitome=from_arrays(phi, n_atoms, arrays),
            lam=lam,
            kind=kind,
            cross=arrays["cross"],
            gram=arrays["gram"],
            mass=arrays["mass"],
            energy=energy,
            **counts,
        )


def _shapes(phi: Description, n_atoms: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays of a file."""
    pixels = {name: part.shape for name, part in zip(array_names(phi), phi.parts, strict=True)}
    triangle = n_atoms * (n_atoms + 1) // 2
    return {**pixels, "cross": (n_atoms, phi.patch_size), "gram": (triangle,), "mass": (n_atoms,)}


def _kind(value: Any) -> Kind:
    found = require_keys("kind", value, {"values", "n_channels"})
    if not isinstance(found["values"], str) or type(found["n_channels"]) is not int:
        raise ModelError("the kind of pictures must be a type of values and a number of channels")
    return Kind(found["values"][:20], found["n_channels"])
