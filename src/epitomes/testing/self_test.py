"""Self-test of an installation: what is installed, and whether its kernels compute what the reference computes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epitomes import blocks, kernels
from epitomes.kernels import Engine, reference_groups, reference_moments, reference_patches

REQUIRED = (
    "numpy",
    "scipy",
    "lazy-loader",
    "jinja2",
    "safetensors",
    "pillow",
    "tifffile",
    "imagecodecs",
    "typer",
    "rich",
)
EXTRAS = {  # extra -> the package that it installs, and what for
    "fits": ("astropy", "FITS images"),
    "nifti": ("nibabel", "NIfTI volumes"),
    "dicom": ("pydicom", "DICOM images"),
    "raw": ("rawpy", "camera RAW"),
    "video": ("av", "video"),
    "zarr": ("zarr", "OME-Zarr"),
    "sklearn": ("scikit-learn", "epitomes.estimators"),
    "plot": ("matplotlib", "epitomes.plot"),
    "dask": ("distributed", "clusters"),
}

_CLOSE = 2e-4  # of the largest value: sums in float32, in two orders
_MOST = 0.95  # share of values that must agree where rounding may change a choice
_ROWS, _SIDE = 60, 8  # number of patches, and their height and width
_PATCH, _REACH = (1, _SIDE, _SIDE), (0, 6, 6)
_HEIGHT, _WIDTH = 24, 26  # of the test image


@dataclass(frozen=True)
class Extra:
    """An optional package.

    Parameters
    ----------
    name : str
        Name of the extra, for ``pip install "epitomes[name]"``.
    package : str
        The package that it installs.
    purpose : str
        What the package is needed for.
    version : str, optional
        The installed version; None if the package is missing.

    Examples
    --------
    >>> from epitomes.testing import installation
    >>> [extra.package for extra in installation().extras if extra.name == "fits"]
    ['astropy']
    """

    name: str
    package: str
    purpose: str
    version: str | None


@dataclass(frozen=True)
class Installation:
    """What is installed, and what this machine can do.

    Parameters
    ----------
    version : str
        Version of epitomes.
    python : str
        Version of Python.
    platform : str
        Operating system and processor.
    instruction_set : str
        Instruction set of the kernels in use; "reference" for the NumPy reference.
    instruction_sets : tuple of str
        All instruction sets that this processor can run.
    threads : int
        Default number of threads.
    required : mapping of str to str or None
        Required packages and their versions; None if one is missing.
    extras : tuple of Extra
        Optional packages.

    See Also
    --------
    installation : Describe this installation.

    Examples
    --------
    >>> from epitomes.testing import installation
    >>> installation().instruction_set in (*installation().instruction_sets, "reference")
    True
    """

    version: str
    python: str
    platform: str
    instruction_set: str
    instruction_sets: tuple[str, ...]
    threads: int
    required: Mapping[str, str | None]
    extras: tuple[Extra, ...]


def installation() -> Installation:
    """Describe this installation: versions, instruction set, threads and packages.

    Packages are looked up and not imported, which could take seconds.

    Returns
    -------
    Installation
        The description.

    See Also
    --------
    run_self_test : Test whether the kernels compute the right results.

    Examples
    --------
    >>> from epitomes.testing import installation
    >>> installation().threads >= 1
    True
    """
    return Installation(
        version=_version("epitomes") or "unknown",
        python=platform.python_version(),
        platform=platform.platform(),
        instruction_set=kernels.isa,
        instruction_sets=kernels.isas,
        threads=blocks.n_threads(),
        required={name: _version(name) for name in REQUIRED},
        extras=tuple(Extra(name, package, what, _version(package)) for name, (package, what) in EXTRAS.items()),
    )


def run_self_test() -> dict[str, bool]:
    """Compare the kernels of this machine with the NumPy reference, on small problems.

    It takes about a second. The problems are the same on every machine.

    Returns
    -------
    dict of str to bool
        For each kernel whether it agrees with the reference, to the rounding of float32.

    See Also
    --------
    installation : Describe this installation.

    Examples
    --------
    >>> from epitomes.testing import run_self_test
    >>> all(run_self_test().values())
    True
    """
    return dict(_comparisons())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _comparisons() -> Iterator[tuple[str, bool]]:
    yield from _coders()
    yield "patch extraction and aggregation", _patches()
    yield "moments", _moments()
    image = np.random.default_rng(1).standard_normal((1, 1, _HEIGHT, _WIDTH)).astype(np.float32)
    tops, lefts = np.arange(0, 16, 5), np.arange(0, 18, 5)
    places, distances = kernels.match(image, _PATCH, _REACH, 0, tops, lefts, 8, _stop())
    exact_places, exact = np.empty_like(places), np.empty_like(distances)
    reference_groups.match(image, _PATCH, _REACH, 0, tops, lefts, exact_places, exact)
    yield "block matching", bool((places == exact_places).mean() > _MOST and _close(distances, exact) == 1)
    yield "group shrinkage", _shrinkage(image.ravel(), exact_places)


def _coders() -> Iterator[tuple[str, bool]]:
    random = np.random.default_rng(0)
    atoms = random.standard_normal((49, _SIDE * _SIDE)).astype(np.float32)
    norms = np.linalg.norm(atoms, axis=1).astype(np.float32)
    unit = np.ascontiguousarray(atoms / norms[:, None])
    rows = kernels.Rows(random.standard_normal((_ROWS, _SIDE * _SIDE)).astype(np.float32), None)
    engines = [kernels.make_engine(unit, norms, isa=isa) for isa in (kernels.isa, "reference")]
    coders: dict[str, Callable[[Engine], kernels.Packed]] = {
        "orthogonal matching pursuit": lambda engine: engine.pursue(rows, 0.0, 5, False, _stop()),
        "orthogonal least squares": lambda engine: engine.pursue(rows, 0.0, 5, True, _stop()),
        "lasso": lambda engine: engine.lasso(rows, 0.8, 1e-6, False, None, _stop()),
        "lasso path": lambda engine: engine.lasso_lars(rows, 0.8, 1e-6, False, _stop()),
    }
    for name, code in coders.items():
        found, exact = (_dense(code(engine), len(unit)) for engine in engines)
        yield name, _close(found, exact) == 1


def _patches() -> bool:
    """Gather all patches of an image, and scatter them with random weights."""
    random = np.random.default_rng(3)
    image = random.standard_normal(_HEIGHT * _WIDTH).astype(np.float32)
    starts = _flat(np.arange(_HEIGHT - _SIDE + 1), np.arange(_WIDTH - _SIDE + 1))
    offsets = _flat(np.arange(_SIDE), np.arange(_SIDE))
    rows, means = kernels.gather(image, starts, offsets, True)
    exact_rows, exact_means = reference_patches.gather(image, starts, offsets, True)
    weights = random.random(len(starts)).astype(np.float32)
    sums, exact_sums = np.zeros((2, 2, image.size))
    kernels.scatter(sums[0], sums[1], starts, offsets, exact_rows, weights)
    reference_patches.scatter(exact_sums[0], exact_sums[1], starts, offsets, exact_rows, weights)
    return all(_close(*pair) == 1 for pair in ((rows, exact_rows), (means, exact_means), (sums, exact_sums)))


def _moments() -> bool:
    """Sum over coded patches, and multiply the sums."""
    random = np.random.default_rng(4)
    rows, n_atoms = random.standard_normal((_ROWS, _SIDE * _SIDE)).astype(np.float32), 20
    index = np.sort(random.random((_ROWS, n_atoms)).argsort(axis=1)[:, :5], axis=1).astype(np.int32).ravel()
    codes = (np.arange(0, 5 * _ROWS + 1, 5), index, random.standard_normal(5 * _ROWS).astype(np.float32))
    found, exact = ((np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, rows.shape[1])), np.zeros(n_atoms)) for _ in "ab")
    kernels.summarise(rows, codes, (0, n_atoms), *found)
    reference_moments.summarise(rows, codes, (0, n_atoms), *exact)
    product, exact_product = np.empty((2, *exact[1].shape))
    kernels.multiply(exact[0], exact[1], product)
    reference_moments.multiply(exact[0], exact[1], exact_product)
    pairs = [*zip(found, exact, strict=True), (product, exact_product)]
    return all(_close(*pair) == 1 for pair in pairs)


def _shrinkage(image: NDArray[np.float32], places: NDArray[np.int32]) -> bool:
    """Project groups of patches on atoms, and shrink their singular values."""
    random = np.random.default_rng(5)
    base = np.full((1, _SIDE * _SIDE), 1 / _SIDE, np.float32)
    atoms = random.standard_normal((30, _SIDE * _SIDE))
    atoms -= atoms.mean(axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    offsets = _flat(np.arange(_SIDE), np.arange(_SIDE))
    counts, levels = np.full(len(places), places.shape[1], np.int32), np.full(len(places), 0.9, np.float32)
    groups = kernels.Groups(image, image, offsets, offsets, 0, places, counts, levels)
    shrinkage = kernels.Shrinkage(base, atoms.astype(np.float32), 4, 12, 0.8, 0.2, 0.1, True)
    found, exact = np.zeros((2, 2, image.size), np.float32)
    kernels.shrink_groups(groups, shrinkage, found[0], found[1], _stop())
    reference_groups.shrink_groups(groups, shrinkage, exact[0], exact[1])
    return all(_close(found[i], exact[i]) > _MOST for i in range(2))


def _stop() -> NDArray[np.uint8]:
    """A flag that stops nothing."""
    return np.zeros(1, np.uint8)


def _flat(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return flat indices of a grid in the test image."""
    return np.add.outer(rows * _WIDTH, columns).ravel()


def _dense(packed: kernels.Packed, n_atoms: int) -> NDArray[np.float64]:
    counts, atoms, values = packed
    codes = np.zeros((len(counts), n_atoms))
    codes[np.repeat(np.arange(len(counts)), counts), atoms] = values
    return codes


def _close(found: NDArray[Any], exact: NDArray[Any]) -> float:
    """Return the share of values that agree."""
    return float((np.abs(found - exact) <= _CLOSE * np.abs(exact).max()).mean())
