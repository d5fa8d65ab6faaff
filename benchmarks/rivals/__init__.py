"""Other libraries, one file each. To add one, write a file that turns a problem into a `Rival`, and add it to the race.

Inputs are converted to the layout of the rival before the clock starts, and its output to our codes after it stops. A
rival that is not installed is reported and skipped.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.start import PATCH
from epitomes import Epitome, Patches

_NAMED: set[str] = set()


@dataclass(frozen=True, eq=False)
class Problem:
    """All centred patches of a noisy image, to be coded with the atoms of an epitome."""

    noisy: NDArray[np.float32]
    epitome: Epitome
    threads: int
    residual: float = 0.0  # pursuit: stop once |x - a D|^2 is at most this
    lam: float = 0.0  # lasso: weight of |d_j| |a_j|

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """Patches as rows, without their means."""
        patches = Patches(self.noisy, PATCH)
        return np.ascontiguousarray(patches.rows(0, patches.n_patches)[0], np.float32)

    @cached_property
    def atoms(self) -> NDArray[np.float32]:
        """Atoms as rows."""
        return np.ascontiguousarray(self.epitome.phi(self.epitome.pixels), np.float32)

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """Norms of the atoms."""
        return np.linalg.norm(self.atoms, axis=1)

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """Atoms of norm 1."""
        return self.atoms / np.maximum(self.norms, np.finfo(np.float32).tiny)[:, None]

    def unscaled(self, codes: csr_array) -> csr_array:
        """Convert codes for unit atoms to codes for the atoms."""
        data = codes.data / self.norms[codes.indices]
        return csr_array((data, codes.indices, codes.indptr), shape=codes.shape)


@dataclass(frozen=True, eq=False)
class Rival:
    """A method that codes the patches of a problem."""

    name: str
    run: Callable[[], Any]  # timed
    codes: Callable[[Any], csr_array]  # not timed: converts the result of `run` to codes for the atoms
    chosen: NDArray[np.intp] | None = None  # a slow rival codes these patches only

    @property
    def indices(self) -> slice | NDArray[np.intp]:
        """Index of the rows that this rival codes."""
        return slice(None) if self.chosen is None else self.chosen


def installed(module: str, package: str) -> bool:
    """Return whether the module can be imported; if not, report once how to install it."""
    if importlib.util.find_spec(module) is not None:
        return True
    if package not in _NAMED:
        _NAMED.add(package)
        print(f"# {package} is not installed and skipped (`make bench` installs it)", file=sys.stderr)
    return False
