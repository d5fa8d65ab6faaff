"""Model files, `.epitome`: the pixels of an epitome, a description of its phi and its provenance.

They are safetensors files (see `described_file`). A file holds data and text, never code, and everything is checked
before it is used. Saving the same epitome twice gives the same bytes. Every phi made by `windows`, `flat`,
`shift_invariant`, `turned` and a `union` of these can be saved; a phi given by a matrix cannot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes.described_file import Header, ModelError, opened, pack, read_arrays, read_header, require_layout
from epitomes.epitome import Epitome
from epitomes.files import write_atomically
from epitomes.model_info import ModelInfo, Provenance, array_names, as_model_errors, info_of, require_entries
from epitomes.phi import split
from epitomes.phi.description import Description, describe

__all__ = ["ModelError", "ModelInfo", "Provenance", "inspect", "load", "save"]

VERSION = 1
MAX_BYTES = 2**30  # of a file
MAX_HEADER = 2**16  # bytes


def save(
    path: str | os.PathLike[str],
    epitome: Epitome,
    provenance: Provenance | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Save an epitome to a model file.

    The file is written completely or not at all. The same epitome and provenance give the same bytes.

    Parameters
    ----------
    path : str or path-like
        File to write, usually with the suffix ``.epitome``.
    epitome : Epitome
        Epitome to save.
    provenance : Provenance, optional
        How the epitome was made.
    overwrite : bool, optional
        Whether an existing file may be replaced.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    TypeError
        If phi cannot be described in a file, or an argument has the wrong type.
    ValueError
        If all pixels are zero, or the dictionary is larger than a model file may describe.

    See Also
    --------
    load : Load an epitome from a model file.
    inspect : Read the header of a model file.

    Examples
    --------
    >>> import tempfile, pathlib, epitomes
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> epitome = smooth_noise(windows((20, 20), (8, 8)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "noise.epitome")
    ...     epitomes.save(path, epitome)
    ...     bool((epitomes.load(path).pixels == epitome.pixels).all())
    True
    """
    if isinstance(path, Epitome):
        raise TypeError("save got an Epitome as its path: the path comes first, save(path, epitome)")
    if not isinstance(epitome, Epitome):
        raise TypeError(
            f"save needs an Epitome, got {type(epitome).__name__}: make one with Epitome(pixels, phi) and call "
            "save(path, epitome)"
        )
    if provenance is not None and not isinstance(provenance, Provenance):
        raise TypeError(f"provenance must be a Provenance or None, got {type(provenance).__name__}")
    if not epitome.pixels.any():
        raise ValueError("all pixels of the epitome are zero: there are no atoms to save")
    phi, arrays = as_arrays(epitome)
    described = {
        "format": "epitome",
        "version": VERSION,
        "phi": asdict(phi),
        "n_atoms": epitome.phi.n_atoms,
        "provenance": None if provenance is None else asdict(provenance),
    }
    write_atomically(Path(path), pack(described, arrays, max_header=MAX_HEADER), overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Epitome:
    """Load an epitome from a model file.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.

    Returns
    -------
    Epitome
        The epitome, bit for bit as it was saved.

    Raises
    ------
    ModelError
        If the file is damaged or is not a model file. Hostile files are refused without using much memory.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : Save an epitome to a model file.
    inspect : Read the header of a model file.

    Examples
    --------
    >>> import tempfile, pathlib, epitomes
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.phi import windows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "noise.epitome")
    ...     epitomes.save(path, smooth_noise(windows((20, 20), (8, 8))))
    ...     epitomes.load(path)
    Epitome((20, 20) float64, GatherPhi((20, 20) -> 169 atoms of (8, 8)))
    """
    with opened(path) as file:
        header = _read_header(file)
        info = info_of(header)
        return from_arrays(info.phi, info.n_atoms, read_arrays(file, header))


def inspect(path: str | os.PathLike[str]) -> ModelInfo:
    """Read the header of a model file.

    Only the header is read, so this is fast for a file of any size, but damaged pixels are not noticed.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.

    Returns
    -------
    ModelInfo
        Shapes, provenance and digest.

    Raises
    ------
    ModelError
        If the header is damaged or the file is not a model file.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    load : Load the epitome.

    Examples
    --------
    >>> import tempfile, pathlib, epitomes
    >>> from epitomes.learn import smooth_noise
    >>> from epitomes.model_file import Provenance, inspect
    >>> from epitomes.phi import windows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "noise.epitome")
    ...     epitomes.save(path, smooth_noise(windows((20, 20), (8, 8))), Provenance(source="noise"))
    ...     info = inspect(path)
    >>> info.epitome_shape, info.patch_shape, info.n_atoms, info.provenance.source
    ((20, 20), (8, 8), 169, 'noise')
    """
    with opened(path) as file:
        info = info_of(_read_header(file))
        require_layout(path)
        return info


def as_arrays(epitome: Epitome) -> tuple[Description, dict[str, NDArray[Any]]]:
    """Return what a file stores of an epitome: the description of its phi, and its pixels by name."""
    phi = describe(epitome.phi)
    require_entries(phi)
    parts = split(epitome.phi, epitome.pixels) if phi.joined else (epitome.pixels,)
    return phi, dict(zip(array_names(phi), parts, strict=True))


def from_arrays(description: Description, n_atoms: int, arrays: Mapping[str, NDArray[Any]]) -> Epitome:
    """Build the epitome that a file stores."""
    parts = [arrays[name] for name in array_names(description)]
    if not any(part.any() for part in parts):
        raise ModelError("all pixels are zero")
    with as_model_errors():
        phi = description.build()
    if phi.n_atoms != n_atoms:
        raise ModelError(f"the file states {n_atoms} atoms, its pixels have {phi.n_atoms}")
    pixels = np.concatenate([part.reshape(-1) for part in parts]) if description.joined else parts[0]
    return Epitome(pixels, phi)


def _read_header(file: BufferedReader) -> Header:
    return read_header(file, "epitome", VERSION, max_header=MAX_HEADER, max_bytes=MAX_BYTES)
